import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { cleanEnv, vaultCommand } from "./run-vault.ts";

/**
 * The shell's own way to do many things at once: `xargs -P16`, with a process of the program for each word, in place of `{}`. They are
 * started by another process than the test's, in which the emulated service has to respond.
 */
export async function xargs(
  words: readonly string[],
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number | null; stderr: string }> {
  // For writing only: "ignore" would be the same to the program as a closed standard output.
  const nowhere = openSync("/dev/null", "w");
  const command = ["-P16", "-I{}", ...vaultCommand, ...args];
  const child = spawn("xargs", command, {
    env: cleanEnv({ env }),
    stdio: ["pipe", nowhere, "pipe"],
  });
  closeSync(nowhere);
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  child.stdin?.end(words.join("\n"));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stderr };
}
