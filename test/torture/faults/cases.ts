import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { GetDocument, JsonError, Machine, Status } from "../../support/machine.ts";
import { errorOf, machineFor } from "../../support/machine.ts";
import type { RunResult } from "../../support/run-vault.ts";
import { selfSigned } from "../../support/keys.ts";
import {
  card,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  offlineCard,
} from "../../support/lab.ts";
import { tempDir } from "../../support/cleanup.ts";
import { faults } from "./kinds.ts";
import { FaultyService, type Plan, type Step, type Which } from "./service.ts";
import { helpOf } from "../../support/help.ts";

interface Way {
  service: FaultyService;
  machine: Machine;
  /** The command that went wrong, and how its last run ended. */
  args: readonly string[];
  last: RunResult;
  run(machine: Machine, ...args: string[]): Promise<RunResult>;
}

/** Does as a person does who reads the hint, the service being well, until the command succeeds; throws if it never does. */
async function followHints({ service, machine, args, last, run }: Way): Promise<string> {
  const done: string[] = [];
  let result = last;
  for (let round = 0; round < 5; round += 1) {
    const hint = result.code === 0 ? "" : helpOf(errorOf(result));
    for (const command of commandsIn(hint, args, service)) {
      machine.env["RIGHT"] = JSON.stringify(service.sandbox.inspect(service.vault.uuid).pair);
      result = await run(machine, ...command);
      done.push(`${shown(command)} ${result.code}`);
      if (result.code !== 0) break;
    }
    if (result.code === 0) return done.join(", ");
    // The audit log shows as many starts as the program has counted: the next one would lock the vault.
    if (result.code === 8 && service.sandbox.inspect(service.vault.uuid).unackedStarts >= 4) {
      service.sandbox.unlock(service.vault.uuid);
      const { uuid } = service.vault;
      const reset = await run(machine, "guard", uuid, "--reset", "--yes");
      result = await run(machine, ...args);
      return [
        ...done,
        `an administrator, guard --reset ${reset.code}`,
        `${shown(args)} ${result.code}`,
      ].join(", ");
    }
  }
  throw new Error(`the hints lead nowhere: ${done.join(", ")}: ${last.stderr}`);
}

/** The first trial of the circuit breaker goes out after 4 seconds; nobody waits for one that is minutes away. */
const briefly = ["--max-wait", "6s"];

/** The commands that a hint names, in its order, without `vault`; behind them the command itself, unless it is the last of them. */
function commandsIn(hint: string, args: readonly string[], service: FaultyService): string[][] {
  const [operation = "", uuid = ""] = args;
  const found = [...hint.matchAll(new RegExp(`vault (\\w+) ${uuid}((?: --[a-z-]+(?: N)?)*)`, "g"))];
  const commands = found.map(([, name = "", flags = ""]) => [
    name,
    uuid,
    ...flags.split(" ").filter(Boolean),
  ]);
  // It was not deleted.
  const wanted = commands
    .filter(([name]) => name !== "forget" && name !== operation)
    .map((command) => completed(command, service));
  // Of two ways to reset, the one for an audit log without a failed attempt comes first, and is enough.
  const unanswered = wanted.find((command) => command.includes("--unanswered"));
  return [...(unanswered === undefined ? wanted : [unanswered]), [...args, ...briefly]];
}

/** As it is typed: what stands for something is filled in, what asks is answered. */
function completed(command: string[], service: FaultyService): string[] {
  if (command[0] === "import") return ["import", command[1] ?? "", "--credentials", "env:RIGHT"];
  if (!command.includes("--reset")) return command;
  const { failedAccesses, unackedStarts } = service.sandbox.inspect(service.vault.uuid);
  const shownInLog = command.map((word, at) =>
    word !== "N" ? word : String(command[at - 1] === "--failed" ? failedAccesses : unackedStarts),
  );
  return [...shownInLog, "--yes"];
}

const shown = ([name, , ...flags]: readonly string[]): string =>
  [
    name,
    ...flags.filter((flag) =>
      /^--(?:history|reset|unanswered|failed|starts|unread|discard-pending)$/.test(flag),
    ),
  ].join(" ");

export type Operation = "get" | "update";

export interface Case extends Plan {
  operation: Operation;
}

const steps: readonly Step[] = ["start", "end"];
const occasions: readonly Which[] = ["first", "second", "every"];

export const cases = (operation: Operation): Case[] =>
  steps.flatMap((step) =>
    faults.flatMap((fault) => occasions.map((which) => ({ operation, step, which, fault }))),
  );

export const nameOf = ({ step, which, fault }: Plan): string => `${which} ${step}: ${fault.name}`;

/** What came of a case: a row of the table, each value as it is shown. */
export interface Row {
  fault: string;
  which: string;
  /** Exit code and error code; with `every`, the exit codes of three more runs that meet the same. */
  exit: string;
  retry: string;
  says: string;
  /** State of the exchange afterwards; `open` where it is not finished. */
  exchange: string;
  /** The program's own counters: unacknowledged starts, failed accesses. */
  guard: string;
  /** What the service has counted: starts, end calls, acknowledged exchanges; its counters, as those of the guard. */
  service: string;
  /** The same command once more, the service being well: exit code, and what it settled. */
  next: string;
  /** The commands that the hints name, with their exit codes, until all is in step. */
  hints: string;
}

const newCard = { ...card, name: "Grace Hopper", expiryYear: 2033 };
const newCardFlags = [
  "--card-number",
  "env:CARD_NUMBER",
  "--card-name",
  newCard.name,
  "--expiry",
  "04/2033",
];
const certificate = selfSigned();
const timeOutNow = {
  NODE_OPTIONS: `--require=${join(import.meta.dirname, "..", "time-out-now.cjs")}`,
  TIME_OUT_MS: "15000",
};

/** What is taken back or is no start goes on until --max-wait ends; everything else ends by itself, however slow the machine. */
const goesOn = ({ step, which, fault }: Plan): boolean =>
  which === "every" && (step === "end" || /^(?:no connection|429)/.test(fault.name));

/** A start that is repeated waits four seconds for the breaker, and then may wait for minutes; one that came too early does not. */
const maxWaitOf = (plan: Plan): string => {
  if (goesOn(plan)) return "900ms";
  const waitsAgain = plan.step === "start" && plan.which !== "first";
  return waitsAgain && !plan.fault.name.startsWith("429") ? "6s" : "20s";
};

export async function tryCase(tried: Case): Promise<Row> {
  const { operation, fault } = tried;
  const service = await FaultyService.open(
    offlineCard,
    fault.strike === "no connection" ? certificate : undefined,
  );
  const { uuid } = service.vault;
  const home = tempDir("machine");
  const ca = join(home, "ca.pem");
  writeFileSync(ca, certificate.cert);
  const secrets = { PAIR: JSON.stringify(service.vault.credentials), CARD_NUMBER: newCard.number };
  const machine = machineFor(service, {
    home,
    env: {
      ...(service.baseUrl.startsWith("https") ? { NODE_EXTRA_CA_CERTS: ca } : {}),
      ...secrets,
    },
  });
  const args = operation === "get" ? ["get", uuid] : ["update", uuid, ...newCardFlags];
  const run = (on: Machine, ...given: string[]): Promise<RunResult> => on.vault(...given, "--json");
  expectExit(
    await run(machine, "get", uuid, "--kind", service.vault.kind, "--credentials", "env:PAIR"),
    0,
  );
  service.heal();

  const lab = { service, vault: service.vault };
  const limits = ["--timeout", "15s", "--max-wait", maxWaitOf(tried)];
  const strike = async (): Promise<RunResult> => {
    const running = machine.start({ env: timeOutNow }, ...args, "--json", ...limits);
    service.onSilence = () => running.kill("SIGUSR2");
    return await running.exit;
  };
  service.plan = tried;
  const result = await strike();
  const sent = { ...service.seen };
  const again: (number | null)[] = [];
  const row = {
    ...(await whatItSays(service, machine, result)),
    which: tried.which,
    fault: fault.name,
  };
  const check = async (): Promise<void> => {
    expectFarFromLock(lab, uuid);
    await expectNothingLost(lab, machine);
    expectCounted(service, await machine.status(uuid));
  };
  await check();
  expectDelivered(tried, result, sent);
  let last = result;
  for (let round = 0; tried.which === "every" && round < 3; round += 1) {
    last = await strike();
    again.push(last.code);
    await check();
  }

  service.heal();
  const copy = machine.copy();
  const next = await service.apart(async () => await nextOne(service, copy, args, run));
  const hints = await followHints({ service, machine, args, last, run });
  await expectInStep(lab, machine, uuid);
  expectFarFromLock(lab, uuid);
  if (operation === "update") expect(service.sandbox.inspect(uuid).creditCard).toEqual(newCard);
  service.close();
  for (const folder of [home, copy.stateDir]) await rm(folder, { recursive: true });
  return { ...row, exit: [row.exit, ...again].join(", "), next, hints };
}

function expectExit(result: RunResult, code: number): void {
  expect(result, result.stderr).toMatchObject({ code });
}

async function whatItSays(
  service: FaultyService,
  machine: Machine,
  result: RunResult,
): Promise<Pick<Row, "exit" | "retry" | "says" | "exchange" | "guard" | "service">> {
  const { uuid } = service.vault;
  const { exchange, ...status } = await machine.status(uuid);
  const { exchanges } = await historyOf(machine, uuid);
  const { counts, unackedStarts, failedAccesses } = service.sandbox.inspect(uuid);
  const error: JsonError | undefined = result.code === 0 ? undefined : errorOf(result);
  const many = (count: number): string =>
    service.plan?.which === "every" && count > 0 ? "1+" : String(count);
  return {
    exit: error === undefined ? "0" : `${error.exitCode} ${error.code}`,
    retry: error?.retry ?? "",
    says: error === undefined ? warnings(result.stderr) : plain(error.message),
    exchange: `${exchanges[0]?.state}${exchange === null ? "" : ", open"}`,
    guard: `${status.unackedStarts}/${status.failedAttempts}`,
    service: `${counts.starts - 1}/${many(counts.ends - 1)}/${counts.acknowledged - 1} ${unackedStarts}/${failedAccesses}`,
  };
}

async function historyOf(
  machine: Machine,
  uuid: string,
): Promise<{ exchanges: { state: string }[] }> {
  const { stdout } = await machine.vault("status", uuid, "--history", "--field", "vaults.0");
  return JSON.parse(stdout) as { exchanges: { state: string }[] };
}

function warnings(stderr: string): string {
  const [first = "", ...more] = stderr.trim().split("\n");
  return more.length === 0 ? first : `${first}, and ${more.length} more`;
}

/** A message without what differs from run to run. */
const plain = (message: string): string =>
  message
    .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UUID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-01-01T00:00:00.000Z")
    // What is left of a second when the state has answered.
    .replaceAll(/waiting \d+ms more/g, "waiting 1s more");

/** The program never counts less than the service does. */
function expectCounted(service: FaultyService, status: Status): void {
  const { unackedStarts, failedAccesses } = service.sandbox.inspect(service.vault.uuid);
  expect(status.unackedStarts).toBeGreaterThanOrEqual(unackedStarts);
  expect(status.failedAttempts).toBeGreaterThanOrEqual(failedAccesses);
}

/** Contents come whole and before the first end call; a receipt only after the last. */
function expectDelivered({ operation }: Case, result: RunResult, sent: { end: number }): void {
  const isDue = operation === "get" ? sent.end > 0 : result.code === 0;
  if (!isDue) return expect(result.stdout).toBe("");
  const { vault } = JSON.parse(result.stdout) as { vault: { creditCard?: unknown } };
  expect(vault.creditCard).toEqual(operation === "get" ? card : undefined);
}

/** The same command, the service being well: what it says to have settled must be so. */
async function nextOne(
  service: FaultyService,
  machine: Machine,
  args: string[],
  run: (on: Machine, ...args: string[]) => Promise<RunResult>,
): Promise<string> {
  const before = service.sandbox.inspect(service.vault.uuid).counts.acknowledged;
  const result = await run(machine, ...args, ...briefly);
  const { code } = result;
  const { settled = [] } =
    code === 0
      ? (JSON.parse(result.stdout) as GetDocument)
      : (errorOf(result) as { settled?: GetDocument["settled"] });
  const { acknowledged } = service.sandbox.inspect(service.vault.uuid).counts;
  // The exchange of this command itself, and the warm one's; what is left is that of the one that was settled.
  const outcomes = settled.map(({ outcome }) => outcome);
  if (outcomes.length > 0 && code === 0) {
    expect(["applied", "acknowledged"].includes(outcomes.at(-1) ?? "")).toBe(
      acknowledged === 3 || before === 2,
    );
  }
  expectFarFromLock({ service }, service.vault.uuid);
  return [code === 0 ? "0" : `${code} ${errorOf(result).code}`, ...outcomes].join(", ");
}
