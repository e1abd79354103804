import type { Batch } from "./batch.ts";
import { findQuote, hashOf, isBare, wholeHashOf } from "./bytes.ts";
import type { Classifier } from "./classify-item.ts";
import { Interner } from "./interner.ts";
import type { Columns } from "./item.ts";
import type { LineShape } from "./line-shape.ts";
import { ended, shapeOf } from "./line-shape.ts";
import { DayClock } from "./day-clock.ts";
import type { VaultTable } from "./vault-table.ts";
import { uuidLength } from "./vault-table.ts";
import { WordingTable } from "./wording-table.ts";

/** Lines come in few shapes. Where they do not, trying them costs more than it saves. */
const mostShapes = 48;

/** Bytes that may be looked at behind the end of what was read. */
export const lookahead = 8;

const quote = 0x22;
const isoLength = 24;

// Places in `roles`: a switch is fast on plain numbers.
const timeRole = 0;
const actionRole = 1;
const vaultRole = 2;
const outcomeRole = 3;
const idRole = 8;
const descriptionRole = 9;

/** Reads lines of known shapes from their bytes, without a string or an object for each. */
export class FastLines {
  readonly #columns: Columns;
  readonly #vaults: VaultTable;
  readonly #clock = new DayClock();
  readonly #actions = new Interner();
  readonly #outcomes = new Interner();
  readonly #wordings: WordingTable;
  readonly #shapes: LineShape[] = [];
  readonly #hasEndpoint: boolean;
  /** The line read last has a known shape, whether or not it was taken. */
  hasKnownShape = false;
  /** The shape of the line before: most often the next one has it too. */
  #last = 0;

  constructor(columns: Columns, vaults: VaultTable, classifier: Classifier) {
    this.#columns = columns;
    this.#hasEndpoint = columns.endpoint !== undefined;
    this.#vaults = vaults;
    this.#wordings = new WordingTable(this.#actions, this.#outcomes, classifier);
  }

  /** Knows the shape of this line from now on, where it has one that can be known: one JSON object without escapes. */
  learn(line: Uint8Array): void {
    if (this.#shapes.length === mostShapes) return;
    const shape = shapeOf(line, this.#columns);
    if (shape === null) return;
    if (!this.#shapes.some((known) => Buffer.from(known.buffer).equals(Buffer.from(shape.buffer)))) this.#shapes.push(shape);
  }

  /**
   * Reads the line at a place, of which no byte before `end` is a backslash, and adds its item to the batch. Returns the place
   * behind it, or -1 where the line has an unknown shape or says something that has to be looked at: nothing is added then.
   */
  read(view: DataView, bytes: Uint8Array, from: number, end: number, batch: Batch, place: number, line: number): number {
    const shapes = this.#shapes;
    this.hasKnownShape = false;
    if (this.#last < shapes.length) {
      const next = this.#readAs(shapes[this.#last] as LineShape, view, bytes, from, end, batch, place, line);
      if (next >= 0) return next;
    }
    for (let index = 0; index < shapes.length; index++) {
      if (index === this.#last) continue;
      const next = this.#readAs(shapes[index] as LineShape, view, bytes, from, end, batch, place, line);
      if (next < 0) continue;
      this.#last = index;
      return next;
    }
    return -1;
  }

  #readAs(
    shape: LineShape,
    view: DataView,
    bytes: Uint8Array,
    from: number,
    end: number,
    batch: Batch,
    place: number,
    line: number,
  ): number {
    let at = from;
    let piece = 0;
    let time = Number.NaN;
    let vault = -1;
    let action = -1;
    let outcome = -1;
    let idHash = 0;
    let described = -1;
    let describedTo = -1;
    for (;;) {
      const to = at + (shape[piece] as number);
      if (to > end) return -1;
      const role = shape[piece + 2] as number;
      const isText = shape[piece + 3] === 1;
      let word = piece + 4;
      for (const mask = word + (shape[piece + 1] as number); word < mask; word++, at += 4) {
        if (view.getInt32(at, true) !== shape[word]) return -1;
      }
      if ((view.getInt32(at, true) & (shape[word] as number)) !== shape[word + 1]) return -1;
      piece = word + 2;
      at = to;
      // What can be told from its bytes as a whole needs no search for its end.
      switch (role) {
        case vaultRole:
          if (at + uuidLength >= end || bytes[at + uuidLength] !== quote) return -1;
          vault = this.#vaults.at(view, at);
          if (vault < 0) return -1;
          at += uuidLength;
          break;
        case actionRole:
        case outcomeRole: {
          const last = endOf(isText, view, bytes, at, end);
          if (last >= end || last === at) return -1;
          const number = (role === actionRole ? this.#actions : this.#outcomes).of(bytes, at, last);
          if (number < 0) return -1;
          if (role === actionRole) action = number;
          else outcome = number;
          at = last;
          break;
        }
        case timeRole: {
          const isUsual = at + isoLength < end && bytes[at + isoLength] === quote && isText;
          const last = isUsual ? at + isoLength : endOf(isText, view, bytes, at, end);
          time = this.#clock.at(view, bytes, at, last);
          at = last;
          break;
        }
        case idRole: {
          const last = endOf(isText, view, bytes, at, end);
          if (last > at) idHash = hashOf(view, at, last);
          at = last;
          break;
        }
        case descriptionRole:
          described = at;
          describedTo = endOf(isText, view, bytes, at, end);
          at = describedTo;
          break;
        case ended: {
          this.hasKnownShape = true;
          // An item without a vault may name it in its endpoint.
          if (Number.isNaN(time) || action < 0 || (vault < 0 && this.#hasEndpoint)) return -1;
          let kind = this.#wordings.kindOf(action, outcome);
          if (kind < 0) kind = this.#wordings.describedKindOf(action, outcome, bytes, described, describedTo);
          this.#wordings.count(action, kind);
          batch.add(time, vault, kind, place, line, idHash === 0 ? wholeHashOf(view, from, at) : idHash);
          return at;
        }
        default:
          at = endOf(isText, view, bytes, at, end);
      }
      if (at >= end) return -1;
    }
  }
}

const closes = (byte: number): boolean => byte === 0x2c || byte === 0x7d || byte === 0x5d || byte <= 0x20;

/** `end` where the value does not end before. */
function endOf(isText: boolean, view: DataView, bytes: Uint8Array, from: number, end: number): number {
  if (isText) return findQuote(view, bytes, from, end);
  let at = from;
  while (at < end && !closes(bytes[at] as number)) at += 1;
  return isBare(bytes, from, at) ? at : end;
}
