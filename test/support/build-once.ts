import { spawnSync } from "node:child_process";
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

/**
 * Before all tests: builds the program, if anything that it is built from is newer than what is there. The build is swapped
 * in whole, so that another run of tests in this tree does not meet half of one. A build that fails leaves none: the tests
 * of the program fail then, the others need it not.
 */
export function setup(): void {
  const inputs = ["package.json", "rolldown.config.ts", ...filesUnder("src")].map(changedAt);
  if (Math.max(...inputs) < changedAt("dist/vault.cjs")) return;
  const fresh = join(root, "node_modules", ".cache", `dist-${process.pid}`);
  const rolldown = join(root, "node_modules", "rolldown", "bin", "cli.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [rolldown, "-c", "-d", fresh], { cwd: root, encoding: "utf8" });
  rmSync(join(root, "dist"), { recursive: true, force: true });
  if (status === 0) renameSync(fresh, join(root, "dist"));
  else process.stderr.write(`${stdout}${stderr}the build failed: the program cannot be tested\n`);
}

function filesUnder(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}

function changedAt(path: string): number {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
