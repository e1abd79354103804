import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { forwardLines } from "../../settings/child-command.ts";
import { pause } from "../../terminal/signals.ts";

interface SaveCommand {
  command: string;
  cwd: string;
  timeoutMs: number;
  /** Without this program's secrets. */
  env: Record<string, string>;
  exchangeId: string;
  /** Of the document that is to be replaced: a database replaces its row only where the row still has it. Empty if there is none. */
  givenSha256: string;
  /** Aborted when the user stops the program; ends the command. */
  signal: AbortSignal;
  /** Kills a process and all that it started. */
  endGroup(pid: number): void;
  /** What the command prints, on either stream, by whole lines. */
  say(lines: string): void;
}

/** Wait for the last output: processes that the command leaves behind may keep its streams open. */
const lastWordsMs = 200;

/** What /bin/sh runs first: standard input becomes the socket on which an unread rest is noticed. */
const readFromSocket = 'exec /bin/sh -c "$1" <&3 3<&-';

/**
 * Runs --save-cmd with `document` on its standard input. Resolves when the command has read all of it and exited 0; else
 * rejects with an Error that says what went wrong. The command and what it started are ended at the time-out, and by the
 * signal.
 */
export async function runSaveCommand(save: SaveCommand, document: string): Promise<void> {
  const child = spawn("/bin/sh", ["-c", readFromSocket, "sh", save.command], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    cwd: save.cwd,
    env: { ...save.env, VAULTSVC_EXCHANGE_ID: save.exchangeId, VAULTSVC_GIVEN_SHA256: save.givenSha256 },
    detached: true,
  });
  let unread = false;
  let ended: string | undefined;
  const end = (why: string): void => {
    ended ??= why;
    if (child.pid !== undefined) save.endGroup(child.pid);
  };
  const input = child.stdio[3] as Socket;
  // Closing a socket with unread data resets it: that is how a command that did not read everything is noticed.
  input.on("error", () => (unread = true));
  input.resume();
  input.end(document);
  for (const stream of [child.stdout, child.stderr]) if (stream !== null) forwardLines(stream, (lines) => save.say(lines));
  const closed = new Promise<void>((resolve) => void child.once("close", () => resolve()));
  const timer = setTimeout(() => end(`did not finish within ${save.timeoutMs / 1000}s and was stopped`), save.timeoutMs);
  const onAbort = (): void => end("was interrupted and stopped");
  if (save.signal.aborted) onAbort();
  else save.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const { code, signal } = await new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    await Promise.race([closed, pause(lastWordsMs)]);
    // On a busy machine the timer can come before the reset that the socket has received by now.
    await new Promise((resolve) => void setImmediate(resolve));
    if (ended !== undefined) throw new Error(`--save-cmd ${ended}`);
    if (code !== 0) throw new Error(`--save-cmd failed with ${signal ?? `exit code ${code}`}`);
    if (unread) throw new Error("--save-cmd did not read the whole document from its standard input");
  } finally {
    clearTimeout(timer);
    save.signal.removeEventListener("abort", onAbort);
    input.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}
