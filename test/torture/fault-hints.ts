import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import type { FaultyService } from "./faulty-service.ts";

interface Way {
  service: FaultyService;
  machine: Machine;
  /** The command that went wrong, and how its last run ended. */
  args: readonly string[];
  last: RunResult;
  run(machine: Machine, ...args: string[]): Promise<RunResult>;
}

/** Does as a person does who reads the hint, the service being well, until the command succeeds; throws if it never does. */
export async function followHints({ service, machine, args, last, run }: Way): Promise<string> {
  const done: string[] = [];
  let result = last;
  for (let round = 0; round < 5; round += 1) {
    const hint = result.code === 0 ? "" : (errorOf(result).hint ?? "");
    for (const command of commandsIn(hint, args, service)) {
      machine.env["RIGHT"] = JSON.stringify(
        service.sandbox.inspect(service.vault.uuid).currentPair,
      );
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

/** Nobody waits for a trial of the circuit breaker that is minutes away. */
const briefly = ["--max-wait", "2s"];

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
