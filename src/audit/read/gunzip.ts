import { once } from "node:events";
import { crc32, createInflateRaw } from "node:zlib";

/** Chunks of a text, whose beginning can be looked at. */
export class Chunks {
  readonly #source: AsyncIterator<Uint8Array, unknown>;
  #head: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterator<Uint8Array, unknown>) {
    this.#source = source;
  }

  /** Returns the first `size` bytes, or all if there are fewer. */
  async peek(size: number): Promise<Buffer> {
    while (this.#head.length < size) {
      // A source may use its bytes again.
      const head = Buffer.from(this.#head);
      const next = await this.#source.next();
      if (next.done === true) break;
      const { buffer, byteOffset, length } = next.value;
      const chunk = Buffer.from(buffer, byteOffset, length);
      this.#head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    }
    return this.#head.subarray(0, size);
  }

  /** Takes up to `most` bytes, which are valid until the next call; none at the end. */
  async take(most: number): Promise<Buffer> {
    if (this.#head.length === 0) await this.peek(1);
    const taken = this.#head.subarray(0, most);
    this.#head = this.#head.subarray(taken.length);
    return taken;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let bytes; (bytes = await this.take(pieceSize)).length > 0;) yield bytes;
  }
}

/** Number of bytes processed at a time, which fit the CPU's cache. */
export const pieceSize = 256 * 1024;

/** Bytes decompressed at a time: an error in them drops all that they hold. */
const packedSize = 16 * 1024;

/** Maximum length of a member's header, in which the file may be named and described. */
const longestHeader = 128 * 1024;

const cutOff = "the gzip data is cut off";
const damaged = "the gzip data is damaged";

export const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * Decompresses gzip of one or more members. Calls `onProblem` with the reason if the data is cut off or damaged, after what could be
 * decompressed, and if anything follows it but zeros, which pad a tape, and ends of lines. (Node's own `Gunzip` loses items before that.)
 */
export async function* gunzip(
  source: Chunks,
  onProblem: (problem: string) => void,
): AsyncGenerator<Buffer> {
  while (isGzip(await source.peek(2))) {
    const problem = yield* memberOf(source);
    if (problem !== null) return onProblem(problem);
  }
  for await (const bytes of source)
    if (bytes.some((byte) => byte !== 0 && byte !== 10 && byte !== 13))
      return onProblem("something else follows the gzip data");
}

/** Decompresses a member (RFC 1952, section 2.3). Returns why it cannot be read to its end, or null. */
async function* memberOf(source: Chunks): AsyncGenerator<Buffer, string | null> {
  const header = await source.peek(longestHeader);
  if (header.length > 2 && header[2] !== 8) return damaged;
  await source.take(headerLength(header));
  const inflate = createInflateRaw({ chunkSize: 64 * 1024 });
  const output: Buffer[] = [];
  inflate.on("data", (bytes: Buffer) => output.push(bytes));
  const failed = once(inflate, "error").then(() => damaged);
  let [checksum, size] = [0, 0];
  for (let hasEnded = false; !hasEnded;) {
    const packed = await source.peek(packedSize);
    if (packed.length === 0) return cutOff;
    const before = inflate.bytesWritten;
    const written = new Promise<null>((resolve) => inflate.write(packed, () => resolve(null)));
    const problem = await Promise.race([failed, written]);
    for (const bytes of output.splice(0)) {
      checksum = crc32(bytes, checksum);
      size += bytes.length;
      yield bytes;
    }
    if (problem !== null) return problem;
    const { length } = await source.take(inflate.bytesWritten - before);
    hasEnded = length < packed.length;
  }
  inflate.destroy();
  const trailer = await source.peek(8);
  if (trailer.length < 8) return cutOff;
  const isRight =
    trailer.readUInt32LE(0) === checksum && trailer.readUInt32LE(4) === size % 2 ** 32;
  await source.take(8);
  return isRight ? null : damaged;
}

function headerLength(header: Buffer): number {
  const [flags = 0, extraLow = 0, extraHigh = 0] = [3, 10, 11].map((at) => header[at]);
  const afterExtra = 10 + ((flags & 4) === 0 ? 0 : 2 + extraLow + 256 * extraHigh);
  const texts = [8, 16].filter((flag) => (flags & flag) !== 0);
  const afterTexts = texts.reduce((at) => header.indexOf(0, at) + 1, afterExtra);
  return afterTexts + (flags & 2);
}
