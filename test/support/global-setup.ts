import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isCampaign } from "./campaign.ts";

const root = join(import.meta.dirname, "..", "..");

/**
 * Before all tests: the program is built, and there is a folder for its compiled code; a campaign collects what its parts have tried.
 * Returns what removes that again, and prints the sums of a campaign.
 */
export async function setup(): Promise<() => void> {
  await buildOnce();
  const compiled = mkdtempSync(join(tmpdir(), "vault-compiled-"));
  process.env["TEST_COMPILED"] = compiled;
  const tally = isCampaign ? join(compiled, "tally.ndjson") : undefined;
  if (tally !== undefined) {
    writeFileSync(tally, "");
    process.env["TORTURE_TALLY"] = tally;
  }
  return () => {
    if (tally !== undefined) printSums(tally);
    rmSync(compiled, { recursive: true, force: true });
  };
}

/**
 * Builds the program, if anything that it is built from is newer than what is there. The build is swapped in whole, so that
 * another run of tests in this tree does not meet half of one. A build that fails leaves none: the tests of the program fail
 * then, the others need it not.
 */
async function buildOnce(): Promise<void> {
  const inputs = ["package.json", "build.ts", ...filesUnder("packaging"), ...filesUnder("src")].map(
    changedAt,
  );
  if (Math.max(...inputs) < changedAt("dist/vault.cjs")) return;
  try {
    await (await import("../../build.ts")).build();
  } catch (error) {
    rmSync(join(root, "dist"), { recursive: true, force: true });
    process.stderr.write(`${String(error)}\nthe build failed: the program cannot be tested\n`);
  }
}

function filesUnder(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}

function changedAt(path: string): number {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** What the parts of a campaign have told of with `tried`. */
function printSums(file: string): void {
  const sums = new Map<string, number>();
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const { what, count } = JSON.parse(line) as { what: string; count: number };
    sums.set(what, (sums.get(what) ?? 0) + count);
  }
  const lines = [...sums]
    .sort()
    .map(([what, count]) => `${count.toLocaleString("en").padStart(12)}  ${what}\n`);
  process.stdout.write(`\nTried, and nothing was lost, where no test failed:\n${lines.join("")}`);
}
