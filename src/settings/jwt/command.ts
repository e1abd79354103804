import { spawn } from "node:child_process";
import { VaultError } from "../../errors.ts";
import { forwardLines } from "../child-command.ts";

interface TokenCommand {
  command: string;
  /** The name of the setting in errors. */
  source: string;
  timeoutMs: number;
  /** Without this program's secrets. */
  env: Record<string, string>;
  /** Kills a process group. */
  endGroup: (pid: number) => void;
  /** Called with everything that the command printed on stdout, token or not, before `forward`. */
  learnSecrets: (output: string) => void;
  /** Called with what the command printed on stderr, which may contain the token, once it has ended. */
  forward: (lines: string) => void;
}

/** Characters of output, more than any token has. Of stderr, the last ones are kept. */
const outputLimit = 64 * 1024;

/**
 * Runs `command` by /bin/sh without input, and returns its trimmed output. A command that prints too much or takes too long is
 * killed, with all that it started.
 * @throws `invalid-input` if it fails, prints nothing or too much, or does not finish in time; the signal's reason when aborted
 */
export async function runTokenCommand(options: TokenCommand, signal: AbortSignal): Promise<string> {
  const { source, timeoutMs } = options;
  signal.throwIfAborted();
  const refuse = (what: string): VaultError =>
    new VaultError("invalid-input", `${source}: the command ${what}`, {
      hint: "run it in a shell: it must print only the token on standard output; or use --jwt",
    });
  const child = spawn("/bin/sh", ["-c", options.command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: options.env,
    detached: true,
  });
  let output = "";
  let messages = "";
  let failure: Error | undefined;
  const end = (why: Error): void => {
    failure ??= why;
    if (child.pid !== undefined) options.endGroup(child.pid);
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.length > outputLimit)
      end(refuse(`printed more than ${outputLimit} characters and was stopped`));
  });
  forwardLines(child.stderr, (lines) => {
    messages += lines;
    if (messages.length > outputLimit)
      messages = messages.slice(messages.indexOf("\n", messages.length - outputLimit - 1) + 1);
  });
  const timer = setTimeout(
    () => end(refuse(`did not finish within ${timeoutMs / 1000}s and was stopped`)),
    timeoutMs,
  );
  const onAbort = (): void => end(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    // At `close`, unlike at `exit`, the output is whole.
    const { code, killedBy } = await new Promise<{ code: number | null; killedBy: string | null }>(
      (resolve, reject) => {
        child.once("error", () => reject(refuse("cannot be started: /bin/sh does not run")));
        child.once("close", (code, killedBy) => resolve({ code, killedBy }));
      },
    );
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
    options.learnSecrets(output);
    if (messages !== "") options.forward(messages);
  }
}
