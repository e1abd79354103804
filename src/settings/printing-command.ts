import { spawn } from "node:child_process";
import { formatDuration } from "../duration.ts";
import { VaultError } from "../errors.ts";
import { environmentWithoutSecrets, forwardLines } from "./child-command.ts";
import type { Sourced } from "./definitions.ts";
import type { SettingIo } from "./given.ts";

interface PrintingCommand {
  /** What runs, and the name of its setting in errors. */
  given: Sourced;
  /** What it must print, with the other way to give that. */
  prints: string;
  timeoutMs: number;
  /** Called with everything that the command printed on stdout, secret or not, before its messages are passed on. */
  learnSecrets: (output: string) => void;
}

/** Characters of output, more than any token or key has. Of stderr, the last ones are kept. */
const outputLimit = 64 * 1024;

/**
 * Runs a command by /bin/sh without input and without this program's secrets, and returns its trimmed output. A command that prints
 * too much or takes too long is killed, with all that it started. What it prints on stderr, which may contain the secret, is passed on
 * once it has ended.
 * @throws `invalid-input` if it fails, prints nothing or too much, or does not finish in time; the signal's reason when aborted
 */
export async function runPrintingCommand(
  { given: { text: command, source }, prints, timeoutMs, learnSecrets }: PrintingCommand,
  { host, redactor }: SettingIo,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const refuse = (what: string): VaultError =>
    new VaultError("invalid-input", `${source}: the command ${what}`, {
      hint: `run it in a shell: it must print only ${prints}`,
    });
  const child = spawn("/bin/sh", ["-c", command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: environmentWithoutSecrets(host.env, redactor),
    detached: true,
  });
  let output = "";
  let messages = "";
  let failure: Error | undefined;
  const end = (why: Error): void => {
    failure ??= why;
    if (child.pid !== undefined) host.endGroup(child.pid);
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
    () => end(refuse(`did not finish within ${formatDuration(timeoutMs)} and was stopped`)),
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
    const printed = output.trim();
    if (printed === "") throw refuse("printed nothing");
    return printed;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    child.stdout.destroy();
    child.stderr.destroy();
    learnSecrets(output);
    if (messages !== "") void host.stderr.writeColored(messages);
  }
}
