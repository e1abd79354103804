import { expect } from "vitest";
import type { Pair } from "../../src/protocol/answers.ts";
import { parseFault } from "../../src/sandbox/faults.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { RunningSandbox, SandboxSettings } from "../../src/sandbox/server.ts";
import type { VaultInput } from "../../src/sandbox/seeds.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { errorOf, machineFor, outcomeOf, type Machine, type MachineOptions } from "./machine.ts";
import type { RunResult } from "./run-vault.ts";
import { creditCard, device } from "./examples.ts";
import { atEndOfFile } from "./cleanup.ts";
import type { LoggedRequest } from "../../src/sandbox/sandbox.ts";

/** A service and the machines that use it. */
export interface Lab {
  /** Its requests are without probes. */
  service: RunningSandbox;
  withProbes(): readonly LoggedRequest[];
  /** Time as the service sees it: real time, moved on. */
  clock: { ahead: number };
  vault: KnownVault;
  machine(options?: MachineOptions): Machine;
  /** A machine that has read the vault (an offline one) once: its pair is proven, its exchange acknowledged. */
  warmMachine(options?: MachineOptions): Promise<Machine>;
  /** Arms faults in the grammar of `sandbox fault`. */
  faults(...rules: string[]): void;
}

/** All that the checks ask of a service. */
interface Watched {
  service: { sandbox: Pick<Sandbox, "accepts" | "inspect"> };
}

export const card = creditCard;
export const note = 'Der Schlüssel liegt unter der "dritten" Palme ✓';

export const offlineCard: VaultInput = { kind: "credit-card/offline", creditCard: card };
export const offlineNote: VaultInput = { kind: "generic/offline", content: note };
export const onlineCard: VaultInput = {
  kind: "credit-card/online",
  creditCard: card,
  hashedPin: "c2VjcmV0LXBpbg==",
  device,
};

/** What a probe names. */
export const noVault = "00000000-0000-0000-0000-000000000000";

/** A sandbox with one vault (or several: `service.vaults`), without a rate limit of its own unless the policy sets one. */
export async function openLab(
  seed: VaultInput | VaultInput[] = offlineNote,
  settings: Partial<SandboxSettings> = {},
): Promise<Lab> {
  const clock = { ahead: 0 };
  const service = await startSandbox({
    now: () => Date.now() + clock.ahead,
    seed: Array.isArray(seed) ? seed : [seed],
    ...settings,
    policy: { rate: 0, ...settings.policy },
  });
  atEndOfFile(async () => await service.close());
  const { sandbox } = service;
  const withProbes = sandbox.requests.bind(sandbox);
  // Whether a state has asked its service for probes yet is no matter of most tests.
  sandbox.requests = () => withProbes().filter(({ uuid }) => uuid !== noVault);
  const [vault] = service.vaults;
  if (vault === undefined) throw new Error("a lab needs a vault");
  const machine = (options: MachineOptions = {}): Machine => machineFor(service, options);
  const warmMachine = async (options: MachineOptions = {}): Promise<Machine> => {
    const made = machine(options);
    expectExit(await firstGet(made, vault), 0);
    return made;
  };
  return {
    service,
    clock,
    vault,
    machine,
    warmMachine,
    withProbes,
    faults: (...rules) => service.faults.add(rules.map(parseFault)),
  };
}

/** A lab, its (first) vault, and one machine. */
export type MannedLab = KnownVault & Pick<Lab, "vault"> & { lab: Lab; machine: Machine };
const manned = (lab: Lab, machine: Machine): MannedLab => ({
  ...lab.vault,
  vault: lab.vault,
  lab,
  machine,
});

/** A lab with a machine that knows no vault yet. */
export async function coldLab(...given: Parameters<typeof openLab>): Promise<MannedLab> {
  const lab = await openLab(...given);
  return manned(lab, lab.machine());
}

/** A lab with a machine that has read its (first) vault once. */
export async function warmLab(...given: Parameters<typeof openLab>): Promise<MannedLab> {
  const lab = await openLab(...given);
  return manned(lab, await lab.warmMachine());
}

/** The arguments that the first `get` of a vault needs; secrets come from files. */
export function firstGetArgs(machine: Machine, vault: KnownVault): string[] {
  const more =
    vault.device === undefined ? [] : ["--device", `@${machine.file("device.json", vault.device)}`];
  return ["get", vault.uuid, ...machine.given(vault.credentials, vault.kind), ...more];
}

export async function firstGet(
  machine: Machine,
  vault: KnownVault,
  ...args: string[]
): Promise<RunResult> {
  return await machine.vault(...firstGetArgs(machine, vault), "--json", ...args);
}

/** The exit code, with what the program said in the failure. */
export function expectExit(result: RunResult, ...codes: number[]): void {
  expect(codes, outcomeOf(result)).toContain(result.code);
}

/** Exit codes as they are documented (`vault help exit-codes`), by the code of the error. */
const exitCodes = {
  internal: 1,
  usage: 2,
  "invalid-input": 3,
  "no-credentials": 4,
  unauthorized: 5,
  rejected: 6,
  locked: 7,
  guard: 8,
  "rate-limited": 9,
  network: 10,
  pending: 11,
  "in-doubt": 12,
  service: 13,
  state: 14,
  busy: 15,
  partial: 16,
  finding: 17,
  interrupted: 130,
};
export type ErrorCode = keyof typeof exitCodes;

/** A documented failure: its exit code (of a signal other than SIGINT another one), and the one line of JSON that says it. */
export function expectError(
  result: RunResult,
  code: ErrorCode,
  message = /./,
  exitCode = exitCodes[code],
): void {
  expectExit(result, exitCode);
  expect(errorOf(result)).toMatchObject({
    code,
    exitCode,
    message: expect.stringMatching(message) as string,
  });
}

/** No exchange is open, and the pair that the state holds as current is the one that the service accepts. */
export async function expectInStep(
  { service }: Watched,
  machine: Machine,
  uuid: string,
): Promise<void> {
  const pair = await machine.exported(uuid);
  expect(pair).not.toBeNull();
  expect(pair).not.toHaveProperty("status");
  expect(service.sandbox.inspect(uuid)).toMatchObject({
    state: "active",
    failedAccesses: 0,
    unackedStarts: 0,
  });
  expect(service.sandbox.accepts(uuid, pair as Pair)).toBe(true);
}

/** A vault was never brought to a lock, nor to where the next mishap locks it. */
export function expectFarFromLock({ service }: Watched, uuid: string): void {
  const { maxFailedAccesses, maxUnackedStarts, state } = service.sandbox.inspect(uuid);
  expect(state).not.toBe("locked");
  expect(maxFailedAccesses).toBeLessThan(3);
  expect(maxUnackedStarts).toBeLessThan(5);
}

/** Whatever has happened: one of the pairs that the state holds is the one that the service accepts. */
export async function expectNothingLost(
  { service, vault }: Watched & Pick<Lab, "vault">,
  machine: Machine,
): Promise<void> {
  const exported = await machine.exported(vault.uuid);
  // Before the first write, it is the pair that the user has.
  const pairs =
    exported === null
      ? [vault.credentials]
      : "old" in exported
        ? [exported.old, exported.new]
        : [exported];
  expect(pairs.filter((pair) => service.sandbox.accepts(vault.uuid, pair)).length).toBe(1);
}

export type Calls = readonly Pick<LoggedRequest, "step" | "status">[];

/** Starts and end calls of a vault that arrived after the first so many requests, in their order. */
export const callsSince = ({ service }: Pick<Lab, "service">, uuid: string, from: number): Calls =>
  service.sandbox
    .requests()
    .slice(from)
    .filter((request) => request.uuid === uuid);

/**
 * One exchange at a time: start, end, start, end. Only a process that was killed can leave a start without its end call, or an end
 * call that is sent a second time; so each break of the order, and each refusal, needs one that was killed.
 */
export function expectOrder(calls: Calls, killed: number): void {
  const told = calls.map(({ step, status }) => `${step} ${status}`).join(", ");
  let breaks = 0;
  for (const [index, { step }] of calls.entries()) {
    const before = index === 0 ? "end" : calls[index - 1]?.step;
    if (before === step) breaks += 1;
  }
  // A start that was the last of all is one without its end call too.
  if (calls.at(-1)?.step === "start") breaks += 1;
  expect(breaks, told).toBeLessThanOrEqual(killed);
  expect(calls.filter(({ status }) => status !== 200).length, told).toBeLessThanOrEqual(killed);
}

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

export async function importAll(
  { service }: { service: { sandbox: Pick<Sandbox, "vaults"> } },
  machine: Machine,
): Promise<void> {
  const lines = service.sandbox.vaults().map(({ uuid, kind, credentials }, index) => ({
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
