import { Batch } from "../batch.ts";
import type { Classifier, Wording } from "../columns/classify-item.ts";
import { isFormerName, numberOf } from "../columns/classify-item.ts";
import { parseTime } from "../columns/times.ts";
import type { LineShape } from "./line-shape.ts";
import { ask, counted, noUuid, uuidLength } from "./scanner-constants.ts";
import { scannerModule } from "./scanner-module.ts";

const otherNumber = numberOf("other");

/** Returns the kind of items with an action and an outcome for the scanner, or `ask` if it depends on the description. */
function answerOf(classifier: Classifier, wording: Omit<Wording, "description">): number {
  return classifier.asksDescription(wording)
    ? ask
    : describedAnswerOf(classifier, { ...wording, description: null });
}

/** Returns the kind of items with an action, an outcome and a description. */
function describedAnswerOf(classifier: Classifier, wording: Wording): number {
  const kind = numberOf(classifier.kindOf(wording));
  return kind === otherNumber || isFormerName(wording.action) ? kind | counted : kind;
}

/** Offset of the first shape, after their number and their offsets. */
const shapesAfter = 256;

type Address =
  | ("actions" | "outcomes" | "shapes" | "shapesEnd" | "text" | "textEnd" | "scratch")
  | ("times" | "locations" | "lineNumbers" | "vaultNumbers" | "idHashes" | "eventKinds");

type Globals = Record<
  Address | "capacity" | "stoppedAt" | "hasKnownShape" | "vaults",
  WebAssembly.Global
>;

interface Exports extends Globals {
  memory: WebAssembly.Memory;
  scan(
    from: number,
    end: number,
    room: number,
    location: number,
    line: number,
    needsVault: boolean,
  ): number;
  forgetKinds(): void;
  textFrom(column: number, number: number): number;
  textTo(column: number, number: number): number;
  vaultAt(address: number): number;
  uuidOf(number: number): number;
  growVaults(): number;
  limitVaults(most: number): void;
  wantOnlyFirst(): void;
}

/** The file whose lines are scanned. */
export interface Scanned {
  readonly classifier: Classifier;
  readonly shapes: readonly LineShape[];
  /** Whether the scanner stops at an item without a vault, which may name it elsewhere. */
  readonly needsVault: boolean;
}

/** Offset at which the scanner stopped, and whether the line there has a known shape. */
export interface Stop {
  at: number;
  hasKnownShape: boolean;
}

/**
 * The WebAssembly module compiled from the folder scanner. It reads lines of known shapes, sixteen bytes at a time, and keeps the table of
 * vaults. It scans one file at a time; switching to another file resets it, except for the vaults.
 */
export class Scanner {
  readonly #exports: Exports;
  #buffer: ArrayBuffer;
  #text: Buffer<ArrayBuffer>;
  #items: Batch;
  #scanned: Scanned | undefined;
  #shapesKnown = 0;

  constructor() {
    const { exports } = new WebAssembly.Instance(
      new WebAssembly.Module(Buffer.from(scannerModule, "base64")),
      { host: this.#host() },
    );
    this.#exports = exports as Exports;
    this.#buffer = this.#exports.memory.buffer;
    this.#text = this.#textIn(this.#buffer);
    this.#items = this.#itemsIn(this.#buffer);
  }

  /** Buffer for the text to scan. Valid until the next call of any other method: memory may move. */
  get text(): Buffer<ArrayBuffer> {
    this.#follow();
    return this.#text;
  }

  /** Whether memory suffices for these shapes. */
  hasRoomFor(shapes: readonly LineShape[]): boolean {
    const { shapes: from, shapesEnd: to } = this.#exports;
    return (
      shapes.length < shapesAfter / 4 &&
      shapes.reduce((sum, { length }) => sum + length, shapesAfter) <= to.value - from.value
    );
  }

  /**
   * Adds the items of lines between two offsets in `text` to a batch. Stops at a line that is incomplete, has an unknown shape or has
   * values that the scanner cannot read. `location` and `line` are those of the first line.
   */
  scan(
    scanned: Scanned,
    from: number,
    to: number,
    batch: Batch,
    location: number,
    line: number,
  ): Stop {
    this.#prepare(scanned);
    const { text, capacity, stoppedAt, hasKnownShape } = this.#exports;
    const room = Math.min(capacity.value, batch.capacity - batch.size);
    const count = this.#exports.scan(
      text.value + from,
      text.value + to,
      room,
      location,
      line,
      scanned.needsVault,
    );
    this.#follow();
    batch.addRange(this.#items, 0, count);
    return { at: stoppedAt.value - text.value, hasKnownShape: hasKnownShape.value === 1 };
  }

  get vaults(): number {
    return this.#exports.vaults.value;
  }

  /** Returns the number of a vault by its uuid, in either case, or `noUuid` or `noRoom`. */
  vaultOf(uuid: string): number {
    const { scratch } = this.#exports;
    if (uuid.length !== uuidLength) return noUuid;
    Buffer.from(this.#exports.memory.buffer, scratch.value, uuidLength).write(uuid, "latin1");
    return this.#exports.vaultAt(scratch.value);
  }

  /** Returns the uuid of a vault in lower case. */
  uuidOf(vault: number): string {
    const from = this.#exports.uuidOf(vault);
    return this.#textAt(from, from + uuidLength);
  }

  /** Grows the table of vaults. Returns false if there is no memory for it. */
  growVaults(): boolean {
    return this.#exports.growVaults() === 1;
  }

  limitVaults(most: number): void {
    this.#exports.limitVaults(most);
  }

  /** Gives all vaults but the first the number 1 from now on, without remembering them. */
  wantOnlyFirst(): void {
    this.#exports.wantOnlyFirst();
  }

  #host() {
    const wording = (action: number, outcome: number) => ({
      action: this.#numbered("actions", action),
      outcome: outcome < 0 ? null : this.#numbered("outcomes", outcome),
    });
    const classifier = (): Classifier => (this.#scanned as Scanned).classifier;
    return {
      timeOf: (from: number, to: number): number => parseTime(this.#textAt(from, to)) ?? Number.NaN,
      classify: (action: number, outcome: number): number =>
        answerOf(classifier(), wording(action, outcome)),
      classifyDescribed: (action: number, outcome: number, from: number, to: number): number =>
        describedAnswerOf(classifier(), {
          ...wording(action, outcome),
          description: from === 0 ? null : this.#textAt(from, to),
        }),
      count: (action: number, kind: number): void =>
        classifier().count(this.#numbered("actions", action), kind),
    };
  }

  #numbered(column: "actions" | "outcomes", number: number): string {
    const at = this.#exports[column].value;
    return this.#textAt(this.#exports.textFrom(at, number), this.#exports.textTo(at, number));
  }

  #textAt(from: number, to: number): string {
    return Buffer.from(this.#exports.memory.buffer, from, to - from).toString("utf8");
  }

  #prepare(scanned: Scanned): void {
    const isOther = this.#scanned !== scanned;
    if (isOther) this.#exports.forgetKinds();
    if (isOther || this.#shapesKnown !== scanned.shapes.length) this.#loadShapes(scanned.shapes);
    this.#scanned = scanned;
  }

  #loadShapes(shapes: readonly LineShape[]): void {
    const { shapes: from, shapesEnd: to } = this.#exports;
    const bytes = Buffer.from(this.#exports.memory.buffer, from.value, to.value - from.value);
    bytes.writeInt32LE(shapes.length);
    let at = shapesAfter;
    for (const [index, shape] of shapes.entries()) {
      bytes.writeInt32LE(at, 4 + 4 * index);
      bytes.set(shape, at);
      at += shape.length;
    }
    this.#shapesKnown = shapes.length;
  }

  /** Recreates the views if memory has grown, which replaces its buffer. */
  #follow(): void {
    const { buffer } = this.#exports.memory;
    if (buffer === this.#buffer) return;
    this.#buffer = buffer;
    this.#text = this.#textIn(buffer);
    this.#items = this.#itemsIn(buffer);
  }

  #textIn(buffer: ArrayBuffer): Buffer<ArrayBuffer> {
    const { text, textEnd } = this.#exports;
    return Buffer.from(buffer, text.value, textEnd.value - text.value);
  }

  #itemsIn(buffer: ArrayBuffer): Batch {
    const { capacity, times, locations, lineNumbers, vaultNumbers, idHashes, eventKinds } =
      this.#exports;
    const size = capacity.value;
    return new Batch(size, {
      time: new Float64Array(buffer, times.value, size),
      vault: new Int32Array(buffer, vaultNumbers.value, size),
      kind: new Uint8Array(buffer, eventKinds.value, size),
      location: new Float64Array(buffer, locations.value, size),
      line: new Float64Array(buffer, lineNumbers.value, size),
      idHash: new Int32Array(buffer, idHashes.value, size),
    });
  }
}
