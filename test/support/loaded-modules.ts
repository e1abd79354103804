import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { RunOptions, RunResult } from "./run-vault.ts";
import { runVault, vaultBin } from "./run-vault.ts";
import { tempDir } from "./temp-dir.ts";

export interface Loaded {
  result: RunResult;
  /** The chunks that were loaded. */
  files: string[];
  /** Packages of which any file was loaded, from whichever chunk. */
  packages: string[];
  /** Names of our own source files in the chunks that were loaded. */
  sources: string[];
  /** Node's own public modules, as `node:sqlite`. */
  builtins: string[];
}

type Chunks = Record<string, { packages: string[]; sources: string[] }>;

const hook = join(import.meta.dirname, "list-loaded.cjs");

/** Runs the built program and says what it loaded on the way, by the runtime's own account. */
export async function loadedBy(args: readonly string[], options: RunOptions = {}): Promise<Loaded> {
  const list = join(tempDir("loaded"), "list.json");
  const env = { ...options.env, NODE_OPTIONS: `--require=${hook}`, LIST_LOADED: list };
  const result = await runVault(args, { ...options, env });
  const { files, builtins } = JSON.parse(readFileSync(list, "utf8")) as {
    files: string[];
    builtins: string[];
  };
  const dist = join(dirname(vaultBin), "..", "dist");
  const chunks = JSON.parse(readFileSync(join(dist, "chunks.json"), "utf8")) as Chunks;
  const loaded = files.filter((file) => dirname(file) === dist).map((file) => basename(file));
  const used = loaded.map((file) => chunks[file]);
  return {
    result,
    files: loaded,
    packages: [...new Set(used.flatMap((chunk) => chunk?.packages ?? []))].sort(),
    sources: [...new Set(used.flatMap((chunk) => chunk?.sources ?? []))].sort(),
    builtins: builtins.map((name) => `node:${name}`),
  };
}
