import { randomBytes } from "node:crypto";
import {
  closeSync,
  createReadStream,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { VaultError } from "../../errors.ts";
import { gunzip, Peekable, pieceSize } from "./gunzip.ts";

/** Number of bytes by which the format is recognized. */
const headSize = 64 * 1024;

/** Maximum number of times that an input is packed. */
const mostPacked = 3;

/** The text of an export, opened for reading once, any part of which can be read again. */
export interface Input {
  /** Name given by the user. */
  name: string;
  isGzip: boolean;
  /** Size of the file in bytes, compressed or not; null if unknown. */
  total: number | null;
  /** Returns how many of these bytes were read, for progress. */
  bytesRead(): number;
  /** The beginning of the text, and whether that is all of it. */
  head: Buffer;
  isWhole: boolean;
  /**
   * Reads up to `most` bytes of UTF-8 without a byte-order mark into a buffer. Returns their number, 0 at the end.
   *
   * @throws `invalid-input` if reading fails.
   */
  read(room: Buffer, at: number, most: number): Promise<number>;
  /**
   * Returns bytes that were read.
   *
   * @throws `invalid-input` if the file has become shorter.
   */
  at(offset: number, length: number): Buffer;
  /** Returns why the text ended early, once it has ended. */
  problem(): string | null;
  close(): Promise<void>;
}

/**
 * Opens a file, or `stream` under the given name.
 *
 * @throws `invalid-input` if it cannot be read, or holds something that is no text.
 */
export async function openInput(spec: {
  name: string;
  stream?: AsyncIterable<Uint8Array>;
}): Promise<Input> {
  const { name, stream } = spec;
  const total = stream === undefined ? attempt(name, () => sizeOf(name)) : null;
  let bytesRead = 0;
  const count = (bytes: number): void => void (bytesRead += bytes);
  const fd = total === null ? undefined : attempt(name, () => openSync(name, "r"));
  const readAt = (room: Buffer, at: number, most: number, from: number): number =>
    attempt(name, () => readSync(fd as number, room, at, most, from));
  const chunks = stream ?? createReadStream(name, { highWaterMark: pieceSize });
  const layers = [new Peekable(counted(chunks, name, count))];
  let problem: string | null = null;
  let spool: Spool | undefined;
  const close = async (): Promise<void> => {
    for (const layer of layers.toReversed()) await layer.close();
    if (fd !== undefined) closeSync(fd);
    spool?.close();
  };
  try {
    let text = layers[0] as Peekable;
    const wrap = (decoder: AsyncGenerator<Uint8Array>): void =>
      void layers.push((text = new Peekable(decoder)));
    let packed = 0;
    for (; packed < mostPacked && startsWith(await text.peek(2), [0x1f, 0x8b]); packed++)
      wrap(gunzip(text, (found) => (problem ??= found)));
    const first = await text.peek(512);
    checkText(first, name);
    const mark = markOf(first);
    const isFile = fd !== undefined && packed === 0 && !mark.encoding.startsWith("utf-16");
    if (mark.encoding === "utf-8") await text.take(mark.length);
    else wrap(decoded(text, mark));
    const head = Buffer.from(await text.peek(headSize));
    let position = mark.length;
    return {
      name,
      isGzip: packed > 0,
      total,
      bytesRead: () => (isFile ? position : bytesRead),
      head,
      isWhole: head.length < headSize,
      read: async (room, at, most) => {
        if (isFile) {
          const length = readAt(room, at, most, position);
          // Signals are handled, also where it is all one line.
          if (position % turnBytes < length) await setImmediate();
          position += length;
          return length;
        }
        const bytes = await text.take(most);
        bytes.copy(room, at);
        (spool ??= new Spool(name)).add(bytes);
        return bytes.length;
      },
      at: (offset, length) => {
        const bytes = Buffer.alloc(length);
        const found = isFile
          ? readAt(bytes, 0, length, mark.length + offset)
          : (spool?.read(bytes, offset) ?? 0);
        if (found < length) throw hasChanged(name);
        return bytes;
      },
      problem: () => problem,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export const hasChanged = (name: string): VaultError =>
  new VaultError("invalid-input", `${name} changed while it was read`, { hint: "run it again" });

/** What was read from an input that cannot be read twice, in a file without a name. */
export class Spool {
  readonly #name: string;
  readonly #fd: number = -1;
  size = 0;

  /** @throws `invalid-input` if there can be no such file */
  constructor(name: string) {
    this.#name = name;
    const path = join(tmpdir(), `vault-audit-${randomBytes(8).toString("hex")}`);
    this.#fd = this.#attempt(() => openSync(path, "wx+", 0o600));
    this.#attempt(() => unlinkSync(path));
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;)
      at += this.#attempt(() => writeSync(this.#fd, bytes, at, bytes.length - at, this.size + at));
    this.size += bytes.length;
  }

  /** Returns the number of bytes that were read. */
  read(bytes: Buffer, offset: number): number {
    return this.#attempt(() => readSync(this.#fd, bytes, 0, bytes.length, offset));
  }

  close(): void {
    closeSync(this.#fd);
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (cause) {
      const { code = "unwritable" } = cause as NodeJS.ErrnoException;
      throw new VaultError(
        "invalid-input",
        `${this.#name} cannot be kept in ${tmpdir()} while it is read: ${code}`,
        {
          hint: "set TMPDIR to a folder with room for it, or name a file instead of a stream",
          cause,
        },
      );
    }
  }
}

/** Bytes after which signals are handled. */
const turnBytes = 4 * 1024 * 1024;

/** @throws `invalid-input` with the name of what cannot be read */
function attempt<T>(name: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw cannotRead(name, error);
  }
}

function sizeOf(path: string): number | null {
  const found = statSync(path);
  if (found.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
  return found.isFile() ? found.size : null;
}

function cannotRead(path: string, cause: unknown): VaultError {
  const { code } = cause as NodeJS.ErrnoException;
  const reasons: Record<string, string> = { EISDIR: "it is a folder", ENOENT: "no such file" };
  const why = reasons[code ?? ""] ?? code ?? "unreadable";
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

const startsWith = (bytes: Buffer, mark: readonly number[] | string, at = 0): boolean =>
  bytes
    .subarray(at, at + mark.length)
    .equals(typeof mark === "string" ? Buffer.from(mark, "latin1") : Buffer.from(mark));

/** What is no text by its first bytes, and the command that makes one of it. */
const others: readonly [magic: string, name: string, way: string, at?: number][] = [
  ["PK\x03\x04", "a zip archive", "unzip -p FILE"],
  ["PK\x05\x06", "an empty zip archive", ""],
  ["ustar", "a tar archive", "tar -xOf FILE", 257],
  ["\x28\xb5\x2f\xfd", "packed with zstd", "zstd -dc FILE"],
  ["\xfd7zXZ", "packed with xz", "xz -dc FILE"],
  ["BZh", "packed with bzip2", "bzip2 -dc FILE"],
  ["\x04\x22\x4d\x18", "packed with lz4", "lz4 -dc FILE"],
  ["\xff\x06\0\0sNaPpY", "packed with snappy", ""],
  ["\x1f\x9d", "packed with compress", "gzip -dc FILE"],
  ["7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so FILE"],
  ["Rar!", "a rar archive", ""],
  ["%PDF-", "a PDF document", ""],
  ["PAR1", "a Parquet file", ""],
  ["ORC", "an ORC file", ""],
  ["Obj\x01", "an Avro file", ""],
  ["ARROW1", "an Arrow file", ""],
  ["SQLite format 3", "an SQLite database", ""],
  ["\xd0\xcf\x11\xe0", "an Office document", ""],
];

/** @throws `invalid-input` with what it is, if it is no text */
function checkText(head: Buffer, name: string): void {
  const [, kind, way = ""] =
    others.find(([magic, , , at]) => startsWith(head, magic, at)) ??
    (isHtml.test(head.toString("latin1")) ? ["", "an HTML page, as of a login or an error"] : []);
  const isBook = startsWith(head, "PK") && /xl\/|\[Content_Types\]/.test(head.toString("latin1"));
  const what = isBook ? "an Excel workbook (a zip archive)" : kind;
  const isBinary = what === undefined && hasControls(head);
  if (what === undefined && !isBinary) return;
  throw new VaultError("invalid-input", `${name} is ${what ?? "binary data"}, not text`, {
    hint:
      isBook || way === ""
        ? "have the items exported as NDJSON, JSON or CSV with a header line"
        : `unpack it first: ${way} | vault audit-replay -`,
  });
}

const isHtml = /^[\s\xef\xbb\xbf]*<(?:!doctype html|html)/i;

/** Whether many bytes are control characters that no text has. Zeros are left by a crash, or belong to UTF-16. */
function hasControls(head: Buffer): boolean {
  const controls = head.filter(
    (byte) => byte < 32 && byte !== 0 && (byte < 7 || byte > 13) && byte !== 27 && byte !== 30,
  );
  return controls.length * 20 > head.length;
}

interface Mark {
  encoding: "utf-8" | "utf-16le" | "utf-16be";
  length: number;
}

/** Returns the encoding by the byte-order mark, and without one by where the zeros are that UTF-16 has. */
function markOf(head: Buffer): Mark {
  if (startsWith(head, [0xef, 0xbb, 0xbf])) return { encoding: "utf-8", length: 3 };
  if (startsWith(head, [0xff, 0xfe])) return { encoding: "utf-16le", length: 2 };
  if (startsWith(head, [0xfe, 0xff])) return { encoding: "utf-16be", length: 2 };
  const zeros = [0, 0] as [number, number];
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even, odd] = zeros;
  const most = Math.floor(head.length / 2);
  if (most > 1 && even === 0 && odd * 10 > most * 8) return { encoding: "utf-16le", length: 0 };
  if (most > 1 && odd === 0 && even * 10 > most * 8) return { encoding: "utf-16be", length: 0 };
  return { encoding: "utf-8", length: 0 };
}

/** Decodes UTF-16 to UTF-8 without the byte-order mark. */
async function* decoded(text: Peekable, { encoding, length }: Mark): AsyncGenerator<Uint8Array> {
  await text.take(length);
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  for await (const chunk of text.all()) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}
