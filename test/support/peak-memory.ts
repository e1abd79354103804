import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "./machine.ts";
import { tempDir } from "./temp-dir.ts";

/** What makes a program that is run with `env` tell how much memory it had. */
interface MemoryReport {
  env: Record<string, string>;
  /** The most that it had, once it has ended. */
  kilobytes(): number;
}

export function memoryReport(): MemoryReport {
  const file = join(tempDir("memory"), "kilobytes");
  return {
    env: {
      NODE_OPTIONS: `--require=${join(import.meta.dirname, "peak-memory.cjs")}`,
      MEMORY_FILE: file,
    },
    kilobytes: () => Number(readFileSync(file, "utf8")),
  };
}

/**
 * The most memory that a run of `vault` had, in kilobytes.
 * @throws where it fails
 */
export async function memoryOf(machine: Machine, ...args: string[]): Promise<number> {
  const report = memoryReport();
  const result = await machine.vaultWith({ env: report.env }, ...args);
  if (result.code !== 0)
    throw new Error(`vault ${args.join(" ")}: exit ${result.code ?? ""}: ${result.stderr}`);
  return report.kilobytes();
}
