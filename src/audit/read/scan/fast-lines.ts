import type { Batch } from "../batch.ts";
import type { Classifier } from "../columns/classify-item.ts";
import type { Columns } from "../item.ts";
import type { LineShape } from "./line-shape.ts";
import { shapeOf } from "./line-shape.ts";
import type { Scanned, Scanner, Stop } from "./scanner.ts";
import type { VaultTable } from "../../fold/vault-table.ts";

/** Lines come in few shapes. Where they do not, trying them costs more than it saves. */
const mostShapes = 48;

/** The lines of one file that have known shapes, read by the scanner without a string or an object for each. */
export class FastLines implements Scanned {
  readonly classifier: Classifier;
  readonly needsVault: boolean;
  readonly shapes: LineShape[] = [];
  readonly scanner: Scanner;
  readonly #columns: Columns;

  constructor(columns: Columns, vaults: VaultTable, classifier: Classifier) {
    this.#columns = columns;
    this.classifier = classifier;
    // Its endpoint may name it.
    this.needsVault = columns.endpoint !== undefined;
    this.scanner = vaults.scanner;
  }

  /** Knows the shape of this line from now on, where it has one that can be known: one JSON object without escapes. */
  learn(line: Uint8Array): void {
    if (this.shapes.length === mostShapes) return;
    const shape = shapeOf(line, this.#columns);
    if (shape === null || this.shapes.some((known) => Buffer.from(known.buffer).equals(shape))) return;
    if (this.scanner.hasRoomFor([...this.shapes, shape])) this.shapes.push(shape);
  }

  /** Adds lines between two places in the text of the scanner to the batch, up to the first that it cannot take: `Scanner.scan`. */
  read(from: number, to: number, batch: Batch, place: number, line: number): Stop {
    return this.scanner.scan(this, from, to, batch, place, line);
  }
}
