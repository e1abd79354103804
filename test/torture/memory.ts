import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../support/machine.ts";
import { tempDir } from "../support/temp-dir.ts";

const preload = join(import.meta.dirname, "report-memory.cjs");

/** The most memory that a run of the program had, in kilobytes. Raises where it fails. */
export async function memoryOf(machine: Machine, ...args: string[]): Promise<number> {
  const file = join(tempDir("memory"), "kilobytes");
  const result = await machine.vaultWith({ env: { NODE_OPTIONS: `--require=${preload}`, MEMORY_FILE: file } }, ...args);
  if (result.code !== 0) throw new Error(`vault ${args.join(" ")}: exit ${result.code ?? ""}: ${result.stderr}`);
  return Number(readFileSync(file, "utf8"));
}
