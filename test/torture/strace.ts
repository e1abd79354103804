import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../support/machine.ts";
import { compiled, type RunOptions, type RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

/** Why strace cannot be used here, or null where it can. */
export const straceMissing: string | null = ((): string | null => {
  const { error, status } = spawnSync("strace", ["-f", "-o", "/dev/null", "true"], {
    stdio: "ignore",
  });
  if (error !== undefined) return "strace is not installed";
  return status === 0 ? null : "ptrace is not permitted";
})();

/** A system call, as it was entered. */
export interface Call {
  thread: number;
  /** Of the thread that runs JavaScript and SQLite; the others are libuv's pool and V8's helpers. */
  main: boolean;
  name: string;
  /** Its arguments and its result, as strace prints them; the result is empty where the call never returned. */
  args: string;
  result: string;
  /** The how manieth call of this name it is in its thread: what strace counts. */
  ordinal: number;
}

/** What changes something outside of the process, or hears from it; reads and openings are sorted by what they touch. */
const names = [
  "write pwrite64 writev pwritev fsync fdatasync ftruncate truncate fallocate copy_file_range sendfile",
  "rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat rmdir open openat",
  "connect sendto sendmsg sendmmsg recvfrom recvmsg read exit_group",
].flatMap((line) => line.split(" "));

const log = join(tempDir("strace"), "log");

export interface Traced {
  result: RunResult;
  calls: Call[];
}

/** Runs the program under strace, one run at a time. `more` are options of strace; one thread in the pool, so that each run does the same. */
export async function traced(
  machine: Machine,
  args: readonly string[],
  more: readonly string[] = [],
  run: RunOptions = {},
): Promise<Traced> {
  const options = [
    "-f",
    "-y",
    "-qq",
    "-e",
    "signal=none",
    "-o",
    log,
    "-e",
    `trace=${names.join(",")}`,
  ];
  const through = ["strace", ...options, ...more, ...(run.through ?? [])];
  const env = { UV_THREADPOOL_SIZE: "1", ...run.env };
  const result = await machine.start({ timeoutMs: 120_000, ...run, env, through }, ...args).exit;
  return { result, calls: parse(readFileSync(log, "latin1")) };
}

/** Where the program is killed: when a thread enters its n-th call of this name, before that has any effect. */
export interface CrashPoint {
  /** Among all crash points of the run, in the order in which they are entered. */
  index: number;
  what: string;
  name: string;
  ordinal: number;
  /** Only calls that touch this file are counted, and seen; null for those of the main thread, which are counted alone. */
  path: string | null;
  /** What the call is for, the same in each run, and the how manieth such call it is. */
  kind: string;
  nth: number;
}

/**
 * Kills the program at a crash point; `run` begins it anew with more options for strace. strace counts the calls of one name in one
 * thread, and delivers the signal at the entry of the call, which then never happens (tried: a file written to is as it was; with
 * `--seccomp-bpf` it does not reliably come). A wake-up of the runtime, or one more look at a lock that is still held, moves the
 * count: it is tried again with another one.
 */
export async function killedAt(
  point: CrashPoint,
  run: (more: string[]) => Promise<Traced>,
  isEvent: IsEvent,
): Promise<Traced> {
  const { name, path } = point;
  let { ordinal } = point;
  let ended = "";
  for (let tries = 0; tries < 60; tries += 1) {
    const done = await run([
      ...(path === null ? [] : ["-P", path]),
      "-e",
      `inject=${name}:signal=SIGKILL:when=${ordinal}`,
    ]);
    const { code, signal, stderr } = done.result;
    const events = done.calls.filter(isEvent);
    const there = likeIt(point, events)[point.nth - 1];
    if (signal === "SIGKILL" && there?.result === "" && there === events.at(-1)) return done;
    ended = `${code ?? signal} after ${events.length} points ${stderr}`;
    // Too late, its own number is known now; too early, the next one.
    ordinal = there?.ordinal ?? (signal === "SIGKILL" ? ordinal + 1 : point.ordinal);
  }
  throw new Error(`crash point ${point.index}, ${point.what}, is not reached: ${ended}`);
}

const likeIt = (
  { kind, path }: Pick<CrashPoint, "kind" | "path">,
  events: readonly Call[],
): Call[] =>
  events.filter(
    (each) => (path === null ? each.main : touches(each, path)) && kindOf(each) === kind,
  );

/** The name of a call, its file without what is drawn by lot, and the beginning of what goes through a socket. */
function kindOf(call: Call): string {
  const path = pathOf(call) ?? "";
  // What is received is unknown until the call returns.
  const isSent = path.startsWith("socket:") && /^(write|send)/.test(call.name);
  const [, sent = ""] = isSent ? (/"([^"]*)"/.exec(call.args) ?? []) : [];
  return `${call.name} ${path} ${sent}`.replaceAll(/[^g-zG-Z/ ]+/g, "-");
}

/**
 * The crash points of a run. Nothing that other processes or a later run could see happens between one and the next, so being
 * killed after a call is being killed before the next one; after the last one there is only the end of the process. Left out
 * is what wakes threads of the runtime (eventfd, libuv's own pipes), reads of files, and openings that make nothing.
 */
export function crashPoints(calls: readonly Call[], isEvent: IsEvent): CrashPoint[] {
  const events = calls.filter(isEvent);
  return events.map((call, index) => {
    const { name } = call;
    const what = `${name}(${call.args.slice(0, 150)}`;
    // The main thread may make more calls of this name: those of the pool are told by the file that they touch.
    const path = call.main ? null : (pathOf(call) ?? "");
    const kind = kindOf(call);
    const isCounted = (each: Call): boolean =>
      each.thread === call.thread && each.name === name && (path === null || touches(each, path));
    return {
      index,
      what,
      name,
      ordinal: calls.slice(0, calls.indexOf(call) + 1).filter(isCounted).length,
      path,
      kind,
      nth: likeIt({ kind, path }, events.slice(0, index + 1)).length,
    };
  });
}

/** The file that a call changes: of a descriptor, or the first one that it names. */
export function pathOf(call: Call): string | null {
  const [, ofDescriptor, named] =
    /^(?:\d+<((?:[^>\\]|\\.)*)>|(?:AT_FDCWD(?:<[^>]*>)?, )?"((?:[^"\\]|\\.)*)")/.exec(call.args) ??
    [];
  return ofDescriptor ?? named ?? null;
}

const touches = (call: Call, path: string): boolean =>
  call.args.includes(`<${path}>`) || call.args.includes(`"${path}"`);

/** Whether something happens outside of the process at a call, or it hears from there. */
export type IsEvent = (call: Call) => boolean;

/** Where the answers of a database come in pieces, no run reads them as another one: being killed before a read is being killed before what comes next. */
export const changesSomething: IsEvent = (call) => call.name !== "read" && isEvent(call);

export function isEvent(call: Call): boolean {
  const path = pathOf(call) ?? "";
  if (call.name === "read") return path.startsWith("socket:");
  // Who has a vault is only told: nothing depends on it, and several vaults of a run write it in any order.
  if (/\/locks\/\w+\.json\b/.test(`${path} ${call.args}`)) return false;
  // A lock file is empty: one that was just made is like any other.
  if (call.name === "open" || call.name === "openat")
    return /O_CREAT/.test(call.args) && !/\/locks\/\w+\.lock"/.test(call.args) && !isRuntime(path);
  return !isRuntime(path);
}

/** The wake-ups of libuv, its pipes among them (the three of the program are sockets), and what Node looks up of the system. */
const isRuntime = (path: string): boolean =>
  /^(anon_inode:|pipe:|\/proc\/|\/sys\/|\/dev\/(?!shm\/))/.test(path) || path.startsWith(compiled);

function parse(log: string): Call[] {
  const calls: Call[] = [];
  const left = new Map<number, Call>();
  const counts = new Map<string, number>();
  for (const line of log.split("\n")) {
    const [, pid = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const thread = Number(pid);
    const [, resumed] = /^<\.\.\. \w+ resumed>.*\) += (.*)$/.exec(rest) ?? [];
    const before = left.get(thread);
    if (resumed !== undefined && before !== undefined) {
      before.result = resumed;
      left.delete(thread);
      continue;
    }
    const [, name = "", all = ""] = /^(\w+)\((.*)$/.exec(rest) ?? [];
    if (name === "") continue;
    const [, args = all, result = ""] = /^(.*)\) += (.*?)$/.exec(all) ?? [];
    const ordinal = (counts.get(`${thread} ${name}`) ?? 0) + 1;
    counts.set(`${thread} ${name}`, ordinal);
    const call = {
      thread,
      main: thread === (calls[0]?.thread ?? thread),
      name,
      args,
      result: result === "?" ? "" : result,
      ordinal,
    };
    calls.push(call);
    if (all.endsWith("<unfinished ...>")) left.set(thread, call);
  }
  return calls;
}
