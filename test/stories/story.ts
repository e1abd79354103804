import { execFile } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { demoSeed } from "../../src/sandbox/seeds.ts";
import { startSandbox, type RunningSandbox } from "../../src/sandbox/server.ts";
import { certificateAuthority } from "../support/keys.ts";
import { postgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxies.ts";
import { quote, startInPty } from "../support/pty.ts";
import { cleanEnv, vaultBin, vaultCommand } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { startTlsFront } from "../support/gateway.ts";

/**
 * A story: a transcript of the program in use, in a fresh folder, with a fresh sandbox and state.
 *
 *     # a line of intent
 *     $ a command of a POSIX shell, as typed
 *     | a line that it prints, in this order among others; … stands for anything
 *     exit 7                      how it ends, where that is not 0
 *
 * `needs` names a program that a new machine may lack. A command behind `$$` runs on a terminal of 100 columns; `?` waits for what it shows, `<` types a line,
 * `<^C` Ctrl-C.
 */
interface Story {
  title: string;
  needs: string[];
  steps: Step[];
}

interface Step {
  line: number;
  intent: string;
  command: string;
  onTerminal: boolean;
  talk: { type: "see" | "type"; text: string }[];
  prints: string[];
  exit: number;
}

/** @throws for a line that is none of these */
export function parseStory(text: string): Story {
  const steps: Step[] = [];
  const needs: string[] = [];
  let title = "";
  let intent = "";
  for (const [index, row] of text.split("\n").entries()) {
    const [, mark = "", rest = ""] =
      /^(#|\$\$?|\||\?|<|exit|needs)(?: (.*))?$/.exec(row) ??
      (/^<\^C$/.test(row) ? ["", "<", "^C"] : []);
    const step = steps.at(-1);
    if (mark === "" && row.trim() !== "")
      throw new Error(`line ${index + 1} of the story is none of # $ $$ | ? < exit needs: ${row}`);
    if (mark === "#" && title === "") title = rest;
    else if (mark === "#") intent = rest;
    else if (mark === "needs") needs.push(rest);
    else if (mark.startsWith("$")) {
      steps.push({
        line: index + 1,
        intent,
        command: rest,
        onTerminal: mark === "$$",
        talk: [],
        prints: [],
        exit: 0,
      });
      intent = "";
    } else if (mark === "?") step?.talk.push({ type: "see", text: rest });
    else if (mark === "<") step?.talk.push({ type: "type", text: rest });
    else if (mark === "|") step?.prints.push(rest);
    else if (mark === "exit" && step !== undefined) step.exit = Number(rest);
  }
  return { title, needs, steps };
}

/** Where a story plays. */
export interface Scene {
  cwd: string;
  env: Record<string, string>;
  sandbox: RunningSandbox;
}

/** With `node`, another release of the runtime runs the program. Steps that use `$DATABASE` get a PostgreSQL. */
export async function openScene(node?: string, steps: readonly Step[] = []): Promise<Scene> {
  const cwd = tempDir("story");
  const readyFile = join(cwd, "sandbox.json");
  // The same uuids each time: lists stand in their order.
  const seed = demoSeed.map((vault, index) => ({
    ...vault,
    uuid: `5a4b3c2d-0000-4000-8000-00000000000${index}`,
  }));
  const sandbox = await startSandbox({ now: () => Date.now(), seed, readyFile });
  const vault = (kind: string) => {
    const found = sandbox.vaults.find((one) => one.kind === kind);
    if (found === undefined) throw new Error(`the seed has no ${kind} vault`);
    return found;
  };
  const vaults = {
    ONLINE: vault("credit-card/online"),
    CARD: vault("credit-card/offline"),
    NOTE: vault("generic/offline"),
  };
  for (const [name, { credentials, device }] of Object.entries(vaults)) {
    writeFileSync(join(cwd, `${name.toLowerCase()}-pair.json`), JSON.stringify(credentials));
    if (device !== undefined) writeFileSync(join(cwd, "device.json"), JSON.stringify(device));
  }
  // The same service as https://vault.example, where only a proxy leads to, under a certificate of its own issuer.
  const authority = certificateAuthority();
  writeFileSync(join(cwd, "ca.pem"), authority.cert);
  const front = await startTlsFront(sandbox.baseUrl, authority.issue({ dns: "vault.example" }));
  const proxy = await startProxy({
    hosts: { "vault.example": front.port },
    credentials: "ada:pr0xy-word",
  });
  const bin = tempDir("path");
  const command = node === undefined ? vaultCommand : [node, vaultBin];
  writeFileSync(join(bin, "vault"), `#!/bin/sh\nexec ${command.map(quote).join(" ")} "$@"\n`);
  chmodSync(join(bin, "vault"), 0o755);
  const env = {
    ...Object.fromEntries(Object.entries(vaults).map(([name, { uuid }]) => [name, uuid])),
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    HOME: cwd,
    BASE_URL: sandbox.baseUrl,
    APP_UUID: sandbox.application.uuid,
    APP_KEY: sandbox.application.apiKey,
    PROXY: proxy.host,
    PROXY_LOGIN: "ada:pr0xy-word",
    VAULTSVC_STATE: join(cwd, "state"),
    VAULTSVC_CONFIG_DIR: join(cwd, "config"),
  };
  if (steps.some(({ command }) => command.includes("$DATABASE"))) {
    const { username, password, host, pathname } = new URL((await postgres()).location("any"));
    const database = `postgres://${username}@${host}${pathname}`;
    return { cwd, env: { ...env, DATABASE: database, PGPASSWORD: password }, sandbox };
  }
  return { cwd, env, sandbox };
}

/** Runs one step; resolves to what does not go as told, with all that was printed, or to null. */
export async function playStep(step: Step, scene: Scene): Promise<string | null> {
  const { code, text } = step.onTerminal ? await onTerminal(step, scene) : await piped(step, scene);
  const wrong =
    code === step.exit ? missing(step.prints, text) : `exit ${code} instead of ${step.exit}`;
  return wrong === null
    ? null
    : `line ${step.line}: ${step.command}\n${wrong}\nit printed:\n${text}`;
}

interface Played {
  code: number | null;
  text: string;
}

async function onTerminal({ command, talk }: Step, { cwd, env }: Scene): Promise<Played> {
  const run = startInPty(["/bin/sh", "-c", command], { cwd, env, columns: 100 });
  for (const { type, text } of talk) {
    if (type === "see") await run.waitFor(new RegExp(pattern(text)));
    else run.type(text === "^C" ? "\x03" : `${withVariables(text, env)}\r`);
  }
  return await run.exit;
}

const withVariables = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$([A-Z_]+)/g, (whole, name: string) => env[name] ?? whole);

/** Both outputs in one, in order, and no terminal. */
function piped({ command }: Step, { cwd, env }: Scene): Promise<Played> {
  return new Promise((resolve) => {
    const script = `exec 2>&1 </dev/null\n${command}`;
    execFile(
      "/bin/sh",
      ["-c", script],
      { cwd, env: cleanEnv({ env }), timeout: 150_000 },
      (error, text) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), text });
      },
    );
  });
}

/** What a line of `prints` has no line for in the text, in this order; null if each has one. */
export function missing(prints: readonly string[], text: string): string | null {
  const lines = text.split("\n");
  let from = 0;
  for (const wanted of prints) {
    const found = lines.findIndex(
      (line, index) => index >= from && new RegExp(pattern(wanted)).test(line),
    );
    if (found === -1) return `no line (after those before it) like: ${wanted}`;
    from = found + 1;
  }
  return null;
}

const pattern = (text: string): string =>
  text
    .split("…")
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join(".*");
