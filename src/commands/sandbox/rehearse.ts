import type { Basics } from "../../parts/settings.ts";
import { VaultError } from "../../errors.ts";
import { noVault } from "../../protocol/endpoints.ts";
import { createPalette } from "../../terminal/palette.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import { count } from "../../terminal/count.ts";
import type { RehearseDocument } from "../../documents/sandbox.ts";
import type { RehearseOptions } from "../sandbox.ts";
import { sandboxSettings } from "./start.ts";
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../host.ts";
import type { FaultRule } from "../../sandbox/faults/faults.ts";
import type { SandboxSettings } from "../../sandbox/server/start-sandbox.ts";
import { once } from "../../settings/once.ts";
import type { PrivateSandbox } from "./folder.ts";
import type { Way } from "../../way.ts";
import { commandLine, command as wayTo } from "../../way.ts";
import { openPrivateSandbox } from "./folder.ts";

/**
 * Runs a program through every failure of every call that it makes.
 * @throws `usage` where it fails without a failure already, `finding` where a vault was lost or locked
 */
export async function runRehearse(
  { io, settings }: Basics,
  options: RehearseOptions,
): Promise<number> {
  const { check, setup, command } = options;
  if (check === undefined) {
    throw new VaultError(
      "usage",
      "--check is missing: a command that exits with 0 if the program can still read its vault",
      { next: [withCheck({ io, settings }, options)] },
    );
  }
  io.narrator.warn(`${command.join(" ")} will run many times, against sandboxes`);
  const rehearsal = new Rehearsal(
    { io, settings },
    await sandboxSettings({ io, settings }, options),
    {
      setup,
      check,
      command: fromHere(io.host, command),
    },
  );
  const calls = await rehearsal.listCalls();
  const scenarios: Scenario[] = [];
  const all = calls.flatMap((call) => failures.map((failure) => ({ call, failure })));
  try {
    for (const [index, { call, failure }] of all.entries()) {
      io.narrator.note(`${index + 1} of ${all.length}: call ${call.n}, ${failure} …`);
      scenarios.push(await rehearsal.play(call, failure));
    }
  } finally {
    // Also what was found until it was interrupted.
    const document: RehearseDocument = { scenarios, warnings: rehearsal.warnings };
    const table = async (facts: TerminalFacts): Promise<string> =>
      `${await asTable(facts, scenarios)}${facts.isTTY ? `${fine(scenarios)} of ${all.length} fine\n` : ""}`;
    if (scenarios.length > 0)
      await io.output.print(document, async ({ facts }) => await table(facts));
  }
  const played = count(scenarios.length, "scenario");
  const bad = (outcome: Scenario["outcome"]): number =>
    scenarios.filter((each) => each.outcome === outcome).length;
  const found = [
    ...(bad("lost") > 0 ? [`${bad("lost")} of ${played} lost the vault`] : []),
    ...(bad("locked") > 0 ? [`${bad("locked")} of ${played} locked the vault`] : []),
  ];
  if (found.length === 0) return 0;
  throw new VaultError("finding", found.join(", "), {
    hint: "save the new credentials before the acknowledgement, and keep the old ones until it has succeeded",
    next: [wayTo`vault help recipes`],
    retry: "after-fix",
  });
}

/** Each scenario has a working directory of its own: a program that is a file of the caller's folder gets its full path. */
function fromHere(host: Host, [program = "", ...args]: readonly string[]): string[] {
  const here = program.includes("/") ? host.resolve(program) : program;
  return [existsSync(here) ? here : program, ...args];
}

/** The command line with a check: the program itself, which must be able to read its vault again. */
function withCheck({ io }: Basics, { setup, command }: RehearseOptions): Way {
  const check = commandLine(fromHere(io.host, command));
  const prepared = setup === undefined ? [] : ["--setup", setup];
  return wayTo`vault sandbox rehearse ${prepared} --check ${check} -- ${command}`;
}

const fine = (scenarios: readonly Scenario[]): number =>
  scenarios.filter(({ outcome }) => outcome === "fine").length;

async function asTable(facts: TerminalFacts, scenarios: readonly Scenario[]): Promise<string> {
  const { listTable } = await import("../../terminal/tables.ts");
  const palette = await createPalette(facts.color);
  const rows = scenarios.map(({ call, failure, outcome, check }) => [
    String(call.n),
    `${call.method} ${call.endpoint}`,
    failure,
    { text: outcome, paint: outcome === "fine" ? palette.good : palette.bad },
    String(check),
  ]);
  return listTable(["Call", "Endpoint", "Failure", "Outcome", "Check"], rows, {
    palette,
    ...facts,
  });
}

/** What happens to a call: it never arrives or its response is lost; or the program is killed, before or after it is processed. */
const failures = ["lost-before", "lost-after", "killed-before", "killed-after"] as const;
type Failure = (typeof failures)[number];

/** A call that the program makes; `n` counts from 1. */
interface RehearsedCall {
  n: number;
  method: string;
  endpoint: string;
}

interface Scenario {
  call: RehearsedCall;
  failure: Failure;
  /** `locked`: the vault can be read once an administrator has unlocked it; `lost`: nobody holds credentials that are valid. */
  outcome: "fine" | "locked" | "lost";
  /** Exit code of the check. */
  check: number;
}

interface Commands {
  setup: string | undefined;
  check: string;
  command: readonly string[];
}

/** Plays scenarios, each in a fresh working directory with a fresh sandbox. */
class Rehearsal {
  /** What the scenarios did not go as planned in. */
  readonly warnings: string[] = [];
  readonly #app: Basics;
  readonly #settings: SandboxSettings;
  readonly #commands: Commands;

  constructor(app: Basics, settings: SandboxSettings, commands: Commands) {
    this.#app = app;
    this.#settings = settings;
    this.#commands = commands;
  }

  /**
   * Runs the program without a failure. Returns the calls that it makes.
   * @throws `usage` where the program, its preparation or its check fails
   */
  async listCalls(): Promise<RehearsedCall[]> {
    return await this.#inSandbox({}, async (sandbox, run) => {
      const { command, check } = this.#commands;
      const code = await run.command();
      if (code !== 0)
        throw run.failed(`the command exits with ${code} even without a failure`, command);
      const calls = sandbox.running.sandbox
        .requests()
        .map(({ method, endpoint, uuid }, index) => ({ n: index + 1, method, endpoint, uuid }))
        .filter(({ uuid }) => uuid !== noVault)
        .map(({ n, method, endpoint }) => ({ n, method, endpoint }));
      if (calls.length === 0) throw run.failed("the command makes no call to the sandbox", command);
      const checked = await run.check();
      if (checked !== 0)
        throw run.failed(`--check exits with ${checked} even without a failure`, inShell(check));
      return calls;
    });
  }

  /** Runs the program with a failure, then without one, then the check. */
  async play(call: RehearsedCall, failure: Failure): Promise<Scenario> {
    const rule: FaultRule = {
      match: {},
      action: failure.endsWith("before") ? "drop-before" : "drop-after",
      skip: call.n - 1,
    };
    let met = false;
    let kill: (() => void) | undefined;
    const onFault = (): void => {
      met = true;
      // Killed first: what comes of the connection afterwards, the program does not see.
      if (failure.startsWith("killed")) kill?.();
    };
    return await this.#inSandbox(
      { faults: [rule], onFault },
      async ({ running: { sandbox, faults } }, run) => {
        await run.command((killer) => (kill = killer));
        if (!met) this.warnings.push(`call ${call.n} was not made in the run for ${failure}`);
        faults.clear();
        await run.command();
        const check = await run.check();
        const locked = sandbox
          .vaults()
          .filter(({ uuid }) => sandbox.inspect(uuid).state === "locked");
        for (const { uuid } of locked) sandbox.unlock(uuid);
        const readable = check === 0 || (locked.length > 0 && (await run.check()) === 0);
        return {
          call,
          failure,
          outcome: readable ? (locked.length > 0 ? "locked" : "fine") : "lost",
          check,
        };
      },
    );
  }

  async #inSandbox<T>(
    settings: Partial<SandboxSettings>,
    play: (sandbox: PrivateSandbox, run: Runner) => Promise<T>,
  ): Promise<T> {
    const sandbox = await openPrivateSandbox(this.#app.io.host, { ...this.#settings, ...settings });
    try {
      const run = runnerIn(this.#app, sandbox, this.#commands);
      const { setup } = this.#commands;
      const prepared = setup === undefined ? 0 : await run.shell(setup);
      if (setup !== undefined && prepared !== 0)
        throw run.failed(`--setup exits with ${prepared}`, inShell(setup));
      return await play(sandbox, run);
    } finally {
      await sandbox.close();
    }
  }
}

interface Runner {
  /** Gives a function that kills the program and all that it started. */
  command(started?: (kill: () => void) => void): Promise<number>;
  check(): Promise<number>;
  shell(line: string): Promise<number>;
  /** The error that what ran last has failed, with the last lines of its stderr. */
  failed(message: string, command: readonly string[]): VaultError;
}

const inShell = (line: string): string[] => ["/bin/sh", "-c", line];

/** Not "ignore": that is no standard output at all, without which `vault get` sends nothing. */
const nowhere = once(() => openSync("/dev/null", "w"));

function throwIfInterrupted(host: Host): void {
  if (host.interrupted.aborted)
    throw new VaultError("interrupted", "interrupted: the rehearsal is incomplete", {
      retry: "safe",
    });
}

/** Lines of the stderr of a program that an error quotes at least, and its characters at most. */
const quoted = { lines: 3, length: 1000 };

/** Runs what the rehearsal is about, in a new directory; what it prints is kept for an error, but with --debug goes to stderr. */
function runnerIn(
  { io: { host }, settings }: Basics,
  { folder, env }: PrivateSandbox,
  commands: Commands,
): Runner {
  const cwd = join(folder, "work");
  mkdirSync(cwd);
  const errors = join(folder, "stderr");
  const run = async (
    words: readonly string[],
    started?: (kill: () => void) => void,
  ): Promise<number> => {
    throwIfInterrupted(host);
    const [program = "", ...args] = words;
    const stderr = settings.debug ? 2 : openSync(errors, "w");
    const child = spawn(program, args, {
      cwd,
      env,
      stdio: ["ignore", settings.debug ? 2 : nowhere(), stderr],
      detached: true,
    });
    if (stderr !== 2) closeSync(stderr);
    const kill = (): void => {
      if (child.pid !== undefined) host.endGroup(child.pid);
    };
    started?.(kill);
    host.interrupted.addEventListener("abort", kill, { once: true });
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once("error", (cause: NodeJS.ErrnoException) =>
          reject(failed(`${program} cannot be started (${cause.code})`, words).with({ cause })),
        );
        child.once("exit", resolve);
      });
      // Whatever it left running must not go on beside the next one.
      kill();
      throwIfInterrupted(host);
      return code ?? 137;
    } finally {
      host.interrupted.removeEventListener("abort", kill);
    }
  };
  const failed = (what: string, command: readonly string[]): VaultError => {
    const said = existsSync(errors) ? readFileSync(errors, "utf8").slice(-quoted.length) : "";
    const lines = said.trimEnd().split("\n");
    // An error with its hints, which are indented, is one.
    const message = lines.findLastIndex((line) => /^\S/.test(line));
    const from = Math.max(0, Math.min(message, lines.length - quoted.lines));
    const last = lines
      .slice(from)
      .map((line) => line.trim())
      .join(" | ");
    return new VaultError("usage", last === "" ? what : `${what}: ${last}`, {
      hint: "it runs in a new, empty directory: name files of yours by their full paths",
      next: [wayTo`vault sandbox exec -- ${command}`],
    });
  };
  const shell = async (line: string): Promise<number> => await run(inShell(line));
  return {
    command: async (started) => await run(commands.command, started),
    check: async () => await shell(commands.check),
    shell,
    failed,
  };
}
