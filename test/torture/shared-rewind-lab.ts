import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { VaultInput } from "../../src/sandbox/model/state.ts";
import { expectExit } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { machineFor } from "../support/machine.ts";
import { memoryFolder } from "../support/memory-folder.ts";
import { disconnected } from "../support/pg-connections.ts";
import { postgres } from "../support/postgres.ts";
import { tempDir } from "../support/temp-dir.ts";
import type { RewindLab } from "./rewind-lab.ts";
import { inHome, openRewindService } from "./rewind-lab.ts";
import { SchemaCopy } from "../support/schema-copy.ts";

export interface SharedRewindLab extends RewindLab {
  /** The lab with another machine, which takes over when the one before is dead and its leases are over. */
  elsewhere(): Promise<RewindLab>;
}

let made = 0;

/** A service and a machine with a shared state. */
export async function openSharedRewindLab(seed: readonly VaultInput[]): Promise<SharedRewindLab> {
  const { keepService, rewindService, ...served } = await openRewindService(seed);
  const { location, sql } = await postgres();
  const schema = `rewound_${(made += 1)}`;
  const [kept, beside] = [
    new SchemaCopy(sql, schema, `${schema}_kept`),
    new SchemaCopy(sql, schema, `${schema}_aside`),
  ];
  const folder = tempDir("rewind", memoryFolder);
  const [home, keptHome] = [join(folder, "home"), join(folder, "kept")];
  mkdirSync(home, { mode: 0o700 });
  const machine = machineFor(served.service, { home, stateDir: location(schema) });
  expectExit(await machine.vault("state", "init"), 0);
  expectExit(
    await inHome(machine, served.service, { home, stateDir: location(beside.copy) }).vault(
      "state",
      "init",
    ),
    0,
  );

  /** A home folder of its own, which has nothing but the key. */
  const another = (name: string, at: string): Machine => {
    const other = inHome(machine, served.service, {
      home: join(folder, name),
      stateDir: location(at),
    });
    rmSync(other.home, { recursive: true, force: true });
    mkdirSync(other.configDir, { recursive: true, mode: 0o700 });
    cpSync(join(machine.configDir, "state.key"), join(other.configDir, "state.key"));
    return other;
  };
  const lab: SharedRewindLab = {
    ...served,
    machine,
    keep: async () => {
      await disconnected(sql);
      await kept.take();
      rmSync(keptHome, { recursive: true, force: true });
      cpSync(home, keptHome, { recursive: true, preserveTimestamps: true });
      keepService();
    },
    rewind: async () => {
      await disconnected(sql);
      await kept.putBack();
      rmSync(home, { recursive: true, force: true });
      cpSync(keptHome, home, { recursive: true, preserveTimestamps: true });
      rewindService();
    },
    aside: async () => {
      await beside.take();
      return another("aside", beside.copy);
    },
    elsewhere: async () => {
      await disconnected(sql);
      await sql(
        `UPDATE ${schema}.leases SET ends_at = '-infinity'; UPDATE ${schema}.state SET ends_at = '-infinity'`,
      );
      return { ...lab, machine: another("another", schema) };
    },
  };
  return lab;
}
