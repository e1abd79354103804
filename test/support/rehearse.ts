import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { runVault } from "./run-vault.ts";

/** The demo note of every sandbox. */
export const note = "e2c7d9f4-1c3b-4f0a-9d8e-7b6a5c4d3e21";

/** Whether the scripts of test/fixtures/curl can run: a new machine may lack curl and jq. */
export const hasCurl = ["curl", "jq"].every(
  (program) => spawnSync(program, ["--version"]).status === 0,
);

interface Rehearsed {
  scenarios: {
    call: { n: number; method: string; endpoint: string };
    failure: string;
    outcome: string;
    check: number;
  }[];
  warnings: string[];
}

/** Runs `vault sandbox rehearse --json`. */
export async function rehearse(
  ...args: string[]
): Promise<{ code: number | null; stderr: string; document: Rehearsed }> {
  const { code, stdout, stderr } = await runVault(["sandbox", "rehearse", "--json", ...args], {
    timeoutMs: 150_000,
  });
  return {
    code,
    stderr,
    document: stdout === "" ? { scenarios: [], warnings: [] } : (JSON.parse(stdout) as Rehearsed),
  };
}

/** Rehearses a script of test/fixtures/curl, which reads the note over HTTP with its credentials in a file. */
export async function rehearseScript(name: string): ReturnType<typeof rehearse> {
  const script = `${join(import.meta.dirname, "..", "fixtures", "curl", name)} ${note}`;
  return await rehearse(
    "--setup",
    `vault export ${note} --field credentials > credentials.json`,
    "--check",
    script,
    "--",
    "sh",
    "-c",
    script,
  );
}
