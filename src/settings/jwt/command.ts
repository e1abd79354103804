import { spawn } from "node:child_process";
import { VaultError } from "../../errors.ts";
import { sayLines } from "../child-output.ts";

interface TokenCommand {
  command: string;
  /** As errors name it. */
  source: string;
  timeoutMs: number;
  /** Without this program's secrets. */
  env: Record<string, string>;
  /** Kills a process and all that it started. */
  endGroup: (pid: number) => void;
  /** Called with all that the command printed, token or not, before `say`. */
  learn: (output: string) => void;
  /** What the command printed on stderr, once it has ended: what it prints there may hold the token. */
  say: (lines: string) => void;
}

/** No token is as long: whatever prints more is something else. Of stderr, the last lines are kept. */
const outputLimit = 64 * 1024;

/**
 * Runs `command` by /bin/sh, without input, and resolves to what it prints, trimmed. The command and what it started are ended
 * then.
 * @throws `invalid-input` if it fails, prints nothing or too much, or does not finish in time; rejects with the signal's reason
 * when aborted
 */
export async function runTokenCommand(options: TokenCommand, signal: AbortSignal): Promise<string> {
  const { source, timeoutMs } = options;
  signal.throwIfAborted();
  const refuse = (what: string): VaultError =>
    new VaultError("invalid-input", `${source}: the command ${what}`, {
      hint: "run it in a shell: it must print the token, and nothing else, on standard output; or give the token by --jwt",
    });
  const child = spawn("/bin/sh", ["-c", options.command], { stdio: ["ignore", "pipe", "pipe"], env: options.env, detached: true });
  let output = "";
  let talk = "";
  let failure: Error | undefined;
  const end = (why: Error): void => {
    failure ??= why;
    if (child.pid !== undefined) options.endGroup(child.pid);
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.length > outputLimit) end(refuse(`printed more than ${outputLimit} characters and was ended`));
  });
  sayLines(child.stderr, (lines) => {
    talk += lines;
    if (talk.length > outputLimit) talk = talk.slice(talk.indexOf("\n", talk.length - outputLimit - 1) + 1);
  });
  const timer = setTimeout(() => end(refuse(`did not finish within ${timeoutMs / 1000}s and was ended`)), timeoutMs);
  const onAbort = (): void => end(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    // Closed, not exited: its output is whole then.
    const { code, killedBy } = await new Promise<{ code: number | null; killedBy: string | null }>((resolve, reject) => {
      child.once("error", () => reject(refuse("cannot be started: /bin/sh does not run")));
      child.once("close", (code, killedBy) => resolve({ code, killedBy }));
    });
    if (failure !== undefined) throw failure;
    if (code !== 0) throw refuse(`failed with ${killedBy ?? `exit code ${code}`}`);
    const token = output.trim();
    if (token === "") throw refuse("printed nothing");
    return token;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    child.stdout.destroy();
    child.stderr.destroy();
    options.learn(output);
    if (talk !== "") options.say(talk);
  }
}
