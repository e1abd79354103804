import { StringDecoder } from "node:string_decoder";
import { getManyValues, isMany, none } from "stream-chain/core";
import { jsonParser } from "stream-json/core/parser.js";
import { JsonElements } from "./json-elements.ts";
import { piecesOf } from "./lines.ts";
import type { AuditRecord, SkipLine } from "./record.ts";

/** Maximum number of characters tokenized at a time: tokens take many times their memory. */
const longestPart = 8 * 1024;

/**
 * Reads the objects in an array, in the first array of objects in a wrapper (`{"items":[…]}`), or in a sequence without an array,
 * numbered from 1. Reading ends at a syntax error, for which `skip` is called.
 */
export async function* jsonRecords(
  chunks: AsyncIterable<Uint8Array>,
  skip: SkipLine,
): AsyncGenerator<AuditRecord[]> {
  // Unpacked values arrive in pieces: the parser would buffer a string of any length.
  const parse = jsonParser({ packValues: false, jsonStreaming: true });
  const elements = new JsonElements(skip);
  const feed = (text: string | typeof none): string | null => {
    try {
      // The type of `parse` lacks `none`, the end of the input.
      const tokens = parse(text as string);
      if (isMany(tokens)) elements.take(getManyValues(tokens));
      return elements.stopped;
    } catch {
      return text === none ? "cut off here" : "not valid JSON from here on";
    }
  };
  const decoder = new StringDecoder("utf8");
  let stopped: string | null = null;
  for await (const chunk of piecesOf(chunks, 64 * 1024)) {
    for (const part of partsOf(decoder.write(chunk))) {
      stopped ??= feed(part);
      if (stopped !== null) break;
    }
    yield elements.found();
    if (stopped !== null) break;
  }
  stopped ??= feed(decoder.end());
  stopped ??= feed(none);
  if (stopped !== null) skip(elements.current(), `${stopped}: reading stopped`);
  yield elements.found();
}

/** Splits a text after each brace, because an error drops what the parser found in the same part, and at the maximum length. */
function* partsOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const brace = text.indexOf("}", from);
    const end = Math.min(brace === -1 ? text.length : brace + 1, from + longestPart);
    yield text.slice(from, end);
    from = end;
  }
}
