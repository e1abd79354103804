import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import { endFile } from "../support/end-of-file.ts";
import { secure, startServer } from "../support/postgres.ts";

/**
 * What starting and one exchange over loopback cost, as ratios of medians within one run: against a bare start of the
 * same runtime, against the same exchange by a shell script with curl and jq (left out where one is missing), and with a
 * shared state (PostgreSQL, a proven password, no TLS) against one on this machine. All cases take turns, so that whatever
 * else the machine does hits them alike.
 */
const runs = Number(process.argv[2] ?? 40);
const bin = join(import.meta.dirname, "..", "..", "bin", "vault.js");
const script = join(import.meta.dirname, "exchange.sh");
const folder = mkdtempSync(join(tmpdir(), "vault-bench-"));
const sandbox = await startSandbox({
  now: () => Date.now(),
  policy: { rate: 1_000_000 },
  seed: [
    { kind: "generic/offline", label: "one", content: "text" },
    { kind: "generic/offline", label: "two", content: "text" },
    { kind: "generic/offline", label: "three", content: "text" },
  ],
});
const [one, two, three] = sandbox.vaults;
if (one === undefined || two === undefined || three === undefined) throw new Error("the sandbox has no vaults");

const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: folder,
  VAULTSVC_BASE_URL: sandbox.baseUrl,
  VAULTSVC_APP_UUID: sandbox.application.uuid,
  VAULTSVC_API_KEY: sandbox.application.apiKey,
  APP_UUID: sandbox.application.uuid,
  API_KEY: sandbox.application.apiKey,
};
const pair = join(folder, "pair.json");
writeFileSync(pair, JSON.stringify(two.credentials));
const server = await startServer();
await secure(server);
const shared = ["--state", server.location("bench")];

const hasTools = ["curl", "jq"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
const cases: Record<string, string[]> = {
  "node -e 0": [process.execPath, "-e", "0"],
  "vault --version": [process.execPath, bin, "--version"],
  "vault --help": [process.execPath, bin, "--help"],
  "vault status --json": [process.execPath, bin, "status", "--json"],
  "vault get --json": [process.execPath, bin, "get", one.uuid, "--json"],
  "vault get (shared)": [process.execPath, bin, "get", three.uuid, "--json", ...shared],
  ...(hasTools ? { "curl and jq": ["/bin/sh", script, sandbox.baseUrl, two.kind, two.uuid, pair] } : {}),
};

/** Milliseconds from start to exit; the output goes to /dev/null, which costs no case anything. */
async function timed([command = "", ...args]: string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(command, args, { env, stdio: ["ignore", nowhere, "inherit"] });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${String(code)}`);
  return performance.now() - started;
}

const nowhere = openSync("/dev/null", "w");
await timed([process.execPath, bin, "state", "init", ...shared]);
for (const [{ uuid, kind, credentials }, state] of [[one, []] as const, [three, shared] as const]) {
  const first = join(folder, `${uuid}.json`);
  writeFileSync(first, JSON.stringify(credentials));
  await timed([process.execPath, bin, "get", uuid, "--kind", kind, "--credentials", `@${first}`, ...state]);
}
const times = new Map(Object.keys(cases).map((name) => [name, [] as number[]]));
for (let run = 0; run < runs; run += 1) for (const [name, command] of Object.entries(cases)) times.get(name)?.push(await timed(command));

const median = (name: string): number => times.get(name)?.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? Number.NaN;
const lines = Object.keys(cases).map((name) => {
  const ratio = (other: string): string => (median(name) / median(other)).toFixed(2);
  const toScript = hasTools && name.startsWith("vault get") ? `, ${ratio("curl and jq")} of the script` : "";
  const toLocal = name === "vault get (shared)" ? `, ${ratio("vault get --json")} of a state on this machine` : "";
  return `${name.padEnd(20)} ${median(name).toFixed(1).padStart(7)} ms  ${ratio("node -e 0")} bare starts${toScript}${toLocal}`;
});
process.stdout.write(`${lines.join("\n")}\n`);
await endFile();
await sandbox.close();
rmSync(folder, { recursive: true, force: true });
