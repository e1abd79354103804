import { VaultError } from "../errors.ts";
import { environmentWithoutSecrets, runShellCommand } from "./child-command.ts";
import type { SettingIo, Sourced } from "./given.ts";

interface PrintingCommand {
  /** The command, with the name of its setting for errors. */
  given: Sourced;
  /** The secret that it must print, with the other way to give it. */
  prints: string;
  timeoutMs: number;
  /** Called with everything that the command printed on stdout, secret or not, before its messages are passed on. */
  learnSecrets: (output: string) => void;
}

/** Characters of output, more than any token or key has. Of stderr, the last ones are kept. */
const outputLimit = 64 * 1024;

/**
 * Runs a command by /bin/sh without input and without this program's secrets, and returns its trimmed output. What it prints on stderr,
 * which may contain the secret, is passed on once it has ended.
 * @throws `invalid-input` if it fails, prints nothing or too much, or does not finish in time; the signal's reason when aborted
 */
export async function runPrintingCommand(
  { given: { text: command, source }, prints, timeoutMs, learnSecrets }: PrintingCommand,
  { host, redactor }: SettingIo,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  let output = "";
  let messages = "";
  const failure = await runShellCommand(host, {
    command,
    env: environmentWithoutSecrets(host.env, redactor),
    timeoutMs,
    signal,
    onOutput: (text, stop) => {
      output += text;
      if (output.length > outputLimit)
        stop(`printed more than ${outputLimit} characters and was stopped`);
    },
    onLines: (lines) => {
      messages += lines;
      // By whole lines, because no secret may be cut.
      if (messages.length > outputLimit)
        messages = messages.slice(messages.indexOf("\n", messages.length - outputLimit - 1) + 1);
    },
  });
  learnSecrets(output);
  if (messages !== "") void host.stderr.writeColored(messages);
  signal.throwIfAborted();
  const printed = output.trim();
  const why = failure ?? (printed === "" ? "printed nothing" : undefined);
  if (why === undefined) return printed;
  throw new VaultError("invalid-input", `${source}: the command ${why}`, {
    hint: `run it in a shell: it must print only ${prints}`,
  });
}
