import type { Readable } from "node:stream";
import { addAbortSignal } from "node:stream";
import type { WriteAll } from "./write-all.ts";
import { openWriteAll } from "./write-all.ts";
import type { Redactor } from "./redactor.ts";
import { jsonText, printable, printableLine } from "./redactor.ts";
import type { Way } from "../way.ts";
import { fold, wayLines } from "../way.ts";

/** Properties of the output that affect what is written. */
export interface TerminalFacts {
  readonly isTTY: boolean;
  /** Current width of the terminal, else COLUMNS, else 80. */
  readonly columns: number;
  /** Current height of the terminal, if it is known. */
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

/** Runs a write, with something before and after it. */
type AroundWrite = (write: () => Promise<void>) => Promise<void>;

export interface OutputOptions {
  facts: TerminalFacts;
  /** Signal that stops waiting for a slow reader; undefined while a signal still ends the process by itself. */
  signal(): AbortSignal | undefined;
  openWriter: () => WriteAll;
}

interface Waiting {
  bytes: Uint8Array;
  signal: AbortSignal | undefined;
  settle: PromiseWithResolvers<void>;
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
  readonly #waiting: Waiting[] = [];

  constructor(options: OutputOptions) {
    this.options = options;
    // As getters: asking for the width of a terminal costs more than all of `--version`.
    Object.defineProperties(this, Object.getOwnPropertyDescriptors(options.facts));
  }

  /** Sets what is done around each write from now on, such as to erase a progress line on the same terminal and draw it again. */
  surroundWrites(around: AroundWrite): void {
    this.#around = around;
  }

  /** Resolves when every write so far has succeeded or failed. */
  async flush(): Promise<void> {
    await this.#last;
  }

  protected async queue(data: string | Uint8Array, signal = this.options.signal()): Promise<void> {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const settle = Promise.withResolvers<void>();
    this.#waiting.push({ bytes, signal, settle });
    this.#last = this.#last.then(async () => await this.#takeTurn());
    await settle.promise;
  }

  async #takeTurn(): Promise<void> {
    const turn = this.#waiting.splice(0, this.#writer?.syncs === true ? Infinity : 1);
    const [first] = turn;
    // Written with an earlier one.
    if (first === undefined) return;
    try {
      const write = (this.#writer ??= this.options.openWriter());
      const all = turn.length === 1 ? first.bytes : Buffer.concat(turn.map(({ bytes }) => bytes));
      await this.#around(async () => await write(all, first.signal));
      for (const { settle } of turn) settle.resolve();
    } catch (error) {
      for (const { settle } of turn) settle.reject(error);
    }
  }
}

/** stdout, which carries data. Data is delivered when `write` resolves. */
export class DataStream extends OutputStream {
  readonly #isClosed: () => boolean;

  constructor(options: OutputOptions, isClosed = () => false) {
    super(options);
    this.#isClosed = isClosed;
  }

  /** Whether the program was started without a standard output, so that nobody can read what is written. */
  get isClosed(): boolean {
    return this.#isClosed();
  }

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

  /** Sets how secrets are replaced from now on. */
  redactWith(redaction: Redaction): void {
    this.#redaction = redaction;
  }

  /**
   * Writes a text with secrets replaced and control characters escaped, except line ends, and the ways on below it. A terminal gets long
   * lines wrapped, but no command.
   */
  async write(text: string, next: readonly Way[] = []): Promise<void> {
    // Only now, so that no secret is broken before it is replaced.
    const clean = printable(this.#redaction.redact(text));
    const columns = this.isTTY ? this.columns : undefined;
    const ways = wayLines(this.#redaction.redactValue(next), columns, clean === "" ? 0 : 2);
    const shown = columns === undefined ? clean : wrapMessage(clean, columns);
    await this.#send(shown + ways.map((line) => `${printableLine(line)}\n`).join(""));
  }

  /**
   * Does the same, but keeps color sequences if color is on: for tables of this program, and for output of the user's commands. Never for
   * text from a service: colors can hide text.
   */
  async writeColored(text: string): Promise<void> {
    const clean = this.#redaction.redact(text);
    await this.#send(this.color ? printableButColor(clean) : printable(clean));
  }

  /** Writes one line of JSON. It stays valid even if a secret looks like JSON syntax. */
  async writeJson(value: unknown): Promise<void> {
    await this.#send(`${jsonText(this.#redaction.redactValue(value))}\n`);
  }

  async #send(clean: string): Promise<void> {
    await this.queue(clean).catch(() => {});
  }
}

/** Returns a function that opens descriptor 1 or 2 of this process at the first write. */
export function descriptorWriter(fd: number): () => WriteAll {
  return () => openWriteAll(fd, { sync: fd === 1 });
}

function printableButColor(text: string): string {
  // oxlint-disable-next-line no-control-regex -- matches color sequences
  const parts = text.split(/(\u001B\[[0-9;]*m)/);
  return parts.map((part, index) => (index % 2 === 1 ? part : printable(part))).join("");
}

/** Reads a stream to its end. Rejects with EFBIG above `limit` bytes, and as `chunksOf` does. */
export async function readAll(
  input: NodeJS.ReadStream,
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
