import { randomBytes } from "node:crypto";
import {
  closeSync,
  createReadStream,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { VaultError } from "../../errors.ts";
import { Chunks, gunzip, isGzip, pieceSize } from "./gunzip.ts";

/** Number of bytes by which the format is recognized. */
const headSize = 64 * 1024;

/** Maximum number of times that an input is packed. */
const mostPacked = 3;

/** An export: a file or a stream. */
export interface InputSpec {
  /** For messages. */
  name: string;
  path?: string;
  stream?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** The text of an export, UTF-8 without a byte-order mark, which is read once, and any part of it again. */
export class Input {
  readonly name: string;
  /** Size of the file in bytes, compressed or not; null if unknown. */
  readonly total: number | null;
  /** Number of these bytes that were read, for progress. */
  bytesRead = 0;
  isGzip = false;
  /** The beginning of the text, and whether that is all of it. */
  head = Buffer.alloc(0);
  isWhole = false;
  /** Why the text ended early, once it has ended. */
  problem: string | null = null;
  readonly #file: number | undefined;
  readonly #source: AsyncGenerator<Uint8Array>;
  #text: Chunks;
  /** Offset of the text in the file; undefined if it must be copied to be read again. */
  #start: number | undefined;
  /** A file without a name, with the text as far as it was read. */
  #copy: number | undefined;

  constructor({ name, path = name, stream }: InputSpec) {
    this.name = name;
    const found = stream === undefined ? this.#attempt(() => statSync(path)) : undefined;
    this.total = found?.isFile() === true ? found.size : null;
    if (this.total !== null) this.#file = this.#attempt(() => openSync(path, "r"));
    this.#source = this.#counted(
      stream ?? (this.#file === undefined ? createReadStream(path) : piecesOf(this.#file)),
    );
    this.#text = new Chunks(this.#source);
  }

  /**
   * Reads the beginning.
   *
   * @throws `invalid-input` if it cannot be read, or is no text.
   */
  async open(): Promise<this> {
    for (let packed = 0; packed < mostPacked && isGzip(await this.#text.peek(2)); packed++) {
      this.isGzip = true;
      this.#text = new Chunks(gunzip(this.#text, (problem) => void (this.problem ??= problem)));
    }
    const first = await this.#text.peek(512);
    checkText(first, this.name);
    const [mark, encoding] = encodingOf(first);
    await this.#text.take(mark.length);
    if (encoding !== "utf-8") this.#text = new Chunks(decoded(this.#text, encoding));
    else if (this.#file !== undefined && !this.isGzip) this.#start = mark.length;
    this.head = Buffer.from(await this.#text.peek(headSize));
    this.isWhole = this.head.length < headSize;
    return this;
  }

  /**
   * Reads up to `most` bytes, which are valid until the next call; none at the end.
   *
   * @throws `invalid-input` if reading or copying fails.
   */
  async take(most: number): Promise<Buffer> {
    const bytes = await this.#text.take(most);
    const problem = `${this.name} cannot be kept in ${tmpdir()} while it is read`;
    if (this.#start === undefined)
      this.#attempt(() => writeFileSync((this.#copy ??= openUnnamed()), bytes), problem);
    return bytes;
  }

  /**
   * Returns bytes that were read.
   *
   * @throws `invalid-input` if the file has become shorter.
   */
  at(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    const file = (this.#copy ?? this.#file) as number;
    const from = offset + (this.#start ?? 0);
    if (this.#attempt(() => readSync(file, bytes, 0, length, from)) < length)
      throw hasChanged(this.name);
    return bytes;
  }

  async close(): Promise<void> {
    await this.#source.return(undefined);
    for (const file of [this.#file, this.#copy]) if (file !== undefined) closeSync(file);
  }

  async *#counted(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of chunks) {
        this.bytesRead += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw error instanceof VaultError ? error : failure(`cannot read ${this.name}`, error);
    }
  }

  #attempt<T>(action: () => T, problem = `cannot read ${this.name}`): T {
    try {
      return action();
    } catch (error) {
      throw failure(problem, error);
    }
  }
}

function failure(problem: string, cause: unknown): VaultError {
  const { code = "unreadable" } = cause as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    EISDIR: "it is a folder",
    ENOENT: "no such file or folder",
  };
  return new VaultError("invalid-input", `${problem}: ${reasons[code] ?? code}`, {
    hint: "name an export that can be read; what is no plain file is kept in the folder TMPDIR",
    cause,
  });
}

export const hasChanged = (name: string): VaultError =>
  new VaultError("invalid-input", `${name} changed while it was read`, { hint: "run it again" });

/** Reads a file without waiting, and handles signals in between. */
async function* piecesOf(file: number): AsyncGenerator<Uint8Array> {
  const room = Buffer.alloc(pieceSize);
  for (let length; (length = readSync(file, room)) > 0; await setImmediate())
    yield room.subarray(0, length);
}

/** Opens a file that is gone when it is closed. */
function openUnnamed(): number {
  const path = join(tmpdir(), `vault-audit-${randomBytes(8).toString("hex")}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}

/** What is no text by its first bytes, and the command that makes one of it. */
const others: readonly [magic: string | RegExp, kind: string, way?: string][] = [
  [/^PK[^]*(?:xl\/|\[Content_Types\])/, "an Excel workbook (a zip archive)"],
  ["PK\x03\x04", "a zip archive", "unzip -p FILE"],
  [/^[^]{257}ustar/, "a tar archive", "tar -xOf FILE"],
  ["\x28\xb5\x2f\xfd", "packed with zstd", "zstd -dc FILE"],
  ["\xfd7zXZ", "packed with xz", "xz -dc FILE"],
  ["BZh", "packed with bzip2", "bzip2 -dc FILE"],
  ["\x04\x22\x4d\x18", "packed with lz4", "lz4 -dc FILE"],
  ["7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so FILE"],
  ["%PDF-", "a PDF document"],
  ["PAR1", "a Parquet file"],
  ["SQLite format 3", "an SQLite database"],
  ["\xd0\xcf\x11\xe0", "an Office document"],
  [/^[\s\xef\xbb\xbf]*<(?:!doctype html|html)/i, "an HTML page, as of a login or an error"],
];

/** @throws `invalid-input` with what it is, if it is no text */
function checkText(head: Buffer, name: string): void {
  const text = head.toString("latin1");
  const [, kind, way] =
    others.find(([magic]) =>
      typeof magic === "string" ? text.startsWith(magic) : magic.test(text),
    ) ?? [];
  // Zeros are left by a crash, or belong to UTF-16.
  const controls = head.filter(
    (byte) => byte < 32 && byte !== 0 && (byte < 7 || byte > 13) && byte !== 27 && byte !== 30,
  );
  if (kind === undefined && controls.length * 20 <= head.length) return;
  throw new VaultError("invalid-input", `${name} is ${kind ?? "binary data"}, not text`, {
    hint:
      way === undefined
        ? "have the items exported as NDJSON, JSON or CSV with a header line"
        : `unpack it first: ${way} | vault audit-replay -`,
  });
}

const marks = [
  ["\xef\xbb\xbf", "utf-8"],
  ["\xff\xfe", "utf-16le"],
  ["\xfe\xff", "utf-16be"],
] as const;

/** Returns the encoding with its byte-order mark; without one, UTF-16 is known by where its zeros are. */
function encodingOf(head: Buffer): readonly [mark: string, encoding: string] {
  const marked = marks.find(([mark]) => head.toString("latin1").startsWith(mark));
  if (marked !== undefined) return marked;
  const zeros = (rest: number): number =>
    head.filter((byte, at) => byte === 0 && at % 2 === rest).length;
  const [even, odd] = [zeros(0), zeros(1)];
  const isWide = Math.min(even, odd) === 0 && Math.max(even, odd) > head.length * 0.4;
  return ["", !isWide ? "utf-8" : odd > 0 ? "utf-16le" : "utf-16be"];
}

/** Decodes UTF-16. */
async function* decoded(text: Chunks, encoding: string): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of text) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}
