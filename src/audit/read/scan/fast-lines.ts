import type { Batch } from "../batch.ts";
import type { Classifier } from "../columns/classify-item.ts";
import type { Columns } from "../item.ts";
import type { LineShape } from "./line-shape.ts";
import { shapeOf } from "./line-shape.ts";
import type { Scanned, Scanner, Stop } from "./scanner.ts";
import type { VaultTable } from "../../fold/vault-table.ts";

/** Maximum number of shapes. Inputs have few; with many, trying them takes longer than it saves. */
const maxShapes = 48;

/** Reads lines of known shapes of one file with the scanner, without a string or an object for each. */
export class FastLines implements Scanned {
  readonly classifier: Classifier;
  readonly needsVault: boolean;
  readonly shapes: LineShape[] = [];
  readonly scanner: Scanner;
  readonly #columns: Columns;

  constructor(columns: Columns, vaults: VaultTable, classifier: Classifier) {
    this.#columns = columns;
    this.classifier = classifier;
    // An item without a vault may name it in its endpoint, which the scanner does not read.
    this.needsVault = columns.endpoint !== undefined;
    this.scanner = vaults.scanner;
  }

  /** Learns the shape of a line without escapes, if it has one. */
  learn(line: Uint8Array): void {
    if (this.shapes.length === maxShapes) return;
    const shape = shapeOf(line, this.#columns);
    if (shape === null || this.shapes.some((known) => Buffer.from(known.buffer).equals(shape)))
      return;
    if (this.scanner.hasRoomFor([...this.shapes, shape])) this.shapes.push(shape);
  }

  /** Calls `Scanner.scan` with the shapes learned so far. */
  read(from: number, to: number, batch: Batch, location: number, line: number): Stop {
    return this.scanner.scan(this, from, to, batch, location, line);
  }
}
