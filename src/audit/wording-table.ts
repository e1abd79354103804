import type { Classifier } from "./classify-item.ts";
import { isFormerName, numberOf } from "./classify-item.ts";
import { Interner, mostTexts } from "./interner.ts";

/** Of a column, with one for no value. */
const mostNumbers = mostTexts + 1;

const unknown = -2;
const otherNumber = numberOf("other");

/** Kinds of events by the numbers of their action and their outcome, each classified once. */
export class WordingTable {
  readonly #actions: Interner;
  readonly #outcomes: Interner;
  readonly #classifier: Classifier;
  /** By action: whether its name is a former one. */
  readonly #former: boolean[] = [];
  readonly #kinds = new Int8Array(mostNumbers * mostNumbers).fill(unknown);
  readonly #descriptions = new Interner();
  readonly #described = new Map<number, number>();

  constructor(actions: Interner, outcomes: Interner, classifier: Classifier) {
    this.#actions = actions;
    this.#outcomes = outcomes;
    this.#classifier = classifier;
  }

  /** -1 where the description has to be asked. An outcome of -1 is none. */
  kindOf(action: number, outcome: number): number {
    const key = action * mostNumbers + outcome + 1;
    const known = this.#kinds[key] as number;
    return known === unknown ? (this.#kinds[key] = this.#classify(action, outcome)) : known;
  }

  /** With the description between two places; there is none where `from` is negative. */
  describedKindOf(action: number, outcome: number, bytes: Uint8Array, from: number, to: number): number {
    const description = from < 0 ? -1 : this.#descriptions.of(bytes, from, to);
    if (from >= 0 && description < 0) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("utf8");
      return numberOf(this.#classifier.kindOf({ ...this.#said(action, outcome), description: text }));
    }
    const key = (action * mostNumbers + outcome + 1) * mostNumbers + description + 1;
    const known = this.#described.get(key);
    if (known !== undefined) return known;
    const text = description < 0 ? null : this.#descriptions.text(description);
    const kind = numberOf(this.#classifier.kindOf({ ...this.#said(action, outcome), description: text }));
    this.#described.set(key, kind);
    return kind;
  }

  /** Counts an item where it is one to be told of. */
  count(action: number, kind: number): void {
    if (kind === otherNumber || this.#former[action] === true) this.#classifier.count(this.#actions.text(action), kind);
  }

  #classify(action: number, outcome: number): number {
    const said = this.#said(action, outcome);
    this.#former[action] = isFormerName(said.action);
    return this.#classifier.asksDescription(said) ? -1 : numberOf(this.#classifier.kindOf({ ...said, description: null }));
  }

  #said(action: number, outcome: number) {
    return { action: this.#actions.text(action), outcome: outcome < 0 ? null : this.#outcomes.text(outcome) };
  }
}
