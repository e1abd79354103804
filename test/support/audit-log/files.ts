import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { TruthItem } from "./facts.ts";

export const formNames = ["ndjson", "json", "json-compact", "csv", "tsv"] as const;

export type FormName = (typeof formNames)[number];

/** How a log is written as text. Line ends are \n here. */
interface Form {
  head: string;
  /** One item, without what separates it from the next one. */
  item(shown: Record<string, unknown>): string;
  separator: string;
  tail: string;
  /** Places are counted in items, not in lines. */
  countsItems: boolean;
  /** What is no item, but leaves the rest readable. */
  garbage: readonly string[];
  /** Of a last line that was cut off. */
  cut(item: string): string;
}

const halved = (item: string): string => item.slice(0, Math.floor(item.length / 2));

const jsonGarbage = [
  "null",
  "42",
  '"READ_VAULT"',
  "[]",
  "{}",
  '{"note":"rotated","by":"logrotate"}',
];

export function createForm(name: FormName, columns: readonly string[]): Form {
  switch (name) {
    case "ndjson": {
      const garbage = [
        ...jsonGarbage,
        "-- log rotated --",
        '{"id":"half',
        "}{",
        "\u0000\u0001",
        "READ_VAULT,SUCCESS",
        "[1,",
      ];
      return {
        head: "",
        item: (shown) => JSON.stringify(shown),
        separator: "\n",
        tail: "\n",
        countsItems: false,
        garbage,
        cut: halved,
      };
    }
    case "json": {
      const item = (shown: Record<string, unknown>): string =>
        `  ${JSON.stringify(shown, null, 2).replaceAll("\n", "\n  ")}`;
      return {
        head: "[\n",
        item,
        separator: ",\n",
        tail: "\n]\n",
        countsItems: true,
        garbage: jsonGarbage,
        cut: halved,
      };
    }
    case "json-compact": {
      const garbage = jsonGarbage;
      return {
        head: "[",
        item: (shown) => JSON.stringify(shown),
        separator: ",",
        tail: "]",
        countsItems: true,
        garbage,
        cut: halved,
      };
    }
    case "csv":
      return table(",", columns);
    case "tsv":
      return table("\t", columns);
  }
}

function table(separator: string, columns: readonly string[]): Form {
  const row = (cells: readonly string[]): string =>
    cells.map((cell) => quoted(cell, separator)).join(separator);
  return {
    head: `${row(columns)}\n`,
    item: (shown) => row(columns.map((column) => textOf(at(shown, column)))),
    separator: "\n",
    tail: "\n",
    countsItems: false,
    garbage: ["-- log rotated --", "total", "x".repeat(300)],
    // Within the first cell: a cut one later might still be read as an item.
    cut: (item) => item.slice(0, 10),
  };
}

function at(shown: Record<string, unknown>, column: string): unknown {
  if (Object.hasOwn(shown, column)) return shown[column];
  const [name = "", ...rest] = column.split(".");
  const inner = shown[name];
  return rest.length > 0 && typeof inner === "object" && inner !== null
    ? at(inner as Record<string, unknown>, rest.join("."))
    : null;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const quoted = (text: string, separator: string): string =>
  /["\r\n]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text;

export interface FileOptions {
  gzip: boolean;
  byteOrderMark: boolean;
  crlf: boolean;
}

const chunkSize = 1 << 20;

/** One file of a log; knows at which line or number it is. */
export class LogFile {
  readonly #form: Form;
  readonly #part: number;
  readonly #crlf: boolean;
  readonly #output;
  readonly #done: Promise<void>;
  #text: string;
  #isFirst = true;
  #line: number;

  constructor(path: string, form: Form, part: number, options: FileOptions) {
    this.#form = form;
    this.#part = part;
    this.#crlf = options.crlf;
    const file = createWriteStream(path);
    const gzip = options.gzip ? createGzip({ level: 1 }) : undefined;
    gzip?.pipe(file);
    this.#output = gzip ?? file;
    this.#done = finished(file);
    this.#text = `${options.byteOrderMark ? "\ufeff" : ""}${form.head}`;
    this.#line = form.countsItems ? 1 : 1 + lineEnds(form.head);
  }

  /** The place at which it stands now is the next one's. */
  write(text: string, mark: TruthItem | null = null): { part: number; line: number } {
    const { separator, countsItems } = this.#form;
    if (mark !== null && mark.line === 0) {
      mark.part = this.#part;
      mark.line = this.#line;
    }
    const place = { part: this.#part, line: this.#line };
    this.#text += this.#isFirst ? text : separator + text;
    this.#isFirst = false;
    this.#line += countsItems ? 1 : 1 + lineEnds(text);
    return place;
  }

  /** Waits where the disk does not keep up. */
  async flush(isLast = false): Promise<void> {
    if (this.#text.length < chunkSize && !isLast) return;
    const text = this.#crlf ? this.#text.replaceAll("\n", "\r\n") : this.#text;
    this.#text = "";
    if (!this.#output.write(text)) await once(this.#output, "drain");
  }

  async close(isCut: boolean): Promise<void> {
    if (!isCut && (!this.#isFirst || this.#form.countsItems)) this.#text += this.#form.tail;
    await this.flush(true);
    this.#output.end();
    await this.#done;
  }
}

function lineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
