import { StringDecoder } from "node:string_decoder";
import { getManyValues, isMany, none } from "stream-chain/core";
import type { Token } from "stream-json/core/parser.js";
import { jsonParser } from "stream-json/core/parser.js";
import { longestRecord, ownText, piecesOf, tooLong } from "./lines.ts";
import type { AuditRecord, SkipLine } from "./record.ts";
import { flatten, kindOf } from "./record.ts";
import { isEmptyWrapper } from "./sniff.ts";

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
  if (stopped !== null) skip(elements.current(), `${stopped}: reading stopped`, true);
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

/** Depth of nesting at which reading stops. */
const deepest = 500;

type Container = { values: Record<string, unknown> | unknown[]; key: string };

/** Assembles records from the tokens of a JSON text, one element at a time. */
class JsonElements {
  /** Why reading cannot continue. */
  stopped: string | null = null;
  readonly #skip: SkipLine;
  #records: AuditRecord[] = [];
  /** Number of the current or last element. */
  #number = 0;
  /** Number of open containers. */
  #depth = 0;
  /** Depth inside the array whose elements are read; null before and after it. */
  #list: number | null = null;
  /** Depth outside the current element; null between elements. */
  #base: number | null = null;
  /** Open containers of the current element; empty if it is dropped. */
  #stack: Container[] = [];
  #isDropped = false;
  #size = 0;
  #text = "";
  #afterArrayStart = false;
  /** Whether the text is a sequence of objects without an array. */
  #isSequence = false;

  constructor(skip: SkipLine) {
    this.#skip = skip;
  }

  /** Returns the records since the last call. */
  found(): AuditRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  /** Returns the number of the current or, between elements, the next element. */
  current(): number {
    return this.#base === null ? this.#number + 1 : this.#number;
  }

  take(tokens: readonly Token[]): void {
    for (const token of tokens) {
      this.#takeOne(token);
      this.#afterArrayStart = token.name === "startArray";
    }
  }

  #takeOne(token: Token): void {
    switch (token.name) {
      case "startObject":
        return this.#open(false);
      case "startArray":
        return this.#open(true);
      case "endObject":
      case "endArray":
        return this.#close();
      case "startKey":
      case "startString":
      case "startNumber":
        this.#text = "";
        return;
      case "stringChunk":
      case "numberChunk":
        return this.#grow(token.value);
      case "endKey": {
        const container = this.#stack.at(-1);
        if (container !== undefined) container.key = ownText(this.#text);
        return;
      }
      case "endString":
        return this.#add(ownText(this.#text));
      case "endNumber":
        return this.#add(numberOf(this.#text));
      case "trueValue":
      case "falseValue":
      case "nullValue":
        return this.#add(token.value);
      // Tokens of packed values, which are off, and whitespace.
      case "keyValue":
      case "stringValue":
      case "numberValue":
      case "whitespace":
    }
  }

  #open(isArray: boolean): void {
    if (this.#depth >= deepest) {
      this.stopped = "nested too deeply";
      return;
    }
    if (!isArray && this.#afterArrayStart && this.#base === 0 && !this.#isSequence)
      this.#startList();
    else if (isArray && this.#depth === 0) this.#list = 1;
    if (this.#isElement(!isArray)) this.#begin(isArray ? "an array" : null);
    const values: Container["values"] = isArray
      ? []
      : (Object.create(null) as Record<string, unknown>);
    if (this.#base !== null && !this.#isDropped) {
      this.#add(values);
      this.#stack.push({ values, key: "" });
    }
    this.#depth += 1;
  }

  #close(): void {
    this.#depth -= 1;
    const closed = this.#stack.pop();
    if (this.#depth === this.#base) this.#finish(closed?.values);
    if (this.#list !== null && this.#depth < this.#list) this.#list = null;
  }

  /** Starts the array of elements in a wrapper, which was taken for an element itself. */
  #startList(): void {
    this.#list = this.#depth;
    this.#base = null;
    this.#stack = [];
    this.#number -= 1;
  }

  #isElement(isObject: boolean): boolean {
    return this.#depth === this.#list || (this.#depth === 0 && this.#list === null && isObject);
  }

  #begin(notAnObject: string | null): void {
    this.#number += 1;
    this.#base = this.#depth;
    this.#size = 0;
    this.#isDropped = notAnObject !== null;
    if (notAnObject !== null) this.#skip(this.#number, `${notAnObject}, not an object`);
  }

  #finish(element: Container["values"] | undefined): void {
    const isBare = this.#base === 0;
    this.#base = null;
    if (this.#isDropped && isBare) this.#skip(this.#number, tooLong);
    if (this.#isDropped || element === undefined) return;
    if (isBare && isEmptyWrapper(element)) this.#number -= 1;
    else this.#records.push({ line: this.#number, fields: flatten(element) });
    this.#isSequence ||= isBare;
  }

  #grow(piece: string): void {
    this.#text = this.#base === null || this.#isDropped ? "" : this.#text + piece;
    this.#measure(piece.length);
  }

  #measure(length: number): void {
    this.#size += length;
    if (this.#base === null || this.#isDropped || this.#size <= longestRecord) return;
    this.#isDropped = true;
    this.#stack = [];
    this.#text = "";
    // An element this long at the top level is probably a wrapper, reported by `#finish` if it is not.
    if (this.#base !== 0) this.#skip(this.#number, tooLong);
  }

  /** Adds a value to the innermost open container. */
  #add(value: unknown): void {
    const isScalar = typeof value !== "object" || value === null;
    if (isScalar && this.#isElement(true)) return this.#skipScalar(value);
    this.#measure(8);
    const container = this.#stack.at(-1);
    if (container === undefined) return;
    if (Array.isArray(container.values)) container.values.push(value);
    else container.values[container.key] = value;
  }

  #skipScalar(value: unknown): void {
    this.#number += 1;
    this.#skip(this.#number, `${kindOf(value)}, not an object`);
  }
}

/** Returns a number, or its text if a number would lose digits. The text is empty in a dropped element. */
function numberOf(text: string): number | string {
  if (text === "") return 0;
  const number = Number(text);
  return String(number) === text ? number : ownText(text);
}
