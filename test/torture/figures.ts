import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Around the whole campaign: collects what the parts tell of (tally.ts) and prints the sums. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "vault-tally-"));
  const file = join(folder, "tally.ndjson");
  writeFileSync(file, "");
  process.env["TORTURE_TALLY"] = file;
  return () => {
    const sums = new Map<string, number>();
    for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const { what, count } = JSON.parse(line) as { what: string; count: number };
      sums.set(what, (sums.get(what) ?? 0) + count);
    }
    rmSync(folder, { recursive: true });
    const lines = [...sums]
      .sort()
      .map(([what, count]) => `${count.toLocaleString("en").padStart(12)}  ${what}\n`);
    process.stdout.write(`\nTried, and nothing was lost, where no test failed:\n${lines.join("")}`);
  };
}
