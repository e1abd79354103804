import { actorOf, type Actor } from "./actor.ts";
import { fstatSync, readFile, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { promisify } from "node:util";
import { attempt } from "./attempt.ts";
import { asVaultError, VaultError } from "./errors.ts";
import type { Clock } from "./exchange/ports.ts";
import { wantsColor } from "./terminal/palette.ts";
import type { Ended, ForegroundProgram, PassOn } from "./terminal/foreground.ts";
import { orAborted, pause, watchInterrupts, type Interrupts } from "./terminal/signals.ts";
import type { InputStream, TerminalFacts } from "./terminal/streams.ts";
import { chunksOf, DataStream, MessageStream, openWriteAll } from "./terminal/streams.ts";
import { openPipe, readAll } from "./terminal/streams.ts";
import { command, noted } from "./way.ts";

/** The process and the machine, as the program sees them. Nothing else reads `process`. */
export interface Host extends Clock, Interrupts {
  /** As it was at the start. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory; undefined if it was removed. */
  readonly cwd: string | undefined;
  /**
   * The absolute path of what a user has named.
   * @throws `usage` for a relative one if the working directory was removed
   */
  resolve(path: string): string;
  readonly platform: NodeJS.Platform;
  /**
   * Absolute.
   * @throws `usage` if the user has none: it is only to be asked for if a path depends on it
   */
  readonly home: string;
  /** This process, for others. */
  readonly actor: Actor;
  /** The user that it acts for; undefined if the system has no numbers for users. */
  readonly uid: number | undefined;
  readonly versions: { readonly node: string };
  readonly stdin: InputStream;
  readonly stdout: DataStream;
  readonly stderr: MessageStream;
  /** --color (true), --no-color (false), or neither: decides about color on both outputs. */
  chooseColor(choice: boolean | undefined): void;
  /** The runtime's own streams, for a prompt that must read keys. Never for data. */
  terminal(): { input: NodeJS.ReadStream; output: NodeJS.WriteStream };
  /** The whole file, `path` as `resolve` takes it. Rejects with the system's error, or with the reason of `interrupted`. */
  readFile(path: string): Promise<Uint8Array>;
  /** Command line that starts this program again: the runtime and the entry. */
  readonly program: readonly string[];
  /**
   * Runs a program in the foreground, on this process's own streams; signals are the program's meanwhile. Rejects with the system's
   * error if it cannot be started, and with the reason of `interrupted`, which then does not start it.
   */
  runForeground(program: ForegroundProgram): Promise<Ended>;
  /** Kills a process and all that it started (its process group). Nothing happens if it is gone. */
  endGroup(pid: number): void;
  /** Rejects if nobody catches what was thrown, and if nothing is left to wait for. */
  readonly uncaught: Promise<never>;
  /** Resolves when all output so far has been written or cannot be. */
  flush(): Promise<void>;
}

const allSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * The real host. Signals end the process in the system's way until `interrupted` or `killed` is first asked for; from then on
 * they abort those. `signals` leaves out SIGHUP if it is to be survived. What few commands need (terminals, home folder) is
 * loaded at the first question.
 */
export function createHost(
  process: NodeJS.Process,
  signals: readonly NodeJS.Signals[] = allSignals,
): Host {
  const env = { ...process.env };
  // The runtime obeys it, and warns of what is not so here: certificates are always checked.
  delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  const isTTY = (fd: number): boolean =>
    mayBeTerminal(fd) && process.getBuiltinModule("node:tty").isatty(fd);
  let colorChoice: boolean | undefined;
  let watched: Interrupts | undefined;
  let foreground: PassOn | undefined;
  const passOn = (signal: NodeJS.Signals): boolean => {
    foreground?.(signal);
    return foreground !== undefined;
  };
  const interrupts = (): Interrupts => (watched ??= watchInterrupts(process, signals, passOn));

  const screen = (fd: 1 | 2): Partial<NodeJS.WriteStream> =>
    isTTY(fd) ? (fd === 1 ? process.stdout : process.stderr) : {};
  const facts = (fd: 1 | 2): TerminalFacts => ({
    get isTTY() {
      return isTTY(fd);
    },
    get columns() {
      return screen(fd).columns || Number(env["COLUMNS"]) || 80;
    },
    get rows() {
      return screen(fd).rows || Number(env["LINES"]) || undefined;
    },
    get color() {
      return wantsColor(colorChoice, isTTY(fd), env);
    },
  });
  const signal = (): AbortSignal | undefined => watched?.interrupted;
  const options = (fd: 1 | 2) => ({ facts: facts(fd), signal, openWriter: () => openWriteAll(fd) });
  const stdout = new DataStream({ ...options(1), isClosed: () => isNullDevice(1) });
  const stderr = new MessageStream({ ...options(2), isClosed: () => isNullDevice(2) });
  const flush = async (): Promise<void> => {
    await stdout.flush();
    await stderr.flush();
  };
  const absolute = (path: string): string => {
    const cwd = isAbsolute(path) ? "/" : workingDirectory(process);
    if (cwd !== undefined) return resolve(cwd, path);
    const message = `the working directory was removed, so that ${path} is nowhere`;
    const hint = "change to another directory, or use an absolute path";
    throw new VaultError("usage", message, { hint });
  };
  const uncaught = Promise.withResolvers<never>();
  uncaught.promise.catch(() => {});
  process.on("uncaughtException", (error) => uncaught.reject(asVaultError(error)));
  // Otherwise the runtime would exit with 0, which means "acknowledged".
  process.on("beforeExit", () =>
    uncaught.reject(asVaultError(new Error("nothing is left to wait for"))),
  );

  return {
    env,
    platform: process.platform,
    get actor() {
      return actorOf(process.pid);
    },
    uid: process.geteuid?.(),
    versions: process.versions,
    stdout,
    stderr,
    stdin: {
      get isTTY() {
        return isTTY(0);
      },
      readAll: (limit, signal = interrupts().interrupted) => readAll(process.stdin, limit, signal),
      chunks: (signal = interrupts().interrupted) => chunksOf(process.stdin, signal),
    },
    get interrupted() {
      return interrupts().interrupted;
    },
    get killed() {
      return interrupts().killed;
    },
    get cwd() {
      return workingDirectory(process);
    },
    resolve: absolute,
    get home() {
      return homeOf(process, env["HOME"]);
    },
    chooseColor(choice) {
      colorChoice = choice;
    },
    terminal() {
      // A terminal that goes away while a prompt is shown must not end the process by an event that nobody awaits.
      process.stderr.on("error", () => {});
      return { input: process.stdin, output: process.stderr };
    },
    get program() {
      return [
        process.execPath,
        ...(process.getBuiltinModule("node:sea").isSea() ? [] : process.argv.slice(1, 2)),
      ];
    },
    async runForeground(program) {
      const { interrupted } = interrupts();
      const { runForeground } = await import("./terminal/foreground.ts");
      // What was said before stands before what the program shows.
      await flush();
      interrupted.throwIfAborted();
      try {
        return await runForeground(process, program, (passOn) => (foreground = passOn));
      } finally {
        foreground = undefined;
      }
    },
    endGroup,
    async readFile(path) {
      const file = absolute(path);
      const { interrupted } = interrupts();
      const pipe = openPipe(file);
      if (pipe !== null) return await readAll(pipe, Infinity, interrupted);
      return await orAborted(promisify(readFile)(file), interrupted);
    },
    uncaught: uncaught.promise,
    flush,
    now: () => Date.now(),
    elapsed() {
      // The first look at `performance` takes a seventh of a bare start.
      const [seconds, nanoseconds] = process.hrtime();
      return seconds * 1000 + nanoseconds / 1e6;
    },
    sleep: pause,
  };
}

const workingDirectory = (process: NodeJS.Process): string | undefined =>
  attempt(() => process.cwd());

/**
 * HOME, or what the password database has, if that is empty or relative: the configuration may name a command to run,
 * and the current folder may be anybody's.
 */
function homeOf(process: NodeJS.Process, given = ""): string {
  // It throws for a user without an entry.
  const ofUser = () => process.getBuiltinModule("node:os").userInfo().homedir;
  const home = isAbsolute(given) ? given : attempt(ofUser);
  if (home !== undefined && isAbsolute(home)) return home;
  const also = "or set both VAULTSVC_CONFIG_DIR and VAULTSVC_STATE";
  throw new VaultError("usage", "no home directory: HOME is not an absolute path", {
    next: [noted(command`export HOME=/path/to/home`, also)],
  });
}

/** Settled without loading node:tty, which takes a sixth of a bare start, for all that is redirected. */
function mayBeTerminal(fd: number): boolean {
  return fstatSync(fd).isCharacterDevice() && !isNullDevice(fd);
}

/** Also true of a descriptor that was closed: the runtime opens the null device in its place. */
function isNullDevice(fd: number): boolean {
  const stat = fstatSync(fd);
  return (
    stat.isCharacterDevice() && stat.rdev === statSync("/dev/null", { throwIfNoEntry: false })?.rdev
  );
}

/** Implements `Host.endGroup`. */
export const endGroup = (pid: number): void =>
  // It throws if the group has ended.
  void attempt(() => process.kill(-pid, "SIGKILL"));
