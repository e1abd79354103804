import type { WriteAll } from "./write-all.ts";
import { openWriteAll } from "./write-all.ts";
import type { Redactor } from "./redactor.ts";
import { jsonText, printable } from "./redactor.ts";

/** What is at the other end of a stream, as far as it changes what we write. */
export interface TerminalFacts {
  readonly isTTY: boolean;
  /** The terminal's width now, else COLUMNS, else 80. */
  readonly columns: number;
  /** Whether color may be used, after `chooseColor`. */
  readonly color: boolean;
}

/** stdout: data. What `write` has resolved for is delivered. */
export interface DataStream extends TerminalFacts {
  /**
   * Writes everything, in the order of the calls, or rejects with the system's error (`code` kept); to a regular file it is
   * synced before it resolves. While a slow reader makes it wait, the signal (by default the first SIGINT or SIGTERM)
   * rejects it with its reason.
   */
  write(data: string | Uint8Array, signal?: AbortSignal): Promise<void>;
  /** Nobody can get what is written: the program was started without a standard output. */
  readonly isClosed: boolean;
}

/** stderr: talk. Best effort: it resolves when the text is written or cannot be, and never rejects. */
export interface TalkStream extends TerminalFacts {
  /** Secrets replaced, control characters made visible (line ends stay). */
  write(text: string): Promise<void>;
  /**
   * The same, where color is on with its color sequences: for tables of our own, and for what a command of the user prints.
   * Never for a text that a service has sent: colors can hide what stands there.
   */
  writeColored(text: string): Promise<void>;
  /** One line of JSON, which it stays whatever the secrets are: one of them may read like what stands between two values. */
  writeJson(value: unknown): Promise<void>;
  /** What replaces secrets from now on. */
  redactWith(redaction: Redaction): void;
}

export interface InputStream {
  readonly isTTY: boolean;
  /** Everything up to the end. More than `limit` bytes: rejects with InputTooLong; aborted: with the signal's reason. */
  readAll(limit: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** The same piece by piece, without a limit; once. */
  chunks(signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

type Redaction = Pick<Redactor, "redact" | "redactValue">;

export class InputTooLong extends Error {
  override readonly name = "InputTooLong";
}

export interface OutputOptions {
  facts: TerminalFacts;
  /** What ends waiting for a slow reader; undefined while a signal still ends the process by itself. */
  signal(): AbortSignal | undefined;
  openWriter: () => WriteAll;
}

/** `flush` resolves when every write so far has ended, one way or the other. */
type Flushable<T> = T & { flush(): Promise<void> };

export function dataStream(options: OutputOptions & { isClosed?: () => boolean }): Flushable<DataStream> {
  const queue = writeQueue(options.openWriter);
  const methods = {
    write: (data: string | Uint8Array, signal = options.signal()) =>
      queue.write(typeof data === "string" ? Buffer.from(data) : data, signal),
    flush: () => queue.flush(),
    get isClosed() {
      return options.isClosed?.() ?? false;
    },
  };
  return withFacts(options.facts, methods);
}

export function talkStream(options: OutputOptions): Flushable<TalkStream> {
  const queue = writeQueue(options.openWriter);
  let redaction: Redaction = { redact: (text) => text, redactValue: (value) => value };
  const redact = (text: string): string => redaction.redact(text);
  const send = (clean: string): Promise<void> => queue.write(Buffer.from(clean), options.signal()).catch(() => {});
  const methods = {
    write: (text: string) => send(printable(redact(text))),
    writeColored: (text: string) => send(options.facts.color ? printableButColor(redact(text)) : printable(redact(text))),
    writeJson: (value: unknown) => {
      const clean = jsonText(redaction.redactValue(value));
      const cleaner = redact(clean);
      return send(`${isJson(cleaner) ? cleaner : clean}\n`);
    },
    redactWith: (next: Redaction) => {
      redaction = next;
    },
    flush: () => queue.flush(),
  };
  return withFacts(options.facts, methods);
}

/** Descriptor 1 or 2 of this process, opened at the first write. */
export function descriptorWriter(fd: number): () => WriteAll {
  return () => openWriteAll(fd, { sync: fd === 1 });
}

/** Writes one after the other. A failed write does not keep later ones from being tried. */
function writeQueue(openWriter: () => WriteAll): { write: WriteAll; flush(): Promise<void> } {
  let writer: WriteAll | undefined;
  let last: Promise<void> = Promise.resolve();
  const writeNow: WriteAll = async (bytes, signal) => {
    writer ??= openWriter();
    await writer(bytes, signal);
  };
  return {
    write: (bytes, signal) => {
      const result = last.then(() => writeNow(bytes, signal));
      last = result.catch(() => {});
      return result;
    },
    flush: () => last,
  };
}

/** Facts stay getters: asking for the width of a terminal costs more than all of `--version`. */
function withFacts<T extends object>(facts: TerminalFacts, methods: T): T & TerminalFacts {
  return Object.defineProperties(methods, {
    isTTY: { get: () => facts.isTTY, enumerable: true },
    columns: { get: () => facts.columns, enumerable: true },
    color: { get: () => facts.color, enumerable: true },
  }) as T & TerminalFacts;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function printableButColor(text: string): string {
  // oxlint-disable-next-line no-control-regex -- color sequences are what it is about
  const parts = text.split(/(\u001B\[[0-9;]*m)/);
  return parts.map((part, index) => (index % 2 === 1 ? part : printable(part))).join("");
}

/** Everything that a readable stream yields. Rejects with InputTooLong, and as `chunksOf`. */
export async function readAll(input: NodeJS.ReadStream, limit: number, signal?: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunksOf(input, signal)) {
    length += chunk.length;
    if (length > limit) throw new InputTooLong(`more than ${limit} bytes on standard input`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What a readable stream yields. Destroys it when aborted: a read that waits would keep the process alive. */
export async function* chunksOf(input: NodeJS.ReadStream, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const onAbort = (): void => void input.destroy(signal?.reason as Error);
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  try {
    yield* input as AsyncIterable<Uint8Array>;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}
