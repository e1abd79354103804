import { defined } from "../../defined.ts";
import type { ItemReference } from "../../documents/audit.ts";
import type { Condition } from "../selection.ts";

type Hidden = "ip" | "ref" | "app" | "label";

/** Parts of a path that name nobody. */
const plainPart =
  /^(?:[ /]|GET|POST|PUT|DELETE|https?:|vaultsvc|sanctum|v\d+-\d+|vault|credit-card|generic|online|offline|info|(?:get|update)-(?:start|end)|)$/i;

/**
 * Replaces addresses, references, application ids and labels by words like `ip-1`, numbered in the order of their first appearance in a
 * report: the same word for the same value everywhere. Free text of an item that a verdict does not need is left out. Without redaction,
 * it returns everything as it is.
 */
export class Pseudonyms {
  readonly #isOn: boolean;
  /** Numbers of values. */
  readonly #known: Record<Hidden, Map<string, number>> = {
    ip: new Map(),
    ref: new Map(),
    app: new Map(),
    label: new Map(),
  };

  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  /** Returns the word for a value. */
  of(kind: Hidden, value: string): string {
    if (!this.#isOn) return value;
    const known = this.#known[kind];
    const number = known.get(value) ?? known.size + 1;
    known.set(value, number);
    return `${kind}-${number}`;
  }

  item(item: ItemReference): ItemReference {
    if (!this.#isOn) return item;
    const { description: _description, id: _id, ...shown } = item;
    const { externalRef, address, application, action, outcome, endpoint, own } = shown;
    const hidden = defined({
      externalRef: externalRef && this.of("ref", externalRef),
      address: address && this.of("ip", address),
      application: application && this.of("app", application),
      outcome: outcome && this.word(outcome),
      endpoint: endpoint
        ?.replace(/[?#].*$/s, "")
        .split(/([ /])/)
        .map((part) => (plainPart.test(part) ? part : "…"))
        .join(""),
    });
    // The default reference of an exchange holds its id.
    const { externalRef: id = "" } = hidden;
    return { ...shown, ...hidden, action: this.word(action), ...(own && { own: { ...own, id } }) };
  }

  /** Formats a condition of --where. */
  condition({ key, value }: Condition): string {
    if (!this.#isOn) return `${key}=${value}`;
    return `${key}=${value.includes("*") || key === "endpoint" ? "…" : this.of(key, value)}`;
  }

  /** Returns an action or an outcome that is a single word, and leaves out other text, which could name anybody. */
  word(text: string): string {
    return this.#isOn && !/^\w+$/.test(text) ? "…" : text;
  }

  /** Returns the reason for skipping a line without the value that it quotes. */
  reason(text: string): string {
    return this.#isOn ? text.replace(/: .*$/s, "") : text;
  }
}
