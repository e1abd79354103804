import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { stride } from "./campaign.ts";
import type { Machine } from "./machine.ts";
import type { RunningVault, RunOptions, RunResult } from "./run-vault.ts";
import { tempDir } from "./cleanup.ts";

/** What numbers the steps of a program, for NODE_OPTIONS. */
export const killHook = join(import.meta.dirname, "kill-at.cjs");

export interface KilledRun {
  result: RunResult;
  /** False once the run has ended by itself. */
  killed: boolean;
  /** What it did, the step before which it was killed included; the last one of a whole run is its exit. */
  steps: string[];
}

/**
 * Runs the program and kills it before the n-th of the steps that kill-at.cjs counts, which is after the one before it; or before the
 * first of one name after one of another (`NAME>NAME`).
 */
export async function runKilledAt(
  n: number | string,
  machine: Machine,
  args: readonly string[],
  options: RunOptions = {},
): Promise<KilledRun> {
  const log = join(tempDir("steps"), "steps");
  const env = {
    ...options.env,
    NODE_OPTIONS: `--require=${killHook}`,
    KILL_AT: String(n),
    KILL_LOG: log,
  };
  const result = await machine.start({ ...options, env }, ...args).exit;
  const steps = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
  return { result, killed: result.signal === "SIGKILL", steps };
}

interface Stopped {
  run: RunningVault;
  /** The last one is that before which it was stopped. */
  steps: string[];
}

/** Runs the program until it stops itself before the n-th of its steps, or has ended by then. */
export async function runStoppedAt(
  n: number,
  machine: Machine,
  args: readonly string[],
): Promise<Stopped> {
  const log = join(tempDir("steps"), "steps");
  const env = {
    NODE_OPTIONS: `--require=${killHook}`,
    KILL_AT: String(n),
    KILL_SIGNAL: "SIGSTOP",
    KILL_LOG: log,
  };
  const run = machine.start({ env, timeoutMs: 120_000 }, ...args);
  const isWritten = (): boolean => existsSync(log) && readFileSync(log, "utf8") !== "";
  await expect.poll(isWritten, { interval: 5, timeout: 60_000 }).toBe(true);
  return { run, steps: readFileSync(log, "utf8").split("\n") };
}

/**
 * Calls `run` with n = `first`, and then each `stride`-th, until its program ends by itself. Returns all steps of the whole run; a
 * failure says between which of them the program was killed.
 */
export async function atEveryStep(
  run: (n: number) => Promise<KilledRun & { check(): Promise<void> }>,
  first = 1,
): Promise<string[]> {
  for (let n = first; n < 200 + stride; n += stride) {
    const { killed, steps, result, check } = await run(n);
    try {
      await check();
    } catch (error) {
      const where = killed
        ? `killed after step ${n - 1}, ${steps.at(-2)}, before ${steps.at(-1)}`
        : "not killed";
      throw new Error(`${where}: ${(error as Error).message}\n${JSON.stringify(result)}`, {
        cause: error,
      });
    }
    if (!killed) return steps;
  }
  throw new Error("it does not end by itself");
}

/** Every kind of step that an exchange consists of was met, so that the loop has not been looking at nothing. */
export function expectSteps(steps: readonly string[], wanted: readonly string[]): void {
  expect(steps).toEqual(expect.arrayContaining([...wanted]));
}
