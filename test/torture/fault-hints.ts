import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import type { FaultyService } from "./faulty-service.ts";

export interface Way {
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
    for (const command of commandsIn(hint, args)) {
      const { sandbox, vault } = service;
      const before = sandbox.inspect(vault.uuid);
      // Where the next start would lock it in any case, only an administrator helps.
      const isLast = before.failedAccesses >= 2 || before.unackedStarts >= 4;
      if (command.includes("--reset") && (isLast || !command.includes("--failed"))) sandbox.unlock(vault.uuid);
      // What the audit log shows is filled in.
      const { failedAccesses, unackedStarts } = sandbox.inspect(vault.uuid);
      const numbers: Record<string, string> = { "--failed": `${failedAccesses}`, "--starts": `${unackedStarts}` };
      machine.env["RIGHT"] = JSON.stringify(service.sandbox.inspect(service.vault.uuid).currentPair);
      const typed = command.map((word, at) => (word === "N" ? (numbers[command[at - 1] ?? ""] ?? word) : word));
      result = await run(machine, ...typed);
      done.push(`${shown(command)} ${result.code}`);
      if (result.code !== 0) break;
    }
    if (result.code === 0) return done.join(", ");
  }
  throw new Error(`the hints lead nowhere: ${done.join(", ")}: ${last.stderr}`);
}

/** The commands that a hint names, in its order, without `vault`; behind them the command itself, unless it is the last of them. */
function commandsIn(hint: string, args: readonly string[]): string[][] {
  const [operation = "", uuid = ""] = args;
  const found = [...hint.matchAll(new RegExp(`vault (\\w+) ${uuid}((?: --[a-z-]+(?: N\\b)?)*)`, "g"))];
  const commands = found.map(([, name = "", flags = ""]) => [name, uuid, ...flags.split(" ").filter(Boolean)]);
  // It was not deleted.
  const wanted = commands.filter(([name]) => name !== "forget" && name !== operation).map(completed);
  // Of two ways to reset, the one for an audit log without a failed attempt comes first, and is enough.
  const unanswered = wanted.find((command) => command.includes("--unanswered"));
  return [...(unanswered === undefined ? wanted : [unanswered]), [...args]];
}

/** As it is typed: what stands for something is filled in, what asks is answered. */
function completed(command: string[]): string[] {
  if (command[0] === "import") return ["import", command[1] ?? "", "--credentials", "env:RIGHT"];
  return command.includes("--reset") ? [...command, "--yes"] : command;
}

const shown = ([name, , ...flags]: readonly string[]): string =>
  [name, ...flags.filter((flag) => /^--(?:history|reset|unanswered|unread|discard-pending)$/.test(flag))].join(" ");
