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
import { crc32, createInflateRaw } from "node:zlib";
import { VaultError } from "../../errors.ts";
import { openPipe } from "../../terminal/streams.ts";

/** Number of bytes by which the format is recognized. */
const headSize = 64 * 1024;

/** Number of bytes processed at a time, which fit the CPU's cache. */
export const pieceSize = 256 * 1024;

/** Bytes decompressed at a time: an error drops all that they hold. Member headers are shorter. */
const packedSize = 16 * 1024;

/** Maximum number of times that an input is packed. */
const mostPacked = 3;

type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface InputSpec {
  name: string;
  path?: string;
  stream?: Pieces;
}

/** An export as UTF-8 text: its file, or an unnamed copy of what is streamed, packed or UTF-16. */
export class Input {
  readonly name: string;
  /** The beginning of the text, and whether that is all of it. */
  head: Buffer = Buffer.alloc(0);
  isWhole = false;
  /** Why the text ends early, if it does. */
  problem: string | null = null;
  readonly #spec: InputSpec;
  #file: number | undefined;
  /** Offset of the text in the file, after a byte-order mark. */
  #start = 0;

  constructor(spec: InputSpec) {
    this.name = spec.name;
    this.#spec = spec;
  }

  /**
   * Opens the file, or keeps a copy.
   *
   * @throws `invalid-input` if it cannot be read or kept, or is no text.
   */
  async open(): Promise<this> {
    const { name, path = name, stream } = this.#spec;
    const isFile = stream === undefined && this.#attempt(() => statSync(path)).isFile();
    if (isFile) this.#file = this.#attempt(() => openSync(path, "r"));
    else {
      const pieces = stream ?? this.#attempt(() => openPipe(path)) ?? createReadStream(path);
      await this.#keep(pieces);
    }
    for (let packed = 0; packed < mostPacked && isGzip(this.#at(0, 2)); packed++)
      await this.#keep(this.#unpacked());
    const first = this.#at(0, 512);
    checkText(first, name);
    const [mark, encoding] = encodingOf(first);
    if (encoding !== "utf-8") await this.#keep(this.#decoded(encoding));
    else this.#start = mark.length;
    this.head = this.#at(0, headSize);
    this.isWhole = this.head.length < headSize;
    return this;
  }

  /**
   * Reads up to `most` bytes of the text into others. Returns their number, 0 at the end.
   *
   * @throws `invalid-input` if reading fails.
   */
  read(offset: number, into: Buffer, at: number, most: number): number {
    const from = this.#start + offset;
    return this.#attempt(() => readSync(this.#file as number, into, at, most, from));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #at(offset: number, size: number): Buffer {
    const bytes = Buffer.alloc(size);
    return bytes.subarray(0, this.read(offset, bytes, 0, size));
  }

  /** Reads all of the file, in UTF-16. */
  *#decoded(encoding: string): Generator<Uint8Array> {
    const decoder = new TextDecoder(encoding);
    for (let at = 0, bytes; (bytes = this.#at(at, pieceSize)).length > 0; at += bytes.length)
      yield Buffer.from(decoder.decode(bytes, { stream: true }));
    yield Buffer.from(decoder.decode());
  }

  /**
   * Decompresses the gzip members of the file (RFC 1952, section 2.3) as far as possible; `problem`
   * has the reason if that is not all. (Node's `Gunzip` loses what precedes an error.)
   */
  async *#unpacked(): AsyncGenerator<Uint8Array> {
    const [cutOff, damaged] = ["the gzip data is cut off", "the gzip data is damaged"];
    const fails = (problem: string): void => void (this.problem ??= problem);
    let offset = 0;
    while (isGzip(this.#at(offset, 2))) {
      const header = this.#at(offset, packedSize);
      if (header.length > 2 && header[2] !== 8) return fails(damaged);
      offset += headerLength(header);
      const output: Buffer[] = [];
      let settle: (problem?: Error | null) => void = () => undefined;
      const inflate = createInflateRaw({ chunkSize: 64 * 1024 })
        .on("data", (bytes: Buffer) => output.push(bytes))
        .on("error", (error) => settle(error));
      let checksum = 0;
      for (let hasEnded = false; !hasEnded;) {
        const packed = this.#at(offset, packedSize);
        if (packed.length === 0) return fails(cutOff);
        const before = inflate.bytesWritten;
        const problem = await new Promise((resolve) => inflate.write(packed, (settle = resolve)));
        for (const bytes of output.splice(0)) {
          checksum = crc32(bytes, checksum);
          yield bytes;
        }
        if (problem instanceof Error) return fails(damaged);
        hasEnded = inflate.bytesWritten - before < packed.length;
        offset += inflate.bytesWritten - before;
      }
      inflate.destroy();
      const trailer = this.#at(offset, 8);
      if (trailer.length < 8) return fails(cutOff);
      if (trailer.readUInt32LE(0) !== checksum) return fails(damaged);
      offset += trailer.length;
    }
    // Zeros pad a tape, and an end of a line is added in passing.
    for (let rest; (rest = this.#at(offset, pieceSize)).length > 0; offset += rest.length)
      if (rest.some((byte) => byte !== 0 && byte !== 10 && byte !== 13))
        return fails("something else follows the gzip data");
  }

  /** Takes a copy of these bytes in the place of the file. */
  async #keep(pieces: Pieces): Promise<void> {
    const problem = `${this.name} cannot be kept in ${tmpdir()} while it is read`;
    const copy = this.#attempt(openUnnamed, problem);
    try {
      for await (const bytes of pieces) {
        this.#attempt(() => writeFileSync(copy, bytes), problem);
        // Handles signals.
        await setImmediate();
      }
    } catch (error) {
      closeSync(copy);
      throw failure(`cannot read ${this.name}`, error);
    }
    this.close();
    this.#file = copy;
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
  if (cause instanceof VaultError) return cause;
  const { code = "unreadable" } = cause as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    EISDIR: "it is a folder",
    ENOENT: "no such file or folder",
  };
  return new VaultError("invalid-input", `${problem}: ${reasons[code] ?? code}`, {
    hint: "name an export that can be read; pipes and gzip need room in the folder TMPDIR",
    cause,
  });
}

/** Creates a file that is gone as soon as it is closed. */
function openUnnamed(): number {
  const path = join(tmpdir(), `vault-audit-${randomBytes(8).toString("hex")}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}

/** What is no text by its first bytes. */
const others: readonly [magic: string | RegExp, kind: string][] = [
  [/^PK[^]*(?:xl\/|\[Content_Types\])/, "an Excel workbook (a zip archive)"],
  ["PK\x03\x04", "a zip archive"],
  [/^[^]{257}ustar/, "a tar archive"],
  ["\x28\xb5\x2f\xfd", "packed with zstd"],
  ["\xfd7zXZ", "packed with xz"],
  ["BZh", "packed with bzip2"],
  ["\x04\x22\x4d\x18", "packed with lz4"],
  ["7z\xbc\xaf\x27\x1c", "a 7z archive"],
  ["%PDF-", "a PDF document"],
  ["PAR1", "a Parquet file"],
  ["SQLite format 3", "an SQLite database"],
  ["\xd0\xcf\x11\xe0", "an Office document"],
  [/^[\s\xef\xbb\xbf]*<(?:!doctype html|html)/i, "an HTML page, as of a login or an error"],
];

/** @throws `invalid-input` with what it is, if it is no text */
function checkText(head: Buffer, name: string): void {
  const text = head.toString("latin1");
  const [, kind = "binary data"] =
    others.find(([magic]) =>
      typeof magic === "string" ? text.startsWith(magic) : magic.test(text),
    ) ?? [];
  // Zeros are left by a crash, or belong to UTF-16.
  const controls = head.filter(
    (byte) => byte < 32 && byte !== 0 && (byte < 7 || byte > 13) && byte !== 27 && byte !== 30,
  );
  if (kind === "binary data" && controls.length * 20 <= head.length) return;
  throw new VaultError("invalid-input", `${name} is ${kind}, not text`, {
    hint: "have the items exported as NDJSON, JSON or CSV with a header line; unpack what is packed first, into a file or through a pipe (- is standard input)",
  });
}

const marks = [
  ["\xef\xbb\xbf", "utf-8"],
  ["\xff\xfe", "utf-16le"],
  ["\xfe\xff", "utf-16be"],
] as const;

/** Returns the encoding and its byte-order mark; without one, zeros tell UTF-16 by their places. */
function encodingOf(head: Buffer): readonly [mark: string, encoding: string] {
  const marked = marks.find(([mark]) => head.toString("latin1").startsWith(mark));
  if (marked !== undefined) return marked;
  const zeros = (rest: number): number =>
    head.filter((byte, at) => byte === 0 && at % 2 === rest).length;
  const [even, odd] = [zeros(0), zeros(1)];
  const isWide = Math.min(even, odd) === 0 && Math.max(even, odd) > head.length * 0.4;
  return ["", !isWide ? "utf-8" : odd > 0 ? "utf-16le" : "utf-16be"];
}

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

function headerLength(header: Buffer): number {
  const [flags = 0, extraLow = 0, extraHigh = 0] = [3, 10, 11].map((at) => header[at]);
  const afterExtra = 10 + ((flags & 4) === 0 ? 0 : 2 + extraLow + 256 * extraHigh);
  const texts = [8, 16].filter((flag) => (flags & flag) !== 0);
  const afterTexts = texts.reduce((at) => header.indexOf(0, at) + 1, afterExtra);
  return afterTexts + (flags & 2);
}
