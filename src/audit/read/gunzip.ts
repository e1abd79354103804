import { crc32, createInflateRaw } from "node:zlib";

/** Chunks whose beginning can be read ahead. */
export class Peekable {
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
    if (parts.length > 1) this.#head = Buffer.concat(parts);
    return this.#head.subarray(0, size);
  }

  /** Takes up to `size` bytes, which are valid until the next call; none at the end. */
  async take(size: number): Promise<Buffer> {
    while (this.#head.length === 0) {
      const next = await this.#chunks.next();
      if (next.done === true) break;
      this.#head = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    }
    const taken = this.#head.subarray(0, size);
    this.#head = this.#head.subarray(taken.length);
    return taken;
  }

  /** Puts bytes back that were taken last. */
  putBack(bytes: Buffer): void {
    this.#head = Buffer.concat([bytes, this.#head]);
  }

  async *all(): AsyncGenerator<Uint8Array> {
    for (
      let bytes = await this.take(pieceSize);
      bytes.length > 0;
      bytes = await this.take(pieceSize)
    )
      yield bytes;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

/** Number of bytes processed at a time, which fit the CPU's cache. */
export const pieceSize = 256 * 1024;

/** Bytes decompressed at a time: an error in them drops all that they hold. */
const packedSize = 16 * 1024;

const cutOff = "the gzip data is cut off";
const damaged = "the gzip data is damaged";

/**
 * Decompresses gzip of one or more members. Truncated or damaged data ends the sequence after what could be decompressed, and `onProblem`
 * is called with the reason; also for what follows the data, unless it is nothing but zeros and the end of a line.
 */
export async function* gunzip(
  source: Peekable,
  onProblem: (problem: string) => void,
): AsyncGenerator<Buffer> {
  for (let isFirst = true; ; isFirst = false) {
    if (!isFirst && !(await isMember(source))) {
      if (await hasMore(source)) onProblem("something else follows the gzip data");
      return;
    }
    const problem = (await passHeader(source)) ?? (yield* inflate(source));
    if (problem !== null) return onProblem(problem);
  }
}

async function isMember(source: Peekable): Promise<boolean> {
  const [first, second] = await source.peek(2);
  return first === 0x1f && second === 0x8b;
}

/** Whether anything follows but zeros, which pad a tape, and ends of lines. */
async function hasMore(source: Peekable): Promise<boolean> {
  for await (const bytes of source.all())
    if (bytes.some((byte) => byte !== 0 && byte !== 10 && byte !== 13)) return true;
  return false;
}

/** RFC 1952, section 2.3. Returns why the header cannot be read, or null. */
async function passHeader(source: Peekable): Promise<string | null> {
  const head = await source.peek(10);
  if (head.length < 10) return head.length > 2 && head[2] !== 8 ? damaged : cutOff;
  const flags = head[3] as number;
  if (head[2] !== 8 || flags > 31) return damaged;
  await source.take(10);
  if ((flags & 4) !== 0) {
    const length = await source.peek(2);
    if (length.length < 2) return cutOff;
    await pass(source, 2 + length.readUInt16LE());
  }
  for (const named of [8, 16]) if ((flags & named) !== 0) await passText(source);
  if ((flags & 2) !== 0) await pass(source, 2);
  return null;
}

async function pass(source: Peekable, count: number): Promise<void> {
  for (let left = count; left > 0;) {
    const { length } = await source.take(left);
    if (length === 0) return;
    left -= length;
  }
}

/** Passes a text that ends with a zero. */
async function passText(source: Peekable): Promise<void> {
  for (let [byte] = await source.take(1); byte !== undefined && byte !== 0;)
    [byte] = await source.take(1);
}

/** Decompresses a member, no faster than it is consumed. Returns why it cannot be read to its end, or null. */
async function* inflate(source: Peekable): AsyncGenerator<Buffer, string | null> {
  const unzip = createInflateRaw({ chunkSize: 64 * 1024 });
  let problem: string | null = null;
  let isTaken = false;
  let wake = (): void => undefined;
  unzip.on("error", (error: NodeJS.ErrnoException) => {
    problem ??= error.code === "Z_BUF_ERROR" ? cutOff : damaged;
  });
  for (const event of ["readable", "end", "error", "close"]) unzip.on(event, () => wake());
  let [checksum, size] = [0, 0];
  async function* drain(): AsyncGenerator<Buffer> {
    for (;;) {
      const bytes = unzip.read() as Buffer | null;
      if (bytes !== null) {
        checksum = crc32(bytes, checksum);
        size += bytes.length;
        yield bytes;
      } else if (isTaken || unzip.readableEnded || problem !== null) return;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    }
  }
  try {
    for (let hasEnded = false; !hasEnded;) {
      // The decompressor may read it after the next ones have been read.
      const packed = Buffer.from(await source.take(packedSize));
      const before = unzip.bytesWritten;
      isTaken = false;
      if (packed.length === 0) unzip.end();
      else
        unzip.write(packed, () => {
          isTaken = true;
          wake();
        });
      yield* drain();
      const left = packed.subarray(unzip.bytesWritten - before);
      hasEnded = packed.length === 0 || left.length > 0 || problem !== null;
      if (problem === null) source.putBack(left);
    }
  } finally {
    unzip.destroy();
  }
  if (problem !== null) return problem;
  const trailer = Buffer.from(await source.peek(8));
  if (trailer.length < 8) return cutOff;
  await pass(source, 8);
  const isRight =
    trailer.readUInt32LE(0) === checksum && trailer.readUInt32LE(4) === size % 2 ** 32;
  return isRight ? null : damaged;
}
