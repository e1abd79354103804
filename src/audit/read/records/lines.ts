/** Maximum size of a line or JSON element in bytes. A longer one is skipped, and never held in memory. */
export const longestRecord = 1024 * 1024;

/** Reason for skipping it. */
export const tooLong = "longer than 1 MiB";

/** Maximum number of bytes processed at a time, which fit the CPU's cache. */
export const pieceSize = 256 * 1024;

const newline = 0x0a;

/** Whole lines, from `from` up to `to`, exclusive. There is a newline before or at `to`. The bytes change when the next block is read. */
export interface Block {
  bytes: Buffer;
  from: number;
  to: number;
  /** Offset of the bytes in the input. */
  offset: number;
}

/** The lines of an input, in blocks. */
export class Lines {
  readonly #skip: (line: number, reason: string) => void;
  readonly #chunks: AsyncIterable<Uint8Array>;
  /** Number of the next line, from 1: whoever reads a line of a block counts it. */
  next = 1;

  /** `skip` is called for lines that are too long. */
  constructor(chunks: AsyncIterable<Uint8Array>, skip: (line: number, reason: string) => void) {
    this.#chunks = chunks;
    this.#skip = skip;
  }

  /** Yields all lines, even empty ones. Only the last block may end without a newline. */
  async *blocks(): AsyncGenerator<Block, void, undefined> {
    // The beginning of an incomplete line.
    let begun: Buffer[] = [];
    let length = 0;
    let offset = 0;
    const skip = (): void => this.#skip(this.next++, tooLong);
    const joined = (rest: Buffer, to: number): Block => {
      return { bytes: Buffer.concat([...begun, rest]), from: 0, to, offset: offset - length };
    };
    for await (const bytes of piecesOf(this.#chunks)) {
      let from = 0;
      if (length > 0) {
        const first = bytes.indexOf(newline);
        const isTooLong = length + (first < 0 ? bytes.length : first) > longestRecord;
        if (first >= 0) {
          from = first + 1;
          if (isTooLong) skip();
          else yield joined(bytes.subarray(0, from), length + from);
        } else {
          if (isTooLong) begun = [];
          else begun.push(Buffer.from(bytes));
          length += bytes.length;
          offset += bytes.length;
          continue;
        }
      }
      const to = bytes.lastIndexOf(newline) + 1;
      if (to > from) yield { bytes, from, to, offset };
      offset += bytes.length;
      begun = [Buffer.from(bytes.subarray(Math.max(from, to)))];
      length = begun[0]?.length ?? 0;
    }
    if (length > longestRecord) skip();
    else if (length > 0) yield joined(Buffer.from("\n"), length);
  }
}

/** A line as text. */
export interface Line {
  /** From 1. */
  number: number;
  /** Without the line end (LF or CRLF). */
  text: string;
  /** False for a last line without a newline. */
  ended: boolean;
}

/** Reads the lines of a block as text, and counts them. */
export function textLinesOf({ bytes, from, to }: Block, lines: Lines): Line[] {
  const texts = bytes.toString("utf8", from, to).split("\n");
  const last = texts.pop() ?? "";
  const line = (text: string, ended: boolean): Line => ({
    number: lines.next++,
    text: text.endsWith("\r") ? text.slice(0, -1) : text,
    ended,
  });
  const all = texts.map((text) => line(text, true));
  return last === "" ? all : [...all, line(last, false)];
}

/** Splits chunks into pieces of bounded size. */
export async function* piecesOf(
  chunks: AsyncIterable<Uint8Array>,
  size = pieceSize,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
}

/** Copies a substring, which would otherwise keep the whole text in memory. */
export const ownText = (text: string): string =>
  text.length < 13 ? text : Buffer.from(text).toString();
