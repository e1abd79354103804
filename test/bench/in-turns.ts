import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunningSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import { startSandbox } from "../../src/sandbox/server/start-sandbox.ts";

export const bin = join(import.meta.dirname, "..", "..", "bin", "vault.js");
const script = join(import.meta.dirname, "exchange.sh");
const nowhere = openSync("/dev/null", "w");

/** A sandbox, a home of its own, and what is measured there. */
interface Stage {
  folder: string;
  vaults: RunningSandbox["vaults"];
  /** Arguments of the same exchange by a shell script with curl and jq; undefined where one is missing. */
  script: readonly string[] | undefined;
  /** Milliseconds from start to exit; the output goes to /dev/null, which costs no case anything. */
  timed(command: readonly string[]): Promise<number>;
  /** Reads a vault for the first time, with its credentials. */
  begin(vault: RunningSandbox["vaults"][number], ...flags: string[]): Promise<void>;
  close(): Promise<void>;
}

/** Opens a sandbox without a rate limit, with three vaults: the script takes the last one. `more` is for the environment. */
export async function openStage(more: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "vault-bench-"));
  const note = (label: string) => ({ kind: "generic/offline", label, content: "text" }) as const;
  const sandbox = await startSandbox({
    now: () => Date.now(),
    policy: { rate: 1_000_000 },
    seed: ["one", "two", "three"].map(note),
  });
  const { application, baseUrl, vaults } = sandbox;
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    VAULTSVC_BASE_URL: baseUrl,
    VAULTSVC_APP_UUID: application.uuid,
    VAULTSVC_API_KEY: application.apiKey,
    APP_UUID: application.uuid,
    API_KEY: application.apiKey,
    ...more,
  };
  const pairOf = ({ uuid, credentials }: (typeof vaults)[number]): string => {
    const file = join(folder, `${uuid}.json`);
    writeFileSync(file, JSON.stringify(credentials));
    return file;
  };
  const timed = async ([command = "", ...args]: readonly string[]): Promise<number> => {
    const started = performance.now();
    const child = spawn(command, args, { env, stdio: ["ignore", nowhere, "inherit"] });
    const code = await new Promise((resolve) => child.once("exit", resolve));
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${String(code)}`);
    return performance.now() - started;
  };
  const last = vaults.at(-1);
  const hasTools = ["curl", "jq"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
  return {
    folder,
    vaults,
    timed,
    script:
      last !== undefined && hasTools
        ? ["/bin/sh", script, baseUrl, last.kind, last.uuid, pairOf(last)]
        : undefined,
    async begin(vault, ...flags) {
      const given = ["--kind", vault.kind, "--credentials", `@${pairOf(vault)}`];
      await timed([process.execPath, bin, "get", vault.uuid, ...given, ...flags]);
    },
    async close() {
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The median of each case in milliseconds. All take turns, so that whatever else the machine does hits them alike. */
export async function medians(
  stage: Stage,
  cases: Readonly<Record<string, readonly string[]>>,
  runs: number,
): Promise<Map<string, number>> {
  const times = new Map(Object.keys(cases).map((name) => [name, [] as number[]]));
  for (let run = 0; run < runs; run += 1)
    for (const [name, command] of Object.entries(cases))
      times.get(name)?.push(await stage.timed(command));
  return new Map(
    [...times].map(([name, taken]) => [
      name,
      taken.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? Number.NaN,
    ]),
  );
}
