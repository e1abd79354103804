import type { SandboxSettings } from "../../src/sandbox/server/start-sandbox.ts";
import type { VaultInput } from "../../src/sandbox/model/state.ts";
import type { Lab } from "./lab.ts";
import { expectExit, openLab } from "./lab.ts";
import type { Machine } from "./machine.ts";
import type { RunResult } from "./run-vault.ts";

/** A line that a command with many vaults has printed. */
interface ManyEvent {
  event: string;
  uuid: string;
  label: string | null;
  ok: boolean;
  /** True of an outcome; a number in a summary. */
  earlier?: true | number;
  skipped?: string;
  error?: { code: string; message: string; exitCode: number };
  vault?: { content?: string; creditCard: { number: string } };
  run: string;
  done: number;
  failed: number;
  calls: number;
}

/** The whole lines; the last one may be cut off where the command was killed. */
export function eventsOf({ stdout }: Pick<RunResult, "stdout">): ManyEvent[] {
  const lines = stdout.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ManyEvent);
}

const ofKind = (result: Pick<RunResult, "stdout">, kind: string): ManyEvent[] =>
  eventsOf(result).filter(({ event }) => event === kind);

export const outcomesOf = (result: Pick<RunResult, "stdout">): ManyEvent[] =>
  ofKind(result, "outcome");
export const contentsOf = (result: Pick<RunResult, "stdout">): ManyEvent[] =>
  ofKind(result, "contents");
export const summaryOf = (result: Pick<RunResult, "stdout">): ManyEvent | undefined =>
  ofKind(result, "summary").at(-1);

export interface ManyVaults {
  lab: Lab;
  machine: Machine;
  uuids: string[];
}

/** Vaults with the labels v1, v2, …, imported on one machine. */
export async function manyVaults(
  seed: readonly VaultInput[],
  settings: Partial<SandboxSettings> = {},
): Promise<ManyVaults> {
  const lab = await openLab([...seed], settings);
  const machine = lab.machine();
  await importAll(lab, machine);
  return { lab, machine, uuids: lab.service.vaults.map(({ uuid }) => uuid) };
}

export async function importAll(lab: Lab, machine: Machine): Promise<void> {
  const lines = lab.service.vaults.map(({ uuid, kind, credentials }, index) => ({
    uuid,
    kind,
    credentials,
    label: `v${index + 1}`,
  }));
  const file = machine.file("vaults.ndjson", lines.map((line) => JSON.stringify(line)).join("\n"));
  expectExit(await machine.vault("import", "--file", file), 0);
}

/** Vaults that the service has acknowledged so many exchanges of. */
export const acknowledged = ({ service }: Pick<Lab, "service">, times = 1): string[] =>
  service.vaults
    .map(({ uuid }) => uuid)
    .filter((uuid) => service.sandbox.inspect(uuid).counts.acknowledged === times);
