import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { main } from "../../src/main.ts";
import type { Kind } from "../../src/protocol/endpoints.ts";
import type { Pair } from "../../src/protocol/answers.ts";
import type { RunningSandbox } from "../../src/sandbox/server.ts";
import type { Way } from "../../src/way.ts";
import { helpOf } from "./help.ts";
import { checkDocument, checkPrinted } from "./documents.ts";
import { fakeHost, type FakeHostOptions } from "./fake-host.ts";
import type { RunningVault, RunOptions, RunResult } from "./run-vault.ts";
import { cleanEnv, startVault } from "./run-vault.ts";
import { tempDir } from "./cleanup.ts";

/** A user's machine: a home, a configuration, a state, and the settings of one application of a sandbox. */
export interface Machine {
  home: string;
  stateDir: string;
  configDir: string;
  env: Record<string, string>;
  /** Runs the program to its end, in this process: fifty times as fast as a process of its own. */
  vault(...args: string[]): Promise<RunResult>;
  vaultWith(
    options: Pick<RunOptions, "env" | "input" | "cwd"> &
      Pick<FakeHostOptions, "isTTY" | "rows" | "color">,
    ...args: string[]
  ): Promise<RunResult>;
  /** The same for a command that must end with 0; it throws with what the program said otherwise. */
  ok(...args: string[]): Promise<RunResult>;
  okWith(...given: Parameters<Machine["vaultWith"]>): Promise<RunResult>;
  /** Starts a process: for what is about signals, crashes, a second process, the entry or a hook in the runtime. */
  start(options: RunOptions, ...args: string[]): RunningVault;
  /** Writes a file in the home folder and returns its path. */
  file(name: string, content: unknown): string;
  /** The options that give credentials (a pair or a document), from a file of their own, and their kind. */
  given(credentials: unknown, kind?: Kind): string[];
  /** The credentials that `vault export` prints, run in this process: a pair, or the recovery document of an open exchange. */
  exported(uuid: string): Promise<Pair | Recovery | null>;
  status(uuid: string): Promise<Status>;
  /** The same machine with a copy of its state, as it is on the disk now. */
  copy(): Machine;
}

export interface Recovery {
  status: "pending";
  exchange: { id: string; operation: string; tokenExpiry: string | null };
  old: Pair;
  new: Pair;
  token: string;
}

/** The part of `vault status --json` that tests look at. */
export interface Status {
  status: string;
  generation: number | null;
  unackedStarts: number;
  failedAttempts: number;
  locked: boolean;
  usesRemaining: number | null;
  exchange: {
    id: string;
    state: string;
    holdReason: string | null;
    delivered: boolean;
    saveOwed: boolean;
    endsUnanswered: number;
  } | null;
}

/** The credentials of a document that `vault export` printed. */
export const credentialsIn = (text: string): Pair | Recovery =>
  (JSON.parse(text) as { credentials: Pair | Recovery }).credentials;

export type MachineOptions = Partial<Pick<Machine, "home" | "stateDir" | "configDir" | "env">>;

/** What the runtime reads when it starts, and a command that looks at the process that runs it. */
const needsProcess = (env: NodeJS.ProcessEnv, args: readonly string[]): boolean =>
  Boolean(env["NODE_OPTIONS"]) ||
  Boolean(env["NODE_EXTRA_CA_CERTS"]) ||
  args.some((arg) => arg.includes("$PPID"));

/** How a command ended, with what it said, for the failure of a test. */
export const outcomeOf = ({ code, signal, stderr, stdout }: RunResult): string =>
  `exit ${code ?? signal}\nstderr: ${stderr}\nstdout: ${stdout}`;

/** Runs the program in this process, on top of a clean environment. */
export async function runHere(
  args: readonly string[],
  options: Omit<FakeHostOptions, "env" | "now" | "files"> & Pick<RunOptions, "env">,
): Promise<RunResult> {
  const env = cleanEnv(options);
  const host = fakeHost({ ...options, env, now: "real", files: "real" });
  const code = await main(args, host);
  await host.flush();
  checkPrinted(args, { code, stdout: host.out, stderr: host.err });
  return { code, signal: null, stdout: host.out, stderr: host.err };
}

let given = 0;

/** No rate limit of its own, unless `env` sets one: most tests have nothing to do with it. */
export function machineFor(
  service: Pick<RunningSandbox, "baseUrl" | "application">,
  options: MachineOptions = {},
): Machine {
  const home = options.home ?? tempDir("machine");
  const stateDir = options.stateDir ?? join(home, "state");
  const configDir = options.configDir ?? join(home, "config");
  const env: Record<string, string> = {
    HOME: home,
    VAULTSVC_STATE: stateDir,
    VAULTSVC_CONFIG_DIR: configDir,
    VAULTSVC_BASE_URL: service.baseUrl,
    VAULTSVC_APP_UUID: service.application.uuid,
    VAULTSVC_API_KEY: service.application.apiKey,
    VAULTSVC_RATE: "0",
    ...options.env,
  };
  const start: Machine["start"] = (options, ...args) =>
    startVault(args, { cwd: home, ...options, env: { ...env, ...options.env } });
  const vaultWith: Machine["vaultWith"] = async (options, ...args) => {
    const whole = { ...env, ...options.env };
    if (needsProcess(whole, args)) return await start(options, ...args).exit;
    return await runHere(args, { cwd: home, ...options, home, env: whole });
  };
  const run: Machine["vault"] = async (...args) => await vaultWith({}, ...args);
  const okWith: Machine["okWith"] = async (...given) => {
    const result = await vaultWith(...given);
    if (result.code !== 0) throw new Error(outcomeOf(result));
    return result;
  };
  const file: Machine["file"] = (name, content) => {
    const path = join(home, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  return {
    home,
    stateDir,
    configDir,
    env,
    start,
    vault: run,
    vaultWith,
    okWith,
    ok: async (...args) => await okWith({}, ...args),
    file,
    given: (credentials, kind) => [
      ...(kind === undefined ? [] : ["--kind", kind]),
      "--credentials",
      `@${file(`given-${(given += 1)}.json`, credentials)}`,
    ],
    exported: async (uuid) => {
      const { code, stdout, stderr } = await run("export", uuid);
      // All of them were refused: one is named.
      const [, named] = /--generation N \(one of (\d+)/.exec(stderr) ?? [];
      if (named !== undefined)
        return credentialsIn((await run("export", uuid, "--generation", named)).stdout);
      if (code === 4) return null;
      if (code !== 0) throw new Error(`export: exit ${code}: ${stderr}`);
      return credentialsIn(stdout);
    },
    status: async (uuid) => {
      const { code, stdout, stderr } = await run("status", uuid, "--json");
      if (code !== 0) throw new Error(`status: exit ${code}: ${stderr}`);
      const [vault] = (JSON.parse(stdout) as { vaults: Status[] }).vaults;
      if (vault === undefined) throw new Error("status shows no vault");
      return vault;
    },
    copy: () => {
      const folder = join(tempDir("copy"), "state");
      // By another process: one that closes a database's file loses its locks on that, and SQLite in it rests on them.
      if (existsSync(stateDir)) execFileSync("cp", ["-R", stateDir, folder]);
      return machineFor(service, { home, configDir, stateDir: folder, env: options.env ?? {} });
    },
  };
}

/** The newest key file of a machine: that of its state. */
export function keyFileOf({ configDir }: Pick<Machine, "configDir">): string {
  const folder = join(configDir, "keys");
  const files = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  const made = (path: string): number => statSync(path).mtimeMs;
  const [newest = join(folder, "none.key")] = files
    .filter((path) => !path.endsWith("config.key"))
    .toSorted((a, b) => made(b) - made(a));
  return newest;
}

/** Copies the key files of a machine to another one. */
export function copyKeys(from: Pick<Machine, "configDir">, to: Pick<Machine, "configDir">): void {
  mkdirSync(to.configDir, { recursive: true, mode: 0o700 });
  cpSync(join(from.configDir, "keys"), join(to.configDir, "keys"), { recursive: true });
}

/** The error as documented (vault help documents): the last line on stderr. */
export interface JsonError {
  code: string;
  message: string;
  hint?: string;
  next: Way[];
  exitCode: number;
  retry: string;
  uuid?: string;
  label?: string | null;
  exchange?: { id: string; operation: string; state: string };
  spent?: { unackedStarts: number; failedAttempts: number };
}

/** `help`: its hint and its ways on, as one text to compare. */
export function errorOf(result: RunResult): JsonError & { help: string } {
  const line = result.stderr.trimEnd().split("\n").at(-1) ?? "";
  const { error } = JSON.parse(line) as { error: JsonError };
  return { ...error, help: helpOf(error) };
}

/** What `get --json` printed. */
export interface GetDocument {
  vault: {
    uuid: string;
    credentials: Pair;
    content?: string;
    creditCard?: { number: string };
    usesRemaining?: number;
  };
  kind: string;
  exchange: { id: string; operation: string; generation: number };
  settled: {
    exchange: { id: string; operation: string; externalRef: string };
    operation: string;
    outcome: string;
  }[];
}

export const documentOf = (result: RunResult): GetDocument =>
  JSON.parse(result.stdout) as GetDocument;

/** What a file of --credentials-out holds after the acknowledgement. */
export const pairIn = (path: string): Pair => (readJson(path) as { credentials: Pair }).credentials;

/** What a file holds; a recovery document in the form that the program writes is held against its schema. */
export function readJson(path: string): unknown {
  const document = JSON.parse(readFileSync(path, "utf8")) as unknown;
  const isRecovery =
    typeof document === "object" &&
    document !== null &&
    "format" in document &&
    "label" in document;
  if (isRecovery) checkDocument("recovery", document);
  return document;
}
