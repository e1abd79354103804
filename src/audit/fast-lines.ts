import type { Batch } from "./batch.ts";
import { findQuote, standsAt } from "./bytes.ts";
import type { Classifier } from "./classify-item.ts";
import { Interner } from "./interner.ts";
import type { Columns } from "./item.ts";
import { roles } from "./item.ts";
import { LineShapes } from "./line-shapes.ts";
import type { Piece } from "./line-shapes.ts";
import { MinuteClock } from "./minute-clock.ts";
import type { VaultTable } from "./vault-table.ts";
import { uuidLength } from "./vault-table.ts";
import { WordingTable } from "./wording-table.ts";

/** More different texts than this are classified one by one. */
const mostTexts = 200;

const quote = 0x22;

/** What stands between two places of the line that is being read. */
interface Span {
  from: number;
  to: number;
}

const role = {
  time: roles.indexOf("time"),
  action: roles.indexOf("action"),
  vault: roles.indexOf("vault"),
  outcome: roles.indexOf("outcome"),
};
const idRole = roles.indexOf("id");
const descriptionRole = roles.indexOf("description");

/** Reads lines of known shapes from their bytes, without a string or an object for each. */
export class FastLines {
  readonly #shapes: LineShapes;
  readonly #vaults: VaultTable;
  readonly #clock = new MinuteClock();
  readonly #actions = new Interner(mostTexts);
  readonly #outcomes = new Interner(mostTexts);
  readonly #wordings: WordingTable;
  readonly #description: Span = { from: -1, to: -1 };

  constructor(columns: Columns, vaults: VaultTable, classifier: Classifier) {
    this.#shapes = new LineShapes(columns);
    this.#vaults = vaults;
    this.#wordings = new WordingTable(this.#actions, this.#outcomes, classifier);
  }

  /** Knows the shape of this line from now on: one JSON object without escapes. */
  learn(line: Uint8Array): void {
    this.#shapes.learn(line);
  }

  /**
   * Reads the line at a place, of which no byte before `end` is a backslash, and adds its item to the batch. Returns the place
   * behind it, or -1 where the line has an unknown shape or says something that has to be looked at: nothing is added then.
   */
  read(view: DataView, bytes: Uint8Array, from: number, end: number, batch: Batch, place: number, line: number): number {
    let at = from;
    let pieces = this.#shapes.first;
    let time = Number.NaN;
    let vault = -1;
    let action = -1;
    let outcome = -1;
    let idHash = 0;
    this.#description.from = -1;
    for (;;) {
      const piece = pieceAt(pieces, view, bytes, at, end);
      if (piece === undefined) return -1;
      at += piece.literal.length;
      if (piece.isEnd) break;
      // What can be told from its bytes as a whole needs no search for its end.
      let to = at;
      switch (piece.role) {
        case role.vault:
          to = at + uuidLength;
          if (to >= end || bytes[to] !== quote) return -1;
          vault = this.#vaults.at(view, at);
          if (vault < 0) return -1;
          break;
        case role.action:
          action = numberAt(this.#actions, piece, view, bytes, at, end);
          if (action < 0) return -1;
          to = at + this.#actions.length(action);
          break;
        case role.outcome:
          outcome = numberAt(this.#outcomes, piece, view, bytes, at, end);
          if (outcome < 0) return -1;
          to = at + this.#outcomes.length(outcome);
          break;
        case role.time:
          to = endOf(piece, view, bytes, at, end);
          time = this.#clock.at(view, bytes, at, to);
          break;
        default:
          to = endOf(piece, view, bytes, at, end);
          if (piece.role === idRole) idHash = hashOf(view, bytes, at, to);
          else if (piece.role === descriptionRole) {
            this.#description.from = at;
            this.#description.to = to;
          }
      }
      if (to >= end) return -1;
      at = to;
      pieces = piece.next;
    }
    if (bytes[at] === 0x0d) at += 1;
    if (at >= end || bytes[at] !== 0x0a || Number.isNaN(time) || action < 0) return -1;
    let kind = this.#wordings.kindOf(action, outcome);
    if (kind < 0) kind = this.#wordings.describedKindOf(action, outcome, bytes, this.#description.from, this.#description.to);
    if (kind < 0) return -1;
    this.#wordings.count(action, kind);
    batch.add(time, vault, kind, place, line, idHash);
    return at + 1;
  }
}

function pieceAt(pieces: Piece[], view: DataView, bytes: Uint8Array, at: number, end: number): Piece | undefined {
  for (let index = 0; index < pieces.length; index++) {
    const piece = pieces[index] as Piece;
    if (at + piece.literal.length <= end && standsAt(piece.literal, view, bytes, at)) return piece;
  }
  return undefined;
}

const closes = (byte: number): boolean => byte === 0x2c || byte === 0x7d || byte === 0x5d || byte <= 0x20;

/** `end` where the value does not end before. */
function endOf(piece: Piece, view: DataView, bytes: Uint8Array, from: number, end: number): number {
  if (piece.isText) return findQuote(view, bytes, from, end);
  let at = from;
  while (at < end && !closes(bytes[at] as number)) at += 1;
  // Where a number is expected, nothing is none.
  return at === from ? end : at;
}

function numberAt(texts: Interner, piece: Piece, view: DataView, bytes: Uint8Array, at: number, end: number): number {
  if (piece.isText) {
    const known = texts.at(view, bytes, at, end, quote);
    if (known >= 0) return known;
  }
  const to = endOf(piece, view, bytes, at, end);
  return to >= end ? -1 : texts.of(bytes, at, to);
}

/** Equal for equal texts, never 0. Of long ones the ends. */
export function hashOf(view: DataView, bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  if (hash >= 16) {
    hash = Math.imul(hash ^ view.getInt32(from, true), 0x9e3779b1) + Math.imul(view.getInt32(from + 4, true), 0x85ebca6b);
    hash += Math.imul(view.getInt32(to - 8, true), 0xc2b2ae35) + Math.imul(view.getInt32(to - 4, true), 0x27d4eb2f);
  } else for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x9e3779b1);
  return (hash ^ (hash >>> 15)) | 1;
}
