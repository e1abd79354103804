import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");
const compiler = join(root, "node_modules", "assemblyscript", "bin", "asc.js");

/** Enables vectors of 16 bytes, without memory management, which is not needed, and with 40 pages of memory at first. */
const options = [
  "-O3",
  "--noAssert",
  "--runtime",
  "stub",
  "--enable",
  "simd",
  "--initialMemory",
  "40",
];

/**
 * Compiles the folder scanner, and returns the contents of src/audit/read/scan/scanner-module.ts.
 * @throws Error with the messages of the compiler
 */
export function compileScanner(): string {
  const folder = mkdtempSync(join(tmpdir(), "vault-scanner-"));
  try {
    const outFile = join(folder, "scanner.wasm");
    const { status, stderr } = spawnSync(
      process.execPath,
      [compiler, join("scanner", "scanner.ts"), "--outFile", outFile, ...options],
      {
        cwd: root,
        encoding: "utf8",
      },
    );
    if (status !== 0) throw new Error(`scanner: ${stderr}`);
    const text = readFileSync(outFile).toString("base64");
    return `/** What the folder scanner is compiled to: \`npm run scanner\`. */\nexport const scannerModule =\n  "${text}";\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
