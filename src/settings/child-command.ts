import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { formatDuration } from "../duration.ts";
import { VaultError } from "../errors.ts";
import { withoutPassword } from "../protocol/address.ts";
import { definitionOf, settingNames } from "./definitions.ts";
import type { SettingIo, Sourced } from "./given.ts";

/**
 * Passes on the output of a user's command without color and in whole lines, because the redaction recognizes only whole secrets. Completes
 * a last line when the stream ends; drops it if the stream never ends.
 */
function forwardLines(stream: Readable, forward: (lines: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) forward(stripVTControlCharacters(rest + text.slice(0, end)));
    rest = (end > 0 ? "" : rest) + text.slice(end);
  });
  stream.on("end", () => {
    if (rest !== "") forward(stripVTControlCharacters(`${rest}\n`));
  });
}

/** Forms of settings by their variables. Without the name of a profile or a state, a `vault` that a command runs would use another one. */
const forms = new Map(settingNames.map(definitionOf).map(({ env, form }) => [env, form]));

/** Variables that every program needs, whatever their value. Proxies stay even with a password: it is meant for every program. */
const forEveryProgram =
  /^(?:PATH|HOME|PWD|OLDPWD|SHELL|USER|LOGNAME|HOSTNAME|TERM|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+|(?:https?|all|no)_proxy)$/i;

/**
 * The environment for a command of the user, without our secrets: their variables, any other that `redactor` holds for one, and the
 * password in the address of the state.
 */
export function environmentWithoutSecrets(
  env: Readonly<Record<string, string | undefined>>,
  redactor: { holds: (text: string) => boolean },
): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || forms.get(name) === "secret") return [];
    const isKept = forEveryProgram.test(name) || forms.has(name) || name === "VAULTSVC_SANDBOX";
    if (!isKept && redactor.holds(value)) return [];
    return [[name, name === "VAULTSVC_STATE" ? withoutPassword(value) : value]];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

interface ShellCommand {
  command: string;
  env: Record<string, string>;
  cwd?: string | undefined;
  /** Its standard input, of which it must read all. */
  input?: string;
  timeoutMs: number;
  signal: AbortSignal;
  /** Takes its stderr by whole lines, and its stdout unless `onOutput` takes that. */
  onLines: (lines: string) => void;
  /** Takes its stdout as it comes; `stop` ends the command. */
  onOutput?: (text: string, stop: (why: string) => void) => void;
}

/** Wait for the last lines: processes that the command leaves behind may keep its streams open. */
const lastLinesMs = 200;

/** First command of /bin/sh: standard input becomes the socket on which an unread rest is noticed. */
const readFromSocket = 'exec /bin/sh -c "$1" <&3 3<&-';

/**
 * Runs a command of the user by /bin/sh. Resolves to undefined when it has exited with 0 (and read its whole input), else to what went
 * wrong: `failed with exit code 3`. The command and all that it started are ended at the time limit and by the signal.
 */
export async function runShellCommand(
  host: { endGroup: (pid: number) => void },
  { command, env, cwd, input, timeoutMs, signal, onLines, onOutput }: ShellCommand,
): Promise<string | undefined> {
  const child = spawn(
    "/bin/sh",
    input === undefined ? ["-c", command] : ["-c", readFromSocket, "sh", command],
    { stdio: ["ignore", "pipe", "pipe", "pipe"], cwd, env, detached: true },
  ) as ChildProcessByStdio<null, Readable, Readable>;
  let stopped: string | undefined;
  const stop = (why: string): void => {
    stopped ??= why;
    if (child.pid !== undefined) host.endGroup(child.pid);
  };
  let isUnread = false;
  const socket = child.stdio[3] as Socket;
  // Closing a socket with unread data resets it: that is how a command that did not read everything is noticed.
  socket.on("error", () => (isUnread = input !== undefined)).resume();
  socket.end(input ?? "");
  if (onOutput === undefined) forwardLines(child.stdout, onLines);
  else child.stdout.setEncoding("utf8").on("data", (text: string) => onOutput(text, stop));
  forwardLines(child.stderr, onLines);
  const timer = setTimeout(
    () => stop(`did not finish within ${formatDuration(timeoutMs)} and was stopped`),
    timeoutMs,
  );
  const onAbort = (): void => stop("was interrupted and stopped");
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    const closed = new Promise((resolve) => child.once("close", resolve));
    const ended = await new Promise<string | undefined>((resolve) => {
      child.once("error", ({ message }) => resolve(`cannot be started: ${message}`));
      child.once("exit", (code, by) =>
        resolve(code === 0 ? undefined : `failed with ${by ?? `exit code ${code}`}`),
      );
    });
    // Output that is taken must be whole.
    await (onOutput === undefined ? Promise.race([closed, pause(lastLinesMs)]) : closed);
    // On a busy machine the time limit can come before the reset that the socket has received by now.
    await new Promise((resolve) => void setImmediate(resolve));
    const unread = isUnread ? "did not read the whole document from its standard input" : undefined;
    return stopped ?? ended ?? unread;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    for (const stream of [socket, child.stdout, child.stderr]) stream.destroy();
  }
}

/** Characters of output, more than any token or key has. */
const outputLimit = 64 * 1024;

/**
 * Runs a command by /bin/sh without input and without this program's secrets, and returns its trimmed output. What it prints on stderr,
 * which may contain the secret, is passed on once it has ended.
 * @throws `invalid-input` if it fails, prints nothing or too much, or does not finish in time; the signal's reason when aborted
 */
export async function runPrintingCommand(
  { text: command, source }: Sourced,
  /** The secret that it must print, with the other way to give it. */
  prints: string,
  timeoutMs: number,
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
    onLines: (lines) => (messages += lines),
  });
  if (failure === undefined) redactor.add(output.trim());
  // Also what has other text around it, and is refused; of a token, each part. The id of a key has 16 characters, and is no secret.
  for (const form of [/[A-Za-z0-9._~+/=-]{17,}/g, /[A-Za-z0-9_~+/=-]{17,}/g])
    output.match(form)?.forEach(redactor.add);
  if (messages !== "") void host.stderr.write(messages);
  signal.throwIfAborted();
  const printed = output.trim();
  const why = failure ?? (printed === "" ? "printed nothing" : undefined);
  if (why === undefined) return printed;
  throw new VaultError("invalid-input", `${source}: the command ${why}`, {
    hint: `run it in a shell: it must print only ${prints}`,
  });
}
