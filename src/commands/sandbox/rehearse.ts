import { spawn, type SpawnOptions, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { App } from "../../app.ts";
import { command } from "../../cli/command.ts";
import type { View } from "../../cli/vault-view.ts";
import { failures, type Scenario } from "../../documents/sandbox.ts";
import { VaultError } from "../../errors.ts";
import type { Host } from "../../host.ts";
import { noVault } from "../../protocol/endpoints.ts";
import type { RunningSandbox, SandboxSettings } from "../../sandbox/server.ts";
import { count } from "../../terminal/count.ts";
import { command as wayTo } from "../../way.ts";
import { emulation, openPrivateSandbox, program, sandboxSettings } from "./start.ts";

/**
 * Runs a program through every failure of every call that it makes.
 * @throws `usage` if it fails without a failure already, `finding` if a vault was lost or locked
 */
export const rehearse = command({
  description:
    "Run a program that uses vaults once to list its calls, then once for each call and each failure: the call lost, or the program " +
    "killed, before or after the service has processed it. After each, run the program again without a failure, then the check. " +
    "Exit 17 if a vault was lost or locked.",
  arguments: program,
  options: {
    "--check <command>": "shell command that exits with 0 if the program can still read its vault",
    "--setup <command>": "shell command that prepares the working directory of each run",
    ...emulation,
  },
  examples: [
    'vault sandbox rehearse --check "$PWD/check" -- ./read.sh',
    'vault sandbox rehearse --setup "$PWD/setup" --check "$PWD/check" -- ./read.sh',
  ],
  mode: "lenient",
  async run(app, options) {
    const { check, setup, command } = options;
    const { host, narrator, output } = app.io;
    if (check === undefined)
      throw new VaultError(
        "usage",
        "--check is missing: a command that exits with 0 if the program can still read its vault",
      );
    narrator.warn(`${command.join(" ")} will run many times, against sandboxes`);
    const rehearsal: Rehearsal = {
      app,
      settings: await sandboxSettings(app, options),
      setup,
      check,
      command: fromHere(host, command),
    };
    const calls = await listCalls(rehearsal);
    const scenarios: Scenario[] = [];
    const warnings: string[] = [];
    const all = calls.flatMap((call) => failures.map((failure) => ({ call, failure })));
    try {
      for (const [index, { call, failure }] of all.entries()) {
        narrator.note(`${index + 1} of ${all.length}: call ${call.n}, ${failure} …`);
        const { scenario, isMet } = await play(rehearsal, call, failure);
        scenarios.push(scenario);
        if (!isMet) warnings.push(`call ${call.n} was not made in the run for ${failure}`);
      }
    } finally {
      // Also what was found until it was interrupted.
      if (scenarios.length > 0)
        await output.print({ scenarios, warnings }, async (view) => {
          const table = await asTable(scenarios, view);
          return view.isTTY ? `${table}${ended(scenarios, "fine")} of ${all.length} fine\n` : table;
        });
    }
    const of = `of ${count(scenarios.length, "scenario")}`;
    const found = (["lost", "locked"] as const).flatMap((outcome) => {
      const times = ended(scenarios, outcome);
      return times === 0 ? [] : [`${times} ${of} ${outcome} the vault`];
    });
    if (found.length === 0) return;
    throw new VaultError("finding", found.join(", "), {
      hint: "save the new credentials before the acknowledgement, and keep the old ones until it has succeeded",
      next: [wayTo`vault help recipes`],
      retry: "after-fix",
    });
  },
});

/** Each scenario has a working directory of its own: a program that is a file of the caller's folder gets its full path. */
function fromHere(host: Host, [program = "", ...args]: readonly string[]): string[] {
  const here = program.includes("/") ? host.resolve(program) : program;
  return [existsSync(here) ? here : program, ...args];
}

const ended = (scenarios: readonly Scenario[], outcome: Scenario["outcome"]): number =>
  scenarios.filter((each) => each.outcome === outcome).length;

async function asTable(scenarios: readonly Scenario[], view: View): Promise<string> {
  const { listTable } = await import("../../terminal/tables.ts");
  const { good, bad } = view.palette;
  const rows = scenarios.map(({ call, failure, outcome, check }) => [
    String(call.n),
    `${call.method} ${call.endpoint}`,
    failure,
    { text: outcome, paint: outcome === "fine" ? good : bad },
    String(check),
  ]);
  const head = ["Call", "Endpoint", "Failure", "Outcome", "Check"];
  return listTable(head, rows, view);
}

interface Rehearsal {
  app: App;
  settings: SandboxSettings;
  setup: string | undefined;
  check: string;
  command: readonly string[];
}

/** @throws `usage` if the program, its preparation or its check fails even without a failure */
async function listCalls(rehearsal: Rehearsal): Promise<Scenario["call"][]> {
  const { command, check } = rehearsal;
  return await inSandbox(rehearsal, {}, async ({ sandbox }, run) => {
    const code = await run(command);
    if (code !== 0) throw failed(`the command exits with ${code} even without a failure`, command);
    const calls = sandbox.requests().flatMap(({ uuid, method, kind, operation, step }, index) => {
      const endpoint = `${kind} ${operation}${step === "single" ? "" : `-${step}`}`;
      return uuid === noVault ? [] : [{ n: index + 1, method, endpoint }];
    });
    if (calls.length === 0) throw failed("the command makes no call to the sandbox", command);
    const checked = await run(inShell(check));
    if (checked === 0) return calls;
    throw failed(`--check exits with ${checked} even without a failure`, inShell(check));
  });
}

async function play(
  rehearsal: Rehearsal,
  call: Scenario["call"],
  failure: Scenario["failure"],
): Promise<{ scenario: Scenario; isMet: boolean }> {
  const action = failure.endsWith("before") ? "drop-before" : "drop-after";
  let isMet = false;
  let kill: (() => void) | undefined;
  const onFault = (): void => {
    isMet = true;
    // Killed first: what comes of the connection afterwards, the program does not see.
    if (failure.startsWith("killed")) kill?.();
  };
  const faults = [{ match: {}, action, skip: call.n - 1, times: 1 } as const];
  return await inSandbox(rehearsal, { faults, onFault }, async ({ sandbox, faults }, run) => {
    await run(rehearsal.command, (killer) => (kill = killer));
    faults.clear();
    await run(rehearsal.command);
    const check = await run(inShell(rehearsal.check));
    const locked = sandbox.vaults().filter(({ uuid }) => sandbox.inspect(uuid).state === "locked");
    for (const { uuid } of locked) sandbox.unlock(uuid);
    const isReadable =
      check === 0 || (locked.length > 0 && (await run(inShell(rehearsal.check))) === 0);
    const outcome = !isReadable ? "lost" : locked.length > 0 ? "locked" : "fine";
    return { scenario: { call, failure, outcome, check }, isMet };
  });
}

/** Runs a program to its exit code; `started` gets what kills it and all that it started. */
type Run = (words: readonly string[], started?: (kill: () => void) => void) => Promise<number>;

/**
 * Has a fresh working directory prepared beside a fresh sandbox. What programs print there is shown
 * by --debug alone, on stderr.
 */
async function inSandbox<T>(
  { app, settings, setup }: Rehearsal,
  more: Partial<SandboxSettings>,
  work: (sandbox: RunningSandbox, run: Run) => Promise<T>,
): Promise<T> {
  const sandbox = await openPrivateSandbox(app, { ...settings, ...more });
  let file: number | undefined;
  try {
    // Not "ignore": into the null device `vault get` delivers nothing. Nor "pipe": that is a socket, as which nobody can open /dev/stderr.
    file = openSync(join(sandbox.folder, "output"), "a");
    const output = app.settings.debug && !app.io.host.stderr.isClosed ? 2 : file;
    const cwd = join(sandbox.folder, "work");
    mkdirSync(cwd);
    const stdio: StdioOptions = ["ignore", output, output];
    const run = runIn(app.io.host, { cwd, env: sandbox.env, stdio, detached: true });
    const prepared = setup === undefined ? 0 : await run(inShell(setup));
    if (setup !== undefined && prepared !== 0)
      throw failed(`--setup exits with ${prepared}`, inShell(setup));
    return await work(sandbox.running, run);
  } finally {
    if (file !== undefined) closeSync(file);
    await sandbox.close();
  }
}

const failed = (message: string, command: readonly string[]): VaultError =>
  new VaultError("usage", message, {
    hint: "it runs in a new, empty directory: name files of yours by their full paths; --debug shows what it prints",
    next: [wayTo`vault sandbox exec -- ${command}`],
  });

const inShell = (line: string): string[] => ["/bin/sh", "-c", line];

function runIn(host: Host, how: SpawnOptions): Run {
  const { interrupted } = host;
  const throwIfInterrupted = (): void => {
    if (interrupted.aborted)
      throw new VaultError("interrupted", "interrupted: the rehearsal is incomplete", {
        retry: "safe",
      });
  };
  return async ([program = "", ...args], started) => {
    throwIfInterrupted();
    const child = spawn(program, args, how);
    const kill = (): void => {
      if (child.pid !== undefined) host.endGroup(child.pid);
    };
    started?.(kill);
    interrupted.addEventListener("abort", kill, { once: true });
    try {
      const [code] = (await once(child, "exit").catch((cause: NodeJS.ErrnoException) => {
        const message = `${program} cannot be started (${cause.code})`;
        throw failed(message, [program, ...args]).with({ cause });
      })) as [number | null];
      // Whatever it left running must not go on beside the next one.
      kill();
      throwIfInterrupted();
      return code ?? 137;
    } finally {
      interrupted.removeEventListener("abort", kill);
    }
  };
}
