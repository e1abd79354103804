import { join } from "node:path";
import { writeLog } from "../support/audit-log/audit-log.ts";
import { bin, medians, openStage } from "./in-turns.ts";

/**
 * What a command takes that does little, in bare starts of the same Node, and a `get` over loopback also against the same exchange by
 * a shell script with curl and jq (left out where one is missing). Medians of as many runs as the first argument says, beside their
 * budgets. Ends with 1 if one takes more than twice its budget: less than that may be the machine's fault.
 */
const runs = Number(process.argv[2] ?? 40);
const stage = await openStage();
const [vault] = stage.vaults;
if (vault === undefined) throw new Error("the sandbox has no vaults");
await stage.begin(vault);
const log = join(stage.folder, "audit.ndjson");
await writeLog(log, { items: 30, vaults: 2, dialect: "lean" });

const bare = "node -e 0";
const get = "vault get";
const own = (...args: string[]): string[] => [process.execPath, bin, ...args];
const times = await medians(
  stage,
  {
    [bare]: [process.execPath, "-e", "0"],
    "vault --version": own("--version"),
    "vault --help": own("--help"),
    completion: own("__complete", "get", "--kind", ""),
    "vault status": own("status", "--json"),
    [get]: own("get", vault.uuid, "--json"),
    "vault audit-replay": own("audit-replay", log, "--json"),
    ...(stage.script && { script: stage.script }),
  },
  runs,
);
await stage.close();

const budgets: readonly (readonly [name: string, against: string, budget: number])[] = [
  ["vault --version", bare, 1.15],
  ["vault --help", bare, 1.35],
  ["completion", bare, 1.35],
  ["vault status", bare, 1.7],
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
