import type { UnknownAction } from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { clip, short } from "../read/clip.ts";

/** What of an item was not understood, with what a report says of it and the flag that explains it. */
const sentences = {
  action: (values: string) =>
    `not understood: ${values}. Say what these actions mean (--action OLD=NEW, once for each; vault help audit lists the names), ` +
    "or name the column that has the actions (--map action=COLUMN).",
  outcome: (values: string) =>
    `Outcomes that were not recognized, neither accepted nor refused: ${values}. ` +
    "Say what they mean (--outcome VALUE=success or VALUE=failure, once for each), or name their column (--map outcome=COLUMN).",
  /** In a log without outcomes. */
  description: (values: string) =>
    `The log has no outcomes, and descriptions that do not tell whether the call was accepted: ${values}. ` +
    "Describe failed attempts (--failure PATTERN), or name the column (--map outcome=COLUMN).",
  reason: (values: string) =>
    `Reasons of refusals that were not recognized, and may be failed attempts: ${values}. Describe those that are (--failure PATTERN).`,
  /** Understood, and not about credentials. */
  elsewhere: (values: string) =>
    `refusals for a reason other than the vault's credentials count as no failed attempt: ${values}`,
};
export type Remark = keyof typeof sentences;

/** Maximum number of values to count, of each kind, and to name in a sentence. */
const [maxValues, maxNamed] = [100, 3];

/** Counts what was not understood, by its text, and says it. `word` returns a text as it may be shown. */
export class Unknowns {
  /** Number of items by text; `unnamed` has all with an action without a known name, some of which say why they failed. */
  readonly #counts = new Map<Remark | "unnamed", Map<string, number>>();

  note(remark: Remark | "unnamed", text: string): void {
    const counts = this.#counts.get(remark) ?? new Map<string, number>();
    this.#counts.set(remark, counts);
    const count = counts.get(text);
    if (count !== undefined || counts.size < maxValues) counts.set(text, (count ?? 0) + 1);
  }

  /** The texts with their numbers of items, most frequent first. */
  #of(remark: Remark): [string, number][] {
    return [...(this.#counts.get(remark) ?? [])].sort(([, a], [, b]) => b - a);
  }

  /** Outcomes that are neither a known success nor a known failure. */
  get unclear(): readonly string[] {
    return this.#of("outcome").map(([text]) => text);
  }

  otherActions(word: (text: string) => string): UnknownAction[] {
    return this.#of("action").map(([value, count]) => ({
      value: word(value),
      count,
      of: this.#counts.get("unnamed")?.get(value) ?? count,
    }));
  }

  /** Says what may make a report wrong; `unknownItems` of `items` are not understood. */
  warnings(word: (text: string) => string, unknownItems: number, items: number): string[] {
    const actions = this.otherActions(word).map(
      (action) => `${short(action.value)} ${occurrences(action)}`,
    );
    const were = `${grouped(unknownItems)} of ${counted(items, "item")} ${unknownItems === 1 ? "was" : "were"}`;
    const others = (["outcome", "description", "reason"] as const).flatMap((remark) =>
      this.#say(remark, word),
    );
    return unknownItems === 0 || actions.length === 0
      ? others
      : [`${were} ${sentences.action(listed(actions))}`, ...others];
  }

  notes(word: (text: string) => string): string[] {
    return this.#say("elsewhere", word);
  }

  #say(remark: Remark, word: (text: string) => string): string[] {
    const values = this.#of(remark).map(
      ([text, count]) => `${clip(word(text))} ×${grouped(count)}`,
    );
    return values.length === 0 ? [] : [sentences[remark](listed(values))];
  }
}

const listed = (values: readonly string[]): string =>
  values.slice(0, maxNamed).join(", ") + (values.length > maxNamed ? ", …" : "");

/** Says how often an action was not understood: `×3`, or `(3 of 6)` if some of its items were, by what they say. */
export const occurrences = ({ count, of }: UnknownAction): string =>
  count === of ? `×${grouped(count)}` : `(${grouped(count)} of ${grouped(of)})`;
