import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { VaultInput } from "../../src/sandbox/model/state.ts";
import type { Lab } from "./lab.ts";
import { expectExit, firstGet, offlineNote, openLab } from "./lab.ts";
import type { Machine } from "./machine.ts";
import type { Postgres } from "./postgres.ts";
import { postgres } from "./postgres.ts";

export interface Team {
  lab: Lab;
  uuid: string;
  schema: string;
  /** The first one has read the vault once. */
  machines: readonly [Machine, Machine, Machine, Machine];
  /** A further machine with the same key, whose state is elsewhere. */
  another: (stateDir: string) => Machine;
  /** Runs SQL; `schema` stands for the state's. */
  sql: (text: string) => Promise<Record<string, unknown>[]>;
}

let made = 0;

/** Four machines, each with a home of its own, one state and one key; the first has read the first vault. */
export async function team(
  server?: Postgres,
  env: Record<string, string> = {},
  seed: VaultInput[] = [offlineNote],
): Promise<Team> {
  const { location, sql } = server ?? (await postgres());
  const schema = `team_${(made += 1)}`;
  const lab = await openLab(seed);
  const first = lab.machine({ stateDir: location(schema), env });
  expectExit(await first.vault("state", "init"), 0);
  const another = (stateDir: string): Machine => {
    const machine = lab.machine({ stateDir, env });
    mkdirSync(machine.configDir, { mode: 0o700 });
    cpSync(join(first.configDir, "state.key"), join(machine.configDir, "state.key"));
    return machine;
  };
  const others = [
    another(first.stateDir),
    another(first.stateDir),
    another(first.stateDir),
  ] as const;
  expectExit(await firstGet(first, lab.vault), 0);
  const own = async (text: string): Promise<Record<string, unknown>[]> =>
    await sql(text.replaceAll("schema.", `${schema}.`));
  return { lab, uuid: lab.vault.uuid, schema, machines: [first, ...others], another, sql: own };
}
