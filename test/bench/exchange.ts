import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSandbox } from "../../src/sandbox/server/start-sandbox.ts";

/**
 * What starting and one exchange over loopback cost, as ratios of medians within one run: against a bare start of the
 * same runtime, and against the same exchange by a shell script with curl and jq (left out where one is missing). All
 * cases take turns, so that whatever else the machine does hits them alike.
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
  ],
});
const [one, two] = sandbox.vaults;
if (one === undefined || two === undefined) throw new Error("the sandbox has no vaults");

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
writeFileSync(join(folder, "first.json"), JSON.stringify(one.credentials));

const hasTools = ["curl", "jq"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
const cases: Record<string, string[]> = {
  "node -e 0": [process.execPath, "-e", "0"],
  "vault --version": [process.execPath, bin, "--version"],
  "vault --help": [process.execPath, bin, "--help"],
  "vault status --json": [process.execPath, bin, "status", "--json"],
  "vault get --json": [process.execPath, bin, "get", one.uuid, "--json"],
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
await timed([process.execPath, bin, "get", one.uuid, "--kind", one.kind, "--credentials", `@${join(folder, "first.json")}`]);
const times = new Map(Object.keys(cases).map((name) => [name, [] as number[]]));
for (let run = 0; run < runs; run += 1) for (const [name, command] of Object.entries(cases)) times.get(name)?.push(await timed(command));

const median = (name: string): number => times.get(name)?.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? Number.NaN;
const lines = Object.keys(cases).map((name) => {
  const toScript = hasTools && name.startsWith("vault get") ? `, ${(median(name) / median("curl and jq")).toFixed(2)} of the script` : "";
  return `${name.padEnd(20)} ${median(name).toFixed(1).padStart(7)} ms  ${(median(name) / median("node -e 0")).toFixed(2)} bare starts${toScript}`;
});
process.stdout.write(`${lines.join("\n")}\n`);
await sandbox.close();
rmSync(folder, { recursive: true, force: true });
