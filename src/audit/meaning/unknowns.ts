import type { UnknownAction } from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { clip } from "../read/clip.ts";

/** What of an item was not understood: `description` in a log without outcomes. `elsewhere` is a reason that is not about credentials. */
export type Remark = "action" | "outcome" | "description" | "reason" | "elsewhere";

/** Maximum number of values to count, of each kind. */
const maxValues = 100;

/** Counts what was not understood, by its text, and says it. */
export class Unknowns {
  /** Number of items; `unnamed` has all with an action without a known name, some of which say why they failed. */
  readonly #counts: Readonly<Record<Remark | "unnamed", Map<string, number>>> = {
    unnamed: new Map(),
    action: new Map(),
    outcome: new Map(),
    description: new Map(),
    reason: new Map(),
    elsewhere: new Map(),
  };

  note(remark: Remark | "unnamed", text: string): void {
    const counts = this.#counts[remark];
    const count = counts.get(text);
    if (count !== undefined || counts.size < maxValues) counts.set(text, (count ?? 0) + 1);
  }

  /** Outcomes that are neither a known success nor a known failure. */
  get unclear(): readonly string[] {
    return [...this.#counts.outcome.keys()];
  }

  /** Actions that were not understood, most frequent first; `word` returns a value as it is shown. */
  otherActions(word: (value: string) => string): UnknownAction[] {
    return byCount(this.#counts.action).map(([value, count]) => ({
      value: word(value),
      count,
      of: this.#counts.unnamed.get(value) ?? count,
    }));
  }

  /** Says what was not understood, with the flag that explains it; `unknownItems` of `items` have an unknown action. */
  warnings(word: (value: string) => string, unknownItems: number, items: number): string[] {
    const actions = unknownItems === 0 ? [] : this.otherActions(word);
    const of = (remark: Remark): string => named(byCount(this.#counts[remark]), word);
    const { outcome, description, reason } = this.#counts;
    return [
      ...(actions.length === 0
        ? []
        : [
            `${grouped(unknownItems)} of ${counted(items, "item")} ${unknownItems === 1 ? "was" : "were"} not understood: ${listed(actions.map((action) => `${clipped(action.value)} ${occurrences(action)}`))}. ` +
              "Say what these actions mean (--action OLD=NEW, once for each; vault help audit lists the names), " +
              "or name the column that has the actions (--map action=COLUMN).",
          ]),
      ...(outcome.size === 0
        ? []
        : [
            `Outcomes that were not recognized, neither accepted nor refused: ${of("outcome")}. Say what they mean (--outcome VALUE=success or VALUE=failure, once for each), or name their column (--map outcome=COLUMN).`,
          ]),
      ...(description.size === 0
        ? []
        : [
            `The log has no outcomes, and descriptions that do not tell whether the call was accepted: ${of("description")}. Describe failed attempts (--failure PATTERN), or name the column (--map outcome=COLUMN).`,
          ]),
      ...(reason.size === 0
        ? []
        : [
            `Reasons of refusals that were not recognized, and may be failed attempts: ${of("reason")}. Describe those that are (--failure PATTERN).`,
          ]),
    ];
  }

  /** Says which refusals count as no failed attempt. */
  notes(word: (value: string) => string): string[] {
    const { elsewhere: refused } = this.#counts;
    if (refused.size === 0) return [];
    return [
      `refusals for a reason other than the vault's credentials count as no failed attempt: ${named(byCount(refused), word)}`,
    ];
  }
}

/** Maximum number of values in a warning. */
const maxNamed = 3;

const listed = (values: readonly string[]): string =>
  values.slice(0, maxNamed).join(", ") + (values.length > maxNamed ? ", …" : "");

const named = (counts: readonly [string, number][], word: (value: string) => string): string =>
  listed(counts.map(([value, count]) => `${clip(word(value))} ×${grouped(count)}`));

const byCount = (counts: ReadonlyMap<string, number>): [string, number][] =>
  [...counts].sort(([, a], [, b]) => b - a);

const clipped = (value: string): string =>
  value.length <= 100 ? value : `${value.slice(0, 100)}…`;

/** Says how often an action was not understood: `×3`, or `(3 of 6)` if some of its items were, by what they say. */
export const occurrences = ({ count, of }: UnknownAction): string =>
  count === of ? `×${grouped(count)}` : `(${grouped(count)} of ${grouped(of)})`;
