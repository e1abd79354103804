import { closeSync, createReadStream, openSync, readSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { createGunzip } from "node:zlib";
import { VaultError } from "../../../errors.ts";
import { pieceSize } from "./lines.ts";
import type { Format } from "./sniff.ts";
import { sniff } from "./sniff.ts";

/** Number of bytes by which the format is recognized. */
const headSize = 64 * 1024;

/** An export opened for reading once. */
export interface Input extends Format {
  /** Name given by the user. */
  name: string;
  isGzip: boolean;
  /** Size of the file in bytes, compressed or not; null if unknown. */
  total: number | null;
  /** Returns how many of these bytes were read, for progress. */
  bytesRead(): number;
  /** Whether the chunks are those of a file that can be read again: not compressed, without a byte-order mark. */
  isFile: boolean;
  /** UTF-8 without a byte-order mark, valid until the next one. Throws `invalid-input` if reading fails. */
  chunks: AsyncIterable<Uint8Array>;
  /** Returns why the chunks ended early, once they have ended. */
  problem(): string | null;
  /** Closes the file, if not everything was read. */
  close(): Promise<void>;
}

/**
 * Opens a file, or `stream` under the given name, and recognizes its format by its content.
 *
 * @throws `invalid-input` if it cannot be read.
 */
export async function openInput(spec: {
  name: string;
  stream?: AsyncIterable<Uint8Array>;
}): Promise<Input> {
  const total = spec.stream === undefined ? sizeOf(spec.name) : null;
  let bytesRead = 0;
  const raw = new Peekable(
    counted(
      spec.stream ?? (total === null ? createReadStream(spec.name) : piecesOfFile(spec.name)),
      spec.name,
      (count) => {
        bytesRead += count;
      },
    ),
  );
  const isGzip = startsWith(await raw.peek(2), [0x1f, 0x8b]);
  let problem: string | null = null;
  const unzipped = isGzip ? new Peekable(gunzip(raw.all(), (found) => (problem = found))) : raw;
  const mark = markOf(await unzipped.peek(3));
  const text = mark === null ? unzipped : new Peekable(decoded(unzipped.all(), mark));
  const head = await text.peek(headSize);
  const format = sniff(head.toString("utf8"), head.length < headSize);
  return {
    ...format,
    name: spec.name,
    isGzip,
    total,
    bytesRead: () => bytesRead,
    isFile: !isGzip && mark === null && total !== null,
    chunks: text.all(),
    problem: () => problem,
    close: async () => {
      for (const layer of [text, unzipped, raw]) await layer.close();
    },
  };
}

/** Bytes after which signals are handled, also where they are all one line. */
const turnBytes = 4 * 1024 * 1024;

/** Reads a file in pieces, more quickly than the runtime's streams. */
async function* piecesOfFile(path: string): AsyncGenerator<Uint8Array> {
  const fd = openSync(path, "r");
  try {
    const room = Buffer.alloc(pieceSize);
    let read = 0;
    for (let length = readSync(fd, room); length > 0; length = readSync(fd, room)) {
      yield room.subarray(0, length);
      read += length;
      if (read % turnBytes < length) await setImmediate();
    }
  } finally {
    closeSync(fd);
  }
}

function sizeOf(path: string): number | null {
  try {
    const found = statSync(path);
    if (found.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    return found.isFile() ? found.size : null;
  } catch (error) {
    throw cannotRead(path, error);
  }
}

function cannotRead(path: string, cause: unknown): VaultError {
  const { code } = cause as NodeJS.ErrnoException;
  const why =
    code === "EISDIR"
      ? "it is a folder"
      : code === "ENOENT"
        ? "no such file"
        : (code ?? "unreadable");
  return new VaultError("invalid-input", `cannot read ${path}: ${why}`, {
    hint: "name a readable export of audit items, or - for standard input",
    cause,
  });
}

async function* counted(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  name: string,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of source) {
      count(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof VaultError ? error : cannotRead(name, error);
  }
}

type Mark = { encoding: "utf-8" | "utf-16le" | "utf-16be"; length: number };

function markOf(head: Buffer): Mark | null {
  if (startsWith(head, [0xef, 0xbb, 0xbf])) return { encoding: "utf-8", length: 3 };
  if (startsWith(head, [0xff, 0xfe])) return { encoding: "utf-16le", length: 2 };
  if (startsWith(head, [0xfe, 0xff])) return { encoding: "utf-16be", length: 2 };
  return null;
}

const startsWith = (bytes: Buffer, mark: readonly number[]): boolean =>
  mark.every((byte, index) => bytes[index] === byte);

/** Decodes to UTF-8 without the byte-order mark. */
async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  { encoding, length }: Mark,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  let left = length;
  for await (const chunk of chunks) {
    const rest = chunk.subarray(left);
    left -= chunk.length - rest.length;
    yield encoding === "utf-8" ? rest : Buffer.from(decoder.decode(rest, { stream: true }));
  }
  if (encoding !== "utf-8") yield Buffer.from(decoder.decode());
}

/** Chunks whose beginning can be read ahead. */
class Peekable {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #head: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns the first `size` bytes, or all if there are fewer. */
  async peek(size: number): Promise<Buffer> {
    const parts = [this.#head];
    for (let length = this.#head.length; length < size;) {
      const next = await this.#chunks.next();
      if (next.done === true) break;
      parts.push(Buffer.from(next.value));
      length += next.value.length;
    }
    this.#head = parts.length === 1 ? this.#head : Buffer.concat(parts);
    return this.#head.subarray(0, size);
  }

  async *all(): AsyncGenerator<Uint8Array> {
    yield this.#head;
    this.#head = Buffer.alloc(0);
    yield* { [Symbol.asyncIterator]: () => this.#chunks };
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

/**
 * Decompresses gzip of one or more members, no faster than it is consumed. Truncated or damaged data ends the sequence after what could
 * be decompressed, and `onProblem` is called with the reason.
 */
async function* gunzip(
  chunks: AsyncIterable<Uint8Array>,
  onProblem: (problem: string) => void,
): AsyncGenerator<Buffer> {
  const unzip = createGunzip({ chunkSize: 16 * 1024 });
  let problem: string | undefined;
  let isTaken = false;
  let wake = (): void => undefined;
  unzip.on("error", (error: NodeJS.ErrnoException) => {
    problem ??=
      error.code === "Z_BUF_ERROR" ? "the gzip data is cut off" : "the gzip data is damaged";
  });
  for (const event of ["readable", "end", "error", "close"]) unzip.on(event, () => wake());
  async function* drain(): AsyncGenerator<Buffer> {
    for (;;) {
      const bytes = unzip.read() as Buffer | null;
      if (bytes !== null) yield bytes;
      else if (isTaken || unzip.readableEnded || problem !== undefined) return;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    }
  }
  try {
    for await (const chunk of chunks) {
      isTaken = false;
      unzip.write(chunk, () => {
        isTaken = true;
        wake();
      });
      yield* drain();
      if (problem !== undefined || unzip.readableEnded) break;
    }
    if (unzip.readableEnded) problem = "something else follows the gzip data";
    if (problem === undefined) {
      // Only after everything is read: an error drops pending output.
      isTaken = false;
      unzip.end();
      yield* drain();
    }
  } finally {
    unzip.destroy();
  }
  if (problem !== undefined) onProblem(problem);
}
