// npm run bench:startup and bench:exchange: what commands take, in turns with what they are compared with.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSandbox, type RunningSandbox } from "../../src/sandbox/server.ts";
import { writeLog } from "../support/audit-log.ts";
import { endFile } from "../support/cleanup.ts";
import { secure, startServer } from "../support/postgres.ts";
import { hasCurl } from "../support/run-vault.ts";

const bin = join(import.meta.dirname, "..", "..", "bin", "vault.js");
const script = join(import.meta.dirname, "exchange.sh");
const runs = Number(process.argv[3] ?? 40);

/** A sandbox, a home of its own, and what is measured there. */
interface Stage {
  folder: string;
  vaults: RunningSandbox["vaults"];
  /** Arguments of the same exchange by a shell script with curl and jq; undefined where one is missing. */
  script: readonly string[] | undefined;
  /** Milliseconds from start to exit; the output goes into a pipe. */
  timed(command: readonly string[]): Promise<number>;
  /** Reads a vault for the first time, with its credentials. */
  begin(vault: RunningSandbox["vaults"][number], ...flags: string[]): Promise<void>;
  close(): Promise<void>;
}

/** Opens a sandbox without a rate limit, with three vaults: the script takes the last one. `more` is for the environment. */
async function openStage(more: Readonly<Record<string, string>> = {}): Promise<Stage> {
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
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    child.stdout?.resume();
    const code = await new Promise((resolve) => child.once("exit", resolve));
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${String(code)}`);
    return performance.now() - started;
  };
  const last = vaults.at(-1);
  return {
    folder,
    vaults,
    timed,
    script:
      last !== undefined && hasCurl()
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
async function medians(
  stage: Stage,
  cases: Readonly<Record<string, readonly string[]>>,
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

/**
 * What a command takes that does little, in bare starts of the same Node, and a `get` over loopback also against the same exchange by
 * a shell script with curl and jq (left out where one is missing). Medians of as many runs as the second argument says, beside their
 * budgets. Ends with 1 if one takes more than twice its budget: less than that may be the machine's fault.
 */
async function startup(): Promise<void> {
  const stage = await openStage();
  const [vault] = stage.vaults;
  if (vault === undefined) throw new Error("the sandbox has no vaults");
  await stage.begin(vault);
  const log = join(stage.folder, "audit.ndjson");
  await writeLog(log, { items: 30, vaults: 2, columns: "lean" });

  const bare = "node -e 0";
  const get = "vault get";
  const own = (...args: string[]): string[] => [process.execPath, bin, ...args];
  const times = await medians(stage, {
    [bare]: [process.execPath, "-e", "0"],
    "vault --version": own("--version"),
    "vault --help": own("--help"),
    completion: own("__complete", "get", "--kind", ""),
    "vault status": own("status", "--json"),
    [get]: own("get", vault.uuid, "--json"),
    "vault audit-replay": own("audit-replay", log, "--json"),
    ...(stage.script && { script: stage.script }),
  });
  await stage.close();

  const budgets: readonly (readonly [name: string, against: string, budget: number])[] = [
    ["vault --version", bare, 1.1],
    ["vault --help", bare, 1.3],
    ["completion", bare, 1.3],
    ["vault status", bare, 1.6],
    [get, bare, 3],
    [get, "script", 0.9],
    ["vault audit-replay", bare, 2],
  ];
  const rows = budgets.flatMap(([name, against, budget]) => {
    const [time, other] = [times.get(name), times.get(against)];
    if (time === undefined || other === undefined) return [];
    const unit = against === bare ? "bare starts" : "of the script";
    return {
      name,
      ms: time.toFixed(1),
      ratio: `${(time / other).toFixed(2)} ${unit}`,
      budget,
      isFar: time / other > 2 * budget,
    };
  });
  const line = (...cells: unknown[]): string =>
    cells
      .map((cell, n) => String(cell).padEnd([20, 8, 20, 8][n] ?? 0))
      .join("")
      .trimEnd();
  const table = rows.map(({ name, ms, ratio, budget, isFar }) =>
    line(name, ms, ratio, budget, isFar ? "more than twice its budget" : ""),
  );
  process.stdout.write(
    `${[line("", "ms", "", "budget"), line(bare, times.get(bare)?.toFixed(1)), ...table].join("\n")}\n`,
  );
  process.exitCode = rows.some(({ isFar }) => isFar) ? 1 : 0;
}

/**
 * What one exchange over loopback costs, as ratios of medians within one run: with a shared state (PostgreSQL, a proven password, no
 * TLS) against one on this machine, and each against the same exchange by a shell script with curl and jq (left out where one is
 * missing).
 */
async function exchange(): Promise<void> {
  const server = await startServer();
  await secure(server);
  // A password belongs into the environment.
  const stage = await openStage({ VAULTSVC_STATE: server.location("bench") });
  const [one, two] = stage.vaults;
  if (one === undefined || two === undefined) throw new Error("the sandbox has no vaults");
  const here = ["--state", join(stage.folder, "state")];
  await stage.timed([process.execPath, bin, "state", "init"]);
  await stage.begin(one, ...here);
  await stage.begin(two);

  const [local, team] = ["vault get", "vault get (shared)"];
  const cases = {
    [local]: [process.execPath, bin, "get", one.uuid, "--json", ...here],
    [team]: [process.execPath, bin, "get", two.uuid, "--json"],
    ...(stage.script && { "curl and jq": stage.script }),
  };
  const times = await medians(stage, cases);
  const lines = [...times].map(([name, time]) => {
    const against = [local, "curl and jq"].flatMap((other) => {
      const base = times.get(other);
      return base === undefined || other === name ? [] : `${(time / base).toFixed(2)} of ${other}`;
    });
    return `${name.padEnd(20)} ${time.toFixed(1).padStart(7)} ms  ${against.join(", ")}`;
  });
  process.stdout.write(`${lines.join("\n")}\n`);
  await endFile();
  await stage.close();
}

await (process.argv[2] === "exchange" ? exchange() : startup());
