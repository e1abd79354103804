import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Basics } from "../parts/settings.ts";
import { HandoverFailure } from "../exchange/delivery.ts";
import { environmentWithoutSecrets, forwardLines } from "../settings/child-command.ts";
import { pause } from "../terminal/signals.ts";
import type { GetDocument } from "../documents/exchange.ts";

/** A command of the user that receives a document. */
interface DocumentCommand {
  /** The flag that it comes from, for messages. */
  flag: "--save-cmd" | "--exec";
  command: string;
  /** Without this program's secrets. */
  env: Record<string, string>;
  /** Ends the command. */
  signal: AbortSignal;
}

/** Wait for the last output: processes that the command leaves behind may keep its streams open. */
const lastWordsMs = 200;

/** What /bin/sh runs first: standard input becomes the socket on which an unread rest is noticed. */
const readFromSocket = 'exec /bin/sh -c "$1" <&3 3<&-';

/**
 * Runs a command with `document` on its standard input; what it prints, on either stream, goes to stderr by whole lines. Resolves
 * when the command has read all of it and exited 0; else rejects with an Error that says what went wrong. The command and what it
 * started are ended at the time-out, and by the signal.
 */
export async function runWithDocument(
  { io: { host }, settings: { timeout: timeoutMs } }: Basics,
  { flag, command, env, signal }: DocumentCommand,
  document: string,
): Promise<void> {
  const child = spawn("/bin/sh", ["-c", readFromSocket, "sh", command], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    cwd: host.cwd,
    env,
    detached: true,
  });
  let unread = false;
  let ended: string | undefined;
  const end = (why: string): void => {
    ended ??= why;
    if (child.pid !== undefined) host.endGroup(child.pid);
  };
  const input = child.stdio[3] as Socket;
  // Closing a socket with unread data resets it: that is how a command that did not read everything is noticed.
  input.on("error", () => (unread = true));
  input.resume();
  input.end(document);
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null) forwardLines(stream, (lines) => void host.stderr.writeColored(lines));
  const closed = new Promise<void>((resolve) => void child.once("close", () => resolve()));
  const timer = setTimeout(
    () => end(`did not finish within ${timeoutMs / 1000}s and was stopped`),
    timeoutMs,
  );
  const onAbort = (): void => end("was interrupted and stopped");
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    const { code, by } = await new Promise<{ code: number | null; by: string | null }>(
      (resolve, reject) => {
        child.once("error", reject);
        child.once("exit", (code, by) => resolve({ code, by }));
      },
    );
    await Promise.race([closed, pause(lastWordsMs)]);
    // On a busy machine the timer can come before the reset that the socket has received by now.
    await new Promise((resolve) => void setImmediate(resolve));
    if (ended !== undefined) throw new Error(`${flag} ${ended}`);
    if (code !== 0) throw new Error(`${flag} failed with ${by ?? `exit code ${code}`}`);
    if (unread) throw new Error(`${flag} did not read the whole document from its standard input`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    input.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/**
 * Returns what gives the document of one vault of a run to --exec, and resolves when the command has taken it over: read whole, and
 * ended with 0. The environment is searched for secrets once for all of them, and only a second signal ends them.
 * @throws HandoverFailure for everything else
 */
export function execOf(
  { io, settings }: Basics,
  command: string,
  run: string,
): (document: GetDocument) => Promise<void> {
  const { host, redactor } = io;
  const signal = host.killed;
  const ours = environmentWithoutSecrets(host.env, redactor);
  return async (document) => {
    const { uuid, label } = document;
    const env = {
      ...ours,
      VAULTSVC_VAULT_UUID: uuid,
      VAULTSVC_VAULT_LABEL: label ?? "",
      VAULTSVC_DELIVERY_ID: `${run}-${uuid}`,
    };
    try {
      await runWithDocument(
        { io, settings },
        { flag: "--exec", command, env, signal },
        `${JSON.stringify(document)}\n`,
      );
    } catch (error) {
      throw new HandoverFailure("exec", (error as Error).message, {
        delivered: false,
        saveOwed: false,
      });
    }
  };
}
