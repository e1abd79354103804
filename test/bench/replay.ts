import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeLog, type Truth } from "../support/audit-log.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

/**
 * What replaying a large log costs, by turns within one run: the same items as NDJSON, CSV and a JSON array, and NDJSON with more
 * columns; beside it `cat`, DuckDB, which is asked the core of the same question, and jq, which only writes two columns out. With
 * BASELINE=…/bin/vault.js, another build of the program, too. A program that is missing is left out; DuckDB's bindings are fetched.
 * Before that the verdicts are compared with the truth of the log.
 */
const items = Number(process.argv[2] ?? 2) * 1_000_000;
const turns = Number(process.argv[3] ?? 5);
const vaults = 20_000;
const bin = join(import.meta.dirname, "..", "..", "bin", "vault.js");
const baseline = process.env["BASELINE"];
const folder = mkdtempSync(join(tmpdir(), "vault-bench-"));
const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const forms = {
  NDJSON: { form: "ndjson", columns: "lean" },
  "NDJSON, more columns": { form: "ndjson", columns: "full", open: 0.5 },
  CSV: { form: "csv", columns: "lean" },
  "JSON array": { form: "json", columns: "lean" },
} as const;

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
  });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")} ended with ${String(status)}: ${stderr}`);
  return stdout;
}

function checkVerdicts(file: string, truth: Truth): void {
  const lines = run(process.execPath, [bin, "audit-replay", file, "-o", "ndjson"])
    .trimEnd()
    .split("\n")
    .slice(0, -1);
  const wrong = lines
    .map((line) => JSON.parse(line) as VaultReport)
    .filter(({ uuid, verdict, cause, lockedAt = new Date(0).toISOString() }) => {
      const known = truth.vaults.get(uuid);
      const isSame = verdict === known?.verdict && cause?.rule === known.rule;
      return !isSame || Date.parse(lockedAt) !== (known.lockedAt ?? 0);
    });
  if (wrong.length > 0 || lines.length !== truth.vaults.size)
    throw new Error(`${file}: ${wrong.length} verdicts are wrong: ${JSON.stringify(wrong[0])}`);
}

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

/** A program that asks DuckDB, if its bindings can be installed. */
function duckdb(): string[] {
  const install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", folder];
  // With this user's settings: the registry is one of them.
  if (spawnSync("npm", [...install, "@duckdb/node-api@1.5.6-r.1"]).status !== 0) return [];
  const script = join(folder, "ask.mjs");
  writeFileSync(
    script,
    `import { DuckDBInstance } from "@duckdb/node-api";
const connection = await (await DuckDBInstance.create(":memory:")).connect();
await connection.run("set variable file = '" + process.argv[2] + "'");
const found = await connection.runAndReadAll(${JSON.stringify(question)});
console.log(found.currentRowCount);\n`,
  );
  return [process.execPath, script];
}

interface Contender {
  name: string;
  command: readonly string[];
  /** Times in seconds, one a turn, and the most memory of all. */
  times: number[];
  megabytes: number;
  isSlow?: true;
}

/** From start to exit. The output is a few lines, or a small table. */
function measure(contender: Contender): void {
  const report = join(folder, "time.txt");
  const isTold = existsSync("/usr/bin/time");
  const [command = "", ...args] = [
    ...(isTold ? ["/usr/bin/time", "-f", "%M", "-o", report] : []),
    ...contender.command,
  ];
  const started = performance.now();
  run(command, args);
  contender.times.push((performance.now() - started) / 1000);
  const megabytes = isTold ? Number(readFileSync(report, "utf8")) / 1024 : Number.NaN;
  contender.megabytes = Math.max(contender.megabytes, megabytes);
}

const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

/** How many times as long as another, turn by turn. */
const ratio = (one: Contender, other: Contender): string =>
  median(one.times.map((time, turn) => time / (other.times[turn] ?? Number.NaN))).toFixed(2);

const has = (command: string): boolean => spawnSync(command, ["--version"], { env }).status === 0;
const contender = (name: string, ...command: string[]): Contender => ({
  name,
  command,
  times: [],
  megabytes: 0,
});

try {
  const own: Contender[] = [];
  const before: Contender[] = [];
  const others: Contender[] = [];
  for (const [name, options] of Object.entries(forms)) {
    const file = join(folder, `${own.length}.${options.form}`);
    const truth = await writeLog(file, { items, vaults, ...options });
    checkVerdicts(file, truth);
    own.push(contender(name, process.execPath, bin, "audit-replay", file));
    if (baseline !== undefined)
      before.push(contender(`${name}: baseline`, process.execPath, baseline, "audit-replay", file));
    if (others.length > 0) continue;
    const asked = duckdb();
    others.push(contender("NDJSON: cat", "sh", "-c", 'cat "$1" > /dev/null', "sh", file));
    if (asked.length > 0) others.push(contender("NDJSON: DuckDB", ...asked, file));
    if (has("jq"))
      others.push({
        ...contender("NDJSON: jq", "jq", "-r", "[.vaultUuid, .outcome] | @tsv", file),
        isSlow: true,
      });
  }
  say(`all verdicts are right, each lock with its time and rule: ${items} items, ${vaults} vaults`);
  for (let turn = 0; turn < turns; turn += 1) {
    const all = [...own.flatMap((one, at) => [one, ...before.slice(at, at + 1)]), ...others];
    for (const one of turn % 2 === 0 ? all : all.toReversed())
      if (one.isSlow === undefined || turn === 0) measure(one);
  }
  const [first] = own as [Contender];
  const line = (one: Contender, ...more: string[]): void =>
    say(
      [
        one.name.padEnd(32),
        `${median(one.times).toFixed(2)} s`.padStart(8),
        `${one.megabytes.toFixed(0)} MB`.padStart(8),
        `  ${[`${ratio(one, first)} of NDJSON`, ...more].join(", ")}`,
      ].join(""),
    );
  own.forEach((one, at) => {
    const other = before[at];
    line(one, ...(other === undefined ? [] : [`${ratio(one, other)} of the baseline`]));
  });
  for (const one of [...before, ...others]) line(one);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
