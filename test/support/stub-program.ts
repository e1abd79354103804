import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "./temp-dir.ts";

const root = join(import.meta.dirname, "..", "..");

/**
 * The launcher in a folder of its own, with the real host and a stub for the program; the pinned runtime beside it, or not.
 * Returns the path of its bin/vault.js.
 */
export function stubProgram(options: { pinned: boolean }): string {
  const folder = tempDir("stub");
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
  mkdirSync(join(folder, "dist"));
  const main = join(root, "test", "bin", "fixtures", "stub-main.cjs");
  const host = join(root, "src", "host.ts");
  const program = `module.exports = { ...require(${JSON.stringify(main)}), ...require(${JSON.stringify(host)}) };\n`;
  writeFileSync(join(folder, "dist", "vault.cjs"), program);
  if (options.pinned) {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(root, "node_modules", "node"), join(folder, "node_modules", "node"));
  }
  return join(folder, "bin", "vault.js");
}
