import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Truth } from "../support/audit-log/facts.ts";
import { writeLog } from "../support/audit-log/audit-log.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

/**
 * What replaying a large log costs, as ratios within one run: against `cat`, DuckDB, which is asked the core of the same question, and
 * jq and mlr, which are not: mlr counts the items of each vault by outcome, jq only writes both out. One that is missing is left out;
 * DuckDB's bindings are fetched. Before that all verdicts are compared with the truth of the log. And peak memory for logs of different
 * length with as many vaults.
 */
const millions = Number(process.argv[2] ?? 2);
const runs = 5;
const vaults = 20_000;
const bin = join(import.meta.dirname, "..", "..", "bin", "vault.js");
const folder = mkdtempSync(join(tmpdir(), "vault-bench-"));
const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function log(items: number): Promise<{ file: string; truth: Truth }> {
  const file = join(folder, `${items}.ndjson`);
  return { file, truth: await writeLog(file, { items, vaults, dialect: "lean" }) };
}

/** A log as exports are: application, address and reference in every item, half of the vaults left open. */
async function fullLog(items: number): Promise<{ file: string; truth: Truth }> {
  const file = join(folder, "full.ndjson");
  return { file, truth: await writeLog(file, { items, vaults, dialect: "full", open: 0.5 }) };
}

function run(command: string, args: string[], input = ""): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    env,
    input,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
  });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")} ended with ${String(status)}: ${stderr}`);
  return stdout;
}

/** Milliseconds from start to exit. The output is a few lines, or a small table. */
function timed(command: string, args: string[]): number {
  const started = performance.now();
  run(command, args);
  return performance.now() - started;
}

function checkVerdicts(file: string, truth: Truth): void {
  const lines = run(process.execPath, [bin, "audit-replay", file, "-o", "ndjson"])
    .trimEnd()
    .split("\n")
    .slice(0, -1);
  const wrong = lines
    .map((line) => JSON.parse(line) as VaultReport)
    .filter(({ uuid, verdict, cause, lockedAt }) => {
      const known = truth.vaults.get(uuid);
      const isLocked = known?.verdict === "locked";
      const lock =
        !isLocked ||
        (cause?.rule === known.rule &&
          cause?.item?.line === known.causeItem?.line &&
          Date.parse(lockedAt ?? "") === known.lockedAt);
      return known?.verdict !== verdict || !lock;
    });
  if (wrong.length > 0 || lines.length !== truth.vaults.size)
    throw new Error(`${wrong.length} verdicts are wrong: ${JSON.stringify(wrong[0])}`);
  say(
    `all ${lines.length} verdicts are right, each lock with its time, rule and item (${truth.verdicts.locked} locked)`,
  );
}

const has = (command: string): boolean => spawnSync(command, ["--version"], { env }).status === 0;

/**
 * Consecutive failures and starts per vault, by gaps and islands: three failures in a row, or five starts with nothing else between them
 * but failures. A sum over what ends such a run numbers the runs of each vault. It is no verdict: every failure counts, whatever its reason.
 */
const question = `
with items as (
  select vaultUuid vault, row_number() over () line, action, outcome = 'FAILURE' failed
  from read_json(getvariable('file'), format = 'newline_delimited', columns = {action: 'VARCHAR', outcome: 'VARCHAR', vaultUuid: 'VARCHAR'})
  where vaultUuid is not null
), runs as (
  select vault, failed::int isFailure, (not failed and action in ('READ_VAULT', 'UPDATE_VAULT'))::int isStart,
    sum((not failed)::int) over byVault failures,
    sum((not failed and action not in ('READ_VAULT', 'UPDATE_VAULT'))::int) over byVault starts
  from items window byVault as (partition by vault order by line rows unbounded preceding)
)
select vault, 'failed-attempts' as lockRule from runs group by vault, failures having sum(isFailure) >= 3
union
select vault, 'unacknowledged-starts' from runs group by vault, starts having sum(isStart) >= 5`;

/** A program that asks DuckDB. */
function duckdb(): string {
  // With this user's settings: the registry is one of them.
  const { status } = spawnSync("npm", [
    "install",
    "--silent",
    "--no-audit",
    "--no-fund",
    "--prefix",
    folder,
    "@duckdb/node-api@1.5.6-r.1",
  ]);
  if (status !== 0) throw new Error("DuckDB's bindings cannot be installed");
  const script = join(folder, "ask.mjs");
  writeFileSync(
    script,
    `import { DuckDBInstance } from "@duckdb/node-api";
const connection = await (await DuckDBInstance.create(":memory:")).connect();
await connection.run("set variable file = '" + process.argv[2] + "'");
const found = await connection.runAndReadAll(${JSON.stringify(question)});
console.log(found.currentRowCount);\n`,
  );
  return script;
}

const median = (all: number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

function compare(file: string): void {
  const script = duckdb();
  const others: [string, number, string, string[]][] = [
    ["cat", runs, "sh", ["-c", 'cat "$1" > /dev/null', "sh", file]],
    ["DuckDB", runs, process.execPath, [script, file]],
    ["jq", 1, "jq", ["-r", "[.vaultUuid, .outcome] | @tsv", file]],
    [
      "mlr",
      1,
      "mlr",
      ["--ijsonl", "--ojson", "count", "-g", "vaultUuid,outcome", "then", "count", file],
    ],
  ];
  const own: number[] = [];
  const times = new Map<string, number[]>(others.map(([name]) => [name, []]));
  for (let turn = 0; turn < runs; turn += 1) {
    own.push(timed(process.execPath, [bin, "audit-replay", file]));
    for (const [name, most, command, args] of others) {
      if (turn < most && (command === process.execPath || has(command)))
        times.get(name)?.push(timed(command, args));
    }
  }
  say(`vault audit-replay  ${(median(own) / 1000).toFixed(2)} s`);
  for (const [name, all] of times) {
    if (all.length > 0)
      say(
        `${name.padEnd(18)}  ${(median(all) / 1000).toFixed(2)} s: ${(median(all) / median(own)).toFixed(2)} times as long`,
      );
  }
}

function peakMemory(file: string): string {
  const report = join(folder, "time.txt");
  if (!existsSync("/usr/bin/time")) return "unknown (no /usr/bin/time)";
  run("/usr/bin/time", ["-v", "-o", report, process.execPath, bin, "audit-replay", file]);
  const kilobytes = Number(
    /Maximum resident set size \(kbytes\): (\d+)/.exec(readFileSync(report, "utf8"))?.[1],
  );
  return `${(kilobytes / 1024).toFixed(0)} MB`;
}

try {
  const { file, truth } = await log(millions * 1_000_000);
  checkVerdicts(file, truth);
  compare(file);
  const full = await fullLog(millions * 1_000_000);
  checkVerdicts(full.file, full.truth);
  const times = Array.from({ length: runs }, () =>
    timed(process.execPath, [bin, "audit-replay", full.file]),
  );
  say(
    `with application and reference, half of the vaults open: ${(median(times) / 1000).toFixed(2)} s, ${peakMemory(full.file)}`,
  );
  rmSync(full.file);
  for (const items of [0.25, 1, 2].map((part) => part * millions * 1_000_000)) {
    const one = items === millions * 1_000_000 ? file : (await log(items)).file;
    say(
      `peak memory, ${(items / 1_000_000).toFixed(2)} million items, ${vaults} vaults: ${peakMemory(one)}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
