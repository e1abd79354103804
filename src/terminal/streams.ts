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

/** Runs a write, with something before and after it. */
type AroundWrite = (write: () => Promise<void>) => Promise<void>;

interface Surroundable {
  /** Sets what is done around each write from now on, such as to erase a progress line on the same terminal and draw it again. */
  surroundWrites(around: AroundWrite): void;
}

/** stdout, which carries data. Data is delivered when `write` resolves. */
export interface DataStream extends TerminalFacts, Surroundable {
  /**
   * Writes everything, in the order of the calls, or rejects with the system's error (`code` kept). A regular file is synced before it
   * resolves; calls that share a sync also share its failure. While it waits for a slow reader, the signal (by default the first SIGINT
   * or SIGTERM) rejects it with its reason.
   */
  write(data: string | Uint8Array, signal?: AbortSignal): Promise<void>;
  /** Whether the program was started without a standard output, so that nobody can read what is written. */
  readonly isClosed: boolean;
}

/** stderr, which carries messages. Writes are best effort: they resolve when the text is written or cannot be, and never reject. */
export interface MessageStream extends TerminalFacts, Surroundable {
  /**
   * Writes a text with secrets replaced and control characters escaped, except line ends, and the ways on below it. A terminal gets long
   * lines wrapped, but no command.
   */
  write(text: string, next?: readonly Way[]): Promise<void>;
  /**
   * Does the same, but keeps color sequences if color is on: for tables of this program, and for output of the user's commands. Never for
   * text from a service: colors can hide text.
   */
  writeColored(text: string): Promise<void>;
  /** Writes one line of JSON. It stays valid even if a secret looks like JSON syntax. */
  writeJson(value: unknown): Promise<void>;
  /** Sets how secrets are replaced from now on. */
  redactWith(redaction: Redaction): void;
}

export interface InputStream {
  readonly isTTY: boolean;
  /** Reads to the end. Rejects with EFBIG above `limit` bytes, and with the signal's reason if aborted. */
  readAll(limit: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** Reads chunk by chunk, without a limit; only once. */
  chunks(signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

type Redaction = Pick<Redactor, "redact" | "redactValue">;

export interface OutputOptions {
  facts: TerminalFacts;
  /** Signal that stops waiting for a slow reader; undefined while a signal still ends the process by itself. */
  signal(): AbortSignal | undefined;
  openWriter: () => WriteAll;
}

/** A stream whose `flush` resolves when every write so far has succeeded or failed. */
type Flushable<T> = T & { flush(): Promise<void> };

export function dataStream(
  options: OutputOptions & { isClosed?: () => boolean },
): Flushable<DataStream> {
  const { write, ...queue } = writeQueue(options.openWriter);
  const methods = {
    ...queue,
    write: (data: string | Uint8Array, signal = options.signal()) =>
      write(typeof data === "string" ? Buffer.from(data) : data, signal),
    get isClosed() {
      return options.isClosed?.() ?? false;
    },
  };
  return withFacts(options.facts, methods);
}

export function messageStream(options: OutputOptions): Flushable<MessageStream> {
  const { write, ...queue } = writeQueue(options.openWriter);
  let redaction: Redaction = { redact: (text) => text, redactValue: (value) => value };
  const redact = (text: string): string => redaction.redact(text);
  const send = (clean: string): Promise<void> =>
    write(Buffer.from(clean), options.signal()).catch(() => {});
  const methods = {
    ...queue,
    write: (text: string, next: readonly Way[] = []) => {
      const { isTTY } = options.facts;
      // Only now, so that no secret is broken before it is replaced.
      const clean = printable(redact(text));
      const columns = isTTY ? options.facts.columns : undefined;
      const ways = wayLines(redaction.redactValue(next), columns, clean === "" ? 0 : 2);
      return send(
        (isTTY ? wrapMessage(clean, options.facts.columns) : clean) +
          ways.map((line) => `${printableLine(line)}\n`).join(""),
      );
    },
    writeColored: (text: string) =>
      send(options.facts.color ? printableButColor(redact(text)) : printable(redact(text))),
    writeJson: (value: unknown) => send(`${jsonText(redaction.redactValue(value))}\n`),
    redactWith: (next: Redaction) => {
      redaction = next;
    },
  };
  return withFacts(options.facts, methods);
}

/** Returns a function that opens descriptor 1 or 2 of this process at the first write. */
export function descriptorWriter(fd: number): () => WriteAll {
  return () => openWriteAll(fd, { sync: fd === 1 });
}

/** Queues writes; those that wait while a file is synced share the next sync. A failed write does not prevent later ones. */
function writeQueue(openWriter: () => WriteAll) {
  let writer: WriteAll | undefined;
  let around: AroundWrite = async (write) => await write();
  let last: Promise<void> = Promise.resolve();
  const waiting: {
    bytes: Uint8Array;
    signal: AbortSignal | undefined;
    settle: PromiseWithResolvers<void>;
  }[] = [];
  const takeTurn = async (): Promise<void> => {
    const turn = waiting.splice(0, writer?.syncs === true ? waiting.length : 1);
    const [first] = turn;
    // Written with an earlier one.
    if (first === undefined) return;
    try {
      const write = (writer ??= openWriter());
      const all = turn.length === 1 ? first.bytes : Buffer.concat(turn.map(({ bytes }) => bytes));
      await around(async () => await write(all, first.signal));
      for (const { settle } of turn) settle.resolve();
    } catch (error) {
      for (const { settle } of turn) settle.reject(error);
    }
  };
  return {
    write: async (bytes: Uint8Array, signal?: AbortSignal) => {
      const settle = Promise.withResolvers<void>();
      waiting.push({ bytes, signal, settle });
      last = last.then(takeTurn);
      await settle.promise;
    },
    flush: async () => await last,
    surroundWrites: (next: AroundWrite) => {
      around = next;
    },
  };
}

/** Adds the facts as getters: asking for the width of a terminal costs more than all of `--version`. */
function withFacts<T extends object>(facts: TerminalFacts, methods: T): T & TerminalFacts {
  return Object.defineProperties(methods, Object.getOwnPropertyDescriptors(facts)) as T &
    TerminalFacts;
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
