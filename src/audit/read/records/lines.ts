import { StringDecoder } from "node:string_decoder";

/** Maximum size of a line or JSON element in bytes. A longer one is skipped, and never held in memory. */
export const longestRecord = 1024 * 1024;

/** Reason for skipping it. */
export const tooLong = "longer than 1 MiB";

/** Bytes processed at a time. */
const pieceSize = 64 * 1024;

export interface Line {
  /** From 1. */
  number: number;
  /** Without the line end (LF or CRLF). */
  text: string;
  /** False for a last line without a newline. */
  ended: boolean;
}

/** Splits an input into lines, even empty ones, with a batch for each piece of the input. Calls `skip` for lines that are too long. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  skip: (line: number, reason: string) => void,
): AsyncGenerator<Line[]> {
  const decoder = new StringDecoder("utf8");
  let number = 1;
  // The beginning of an incomplete line.
  let begun = "";
  let begunBytes = 0;
  for await (const piece of piecesOf(chunks)) {
    const last = piece.lastIndexOf(10);
    if (last === -1) {
      begunBytes += piece.length;
      const more = decoder.write(piece);
      begun = begunBytes > longestRecord ? "" : begun + more;
      continue;
    }
    // Including the newline, so that an incomplete character ends with its line.
    const texts = (begun + decoder.write(piece.subarray(0, last + 1))).split("\n");
    texts.pop();
    const lines: Line[] = [];
    const firstBytes = begunBytes + piece.indexOf(10);
    for (const [index, text] of texts.entries()) {
      if (index === 0 && firstBytes > longestRecord) skip(number, tooLong);
      else add(lines, number, text, true);
      number += 1;
    }
    begunBytes = piece.length - last - 1;
    begun = decoder.write(piece.subarray(last + 1));
    if (lines.length > 0) yield lines;
  }
  if (begunBytes > longestRecord) return skip(number, tooLong);
  const rest: Line[] = [];
  add(rest, number, begun + decoder.end(), false);
  if (begunBytes > 0) yield rest;
}

function add(lines: Line[], number: number, text: string, ended: boolean): void {
  lines.push({ number, text: text.endsWith("\r") ? text.slice(0, -1) : text, ended });
}

/** Splits chunks into pieces of bounded size. */
export async function* piecesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length; at += pieceSize) yield bytes.subarray(at, at + pieceSize);
  }
}

/** Copies a substring, which would otherwise keep the whole text in memory. */
export const ownText = (text: string): string =>
  text.length < 13 ? text : Buffer.from(text).toString();
