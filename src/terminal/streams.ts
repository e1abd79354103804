import { constants, fstatSync, openSync, statSync, writeFile, writeSync } from "node:fs";
import { Socket } from "node:net";
import { platform } from "node:os";
import { addAbortSignal, type Readable } from "node:stream";
import { promisify } from "node:util";
import { orAborted, pause } from "./signals.ts";
import { jsonText, printable, printableLine, type Redactor } from "./redactor.ts";
import { attempt } from "../attempt.ts";
import { fold, wayLines, type Way } from "../way.ts";

/** Properties of the output that affect what is written. */
export interface TerminalFacts {
  readonly isTTY: boolean;
  /** Current width of the terminal, else COLUMNS, else 80. */
  readonly columns: number;
  readonly rows?: number | undefined;
  /** Whether color may be used: `wantsColor`. */
  readonly color: boolean;
}

export interface InputStream {
  readonly isTTY: boolean;
  /** Reads to the end. Rejects with EFBIG above `limit` bytes, and with the signal's reason if aborted. */
  readAll(limit: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** Reads chunk by chunk, without a limit; only once. */
  chunks(signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

type AroundWrite = (write: () => Promise<void>) => Promise<void>;

export interface OutputOptions {
  facts: TerminalFacts;
  /** Signal that stops waiting for a slow reader; undefined while a signal still ends the process by itself. */
  signal(): AbortSignal | undefined;
  openWriter: () => WriteAll;
  isClosed?: () => boolean;
}

/** Queues writes; those that wait while a file is synced share the next sync. A failed write does not prevent later ones. */
class OutputStream implements TerminalFacts {
  declare readonly isTTY: boolean;
  declare readonly columns: number;
  declare readonly rows?: number | undefined;
  declare readonly color: boolean;
  protected readonly options: OutputOptions;
  #writer: WriteAll | undefined;
  #around: AroundWrite = async (write) => await write();
  #last: Promise<void> = Promise.resolve();
  /** What the last write will write, until it begins. */
  #waiting: Uint8Array[] | undefined;

  constructor(options: OutputOptions) {
    this.options = options;
    // As getters: asking for the width of a terminal costs more than all of `--version`.
    Object.defineProperties(this, Object.getOwnPropertyDescriptors(options.facts));
  }

  /** Whether the program was started without this output, so that nobody can read what is written. */
  get isClosed(): boolean {
    return this.options.isClosed?.() === true;
  }

  /** Sets what is done around each write from now on, such as to erase a progress line on the same terminal and draw it again. */
  surroundWrites(around: AroundWrite): void {
    this.#around = around;
  }

  /** Resolves when every write so far has succeeded or failed. */
  async flush(): Promise<void> {
    await this.#last.catch(() => {});
  }

  protected async queue(data: string | Uint8Array, signal = this.options.signal()): Promise<void> {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const write = (this.#writer ??= this.options.openWriter());
    if (write.syncs === true && this.#waiting !== undefined) this.#waiting.push(bytes);
    else {
      const together = [bytes];
      this.#waiting = together;
      const takeTurn = async (before: Promise<void>): Promise<void> => {
        await before;
        if (this.#waiting === together) this.#waiting = undefined;
        const all = together.length === 1 ? bytes : Buffer.concat(together);
        await this.#around(async () => await write(all, signal));
      };
      this.#last = takeTurn(this.flush());
    }
    await this.#last;
  }
}

/** stdout, which carries data. Data is delivered when `write` resolves. */
export class DataStream extends OutputStream {
  /**
   * Writes everything, in the order of the calls, or rejects with the system's error (`code` kept). A regular file is synced before it
   * resolves; calls that share a sync also share its failure. While it waits for a slow reader, the signal (by default the first SIGINT
   * or SIGTERM) rejects it with its reason.
   */
  async write(data: string | Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.queue(data, signal);
  }
}

type Redaction = Pick<Redactor, "redact" | "redactValue">;

/** stderr, which carries messages. Writes are best effort: they resolve when the text is written or cannot be, and never reject. */
export class MessageStream extends OutputStream {
  #redaction: Redaction = { redact: (text) => text, redactValue: (value) => value };

  redactWith(redaction: Redaction): void {
    this.#redaction = redaction;
  }

  /**
   * Writes a text with secrets replaced and control characters escaped, except line ends, and the ways on below it. A terminal gets long
   * lines wrapped, but no command, nor (`wraps`) the lines of another program.
   */
  async write(text: string, next: readonly Way[] = [], wraps = this.isTTY): Promise<void> {
    // Only now, so that no secret is broken before it is replaced.
    const clean = printable(this.#redaction.redact(text));
    const columns = wraps ? this.columns : undefined;
    const ways = wayLines(this.#redaction.redactValue(next), columns, clean === "" ? 0 : 2);
    const shown = columns === undefined ? clean : wrapMessage(clean, columns);
    const below = ways.map((line) => `${printableLine(line)}\n`).join("");
    await this.queue(shown + below).catch(() => {});
  }

  /** Writes one line of JSON. It stays valid even if a secret looks like JSON syntax. */
  async writeJson(value: unknown): Promise<void> {
    const line = `${jsonText(this.#redaction.redactValue(value))}\n`;
    await this.queue(line).catch(() => {});
  }
}

/** Reads a stream to its end. Rejects with EFBIG above `limit` bytes, and as `chunksOf` does. */
export async function readAll(
  input: Readable,
  limit: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunksOf(input, signal)) {
    length += chunk.length;
    if (length > limit)
      throw Object.assign(new Error(`more than ${limit} bytes`), { code: "EFBIG" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * A named pipe, opened without waiting for its writer, which would block a thread, and with it the exit; null for another file.
 * Only Linux tells one that nobody has opened to write from one that was closed.
 */
export function openPipe(path: string): Readable | null {
  if (platform() !== "linux" || statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true)
    return null;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, writable: false });
}

/** Yields the chunks of a stream. Destroys it when aborted: a pending read would keep the process alive. */
export async function* chunksOf(input: Readable, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    const chunks: AsyncIterable<Uint8Array> = signal ? addAbortSignal(signal, input) : input;
    yield* chunks;
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** Wraps the lines of a message at spaces, and indents continued lines. A long word stays whole. */
export const wrapMessage = (text: string, width: number): string =>
  text
    .split("\n")
    .flatMap((line) => fold(line.split(/(?<=\S) /), width, `${/^ */.exec(line)?.[0] ?? ""}  `))
    .join("\n");

/**
 * Writes all bytes, or rejects with the system's error (`code` kept: EPIPE, ENOSPC, EIO …). It continues after short writes and waits
 * for full pipes. Aborting has an effect only during such a wait: the call rejects with the signal's reason, and some of the bytes may
 * have been written. One call at a time.
 */
interface WriteAll {
  (bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
  /** A call ends with a sync, which takes as long for much as for little. */
  readonly syncs?: boolean;
}

/**
 * Chooses how to write to a descriptor of this process, by its type. A write to a regular file as stdout resolves only after an
 * fsync. A write that blocks must never run in the thread pool: exiting joins the threads of the pool, so a reader that has stopped
 * would keep the process alive, whatever the signal.
 */
export function openWriteAll(fd: number): WriteAll {
  const stat = fstatSync(fd);
  if (stat.isFile() && fd === 1)
    return Object.assign(async (bytes: Uint8Array) => await writeToFile(fd, bytes), {
      syncs: true,
    });
  if (stat.isFIFO() || stat.isCharacterDevice()) {
    const own = reopenNonBlocking(fd);
    if (own !== null) return (bytes, signal) => writeWhenReady(own, bytes, signal);
  }
  if (stat.isFIFO() || stat.isSocket()) return socketWriter(fd);
  return (bytes, signal) => writeWhenReady(fd, bytes, signal);
}

/**
 * Opens another file description of the same pipe or terminal, so that O_NONBLOCK does not affect the processes that share the first.
 * Returns null if that fails: no /proc, a pipe of another user, no reader.
 */
function reopenNonBlocking(fd: number): number | null {
  const how = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  return attempt(() => openSync(`/proc/self/fd/${fd}`, how)) ?? null;
}

/** Retries after 1 to 32 ms while the descriptor is not ready: the runtime has no event for a terminal that can be written to again. */
async function writeWhenReady(fd: number, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
  let wait = 1;
  for (let offset = 0; offset < bytes.length;) {
    let written = 0;
    try {
      written = writeSync(fd, bytes, offset);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
    offset += written;
    if (written === 0) await pause(wait, signal);
    wait = written === 0 ? Math.min(wait * 2, 32) : 1;
  }
}

/** Writes to a socket, or a pipe that could not be reopened. The runtime restores the descriptor's flags when the process exits. */
function socketWriter(fd: number): WriteAll {
  let socket: Socket | undefined;
  return async (bytes, signal) => {
    if (socket === undefined) {
      socket = new Socket({ fd, readable: false, writable: true });
      // Each write reports its own error; without a listener, the event would end the process.
      socket.on("error", () => {});
    }
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    const mustWait = !socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    await orAborted(written, mustWait ? signal : undefined);
  };
}

/** Writes in the thread pool, so that a slow disk does not delay signals, and syncs. */
const writeToFile = async (fd: number, bytes: Uint8Array): Promise<void> =>
  await promisify(writeFile)(fd, bytes, { flush: true }).catch((error: unknown) => {
    const { syscall, code = "" } = error as NodeJS.ErrnoException;
    // If the file system does not support fsync, there is nothing to wait for.
    if (syscall !== "fsync" || !["EINVAL", "ENOTSUP", "ENOSYS"].includes(code)) throw error;
  });
