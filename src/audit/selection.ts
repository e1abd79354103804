import { type Entry, type Item, type ItemLocation, properties } from "./read/item.ts";

/** Keys of --where. */
export const conditionKeys = ["ref", "ip", "endpoint", "app"] as const;

/** A value that a property of an item must have, exactly, or with `*` for any text. */
export interface Condition {
  key: (typeof conditionKeys)[number];
  value: string;
}

/** Returns the role of the column. */
export const roleOf = ({ key }: Condition) => (key === "app" ? "application" : key);

/**
 * Vaults that have an item which meets all conditions. It selects vaults and not items, because a verdict without some of a vault's items
 * would be wrong.
 */
export class Selection {
  readonly conditions: readonly Condition[];
  readonly #patterns: readonly RegExp[];
  readonly #selected = new Set<number>();

  constructor(conditions: readonly Condition[]) {
    this.conditions = conditions;
    this.#patterns = conditions.map(({ value }) => {
      const parts = value.split("*").map((part) => part.replaceAll(/[^\w ]/gu, String.raw`\$&`));
      return new RegExp(`^${parts.join(".*")}$`, "s");
    });
  }

  /** Takes an item, which it reads unless its vault is selected. */
  take(entry: Entry, itemOf: (location: ItemLocation) => Item): void {
    if (this.has(entry.vault)) return;
    const item = itemOf(entry);
    const isMet = this.conditions.every((condition, index) => {
      const text = item[properties[roleOf(condition)]];
      return text !== undefined && this.#patterns[index]?.test(text) === true;
    });
    if (isMet) this.#selected.add(entry.vault);
  }

  has(vault: number): boolean {
    return this.#selected.has(vault);
  }
}
