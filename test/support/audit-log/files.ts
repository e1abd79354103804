import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { TruthItem } from "./facts.ts";
import type { Form } from "./forms.ts";

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
