import type { Entry, Item, ItemLocation, Role } from "./read/item.ts";

/** Keys of --where, and the property of an item that each stands for. */
const keys = {
  ref: "externalRef",
  ip: "address",
  endpoint: "endpoint",
  app: "application",
} as const;

/** A value that a property of an item must have, exactly, or with `*` for any text. */
export interface Condition {
  key: keyof typeof keys;
  value: string;
}

export const conditionKeys = Object.keys(keys);

/** Returns the role of the column. */
export const roleOf = ({ key }: Condition): Role => (key === "app" ? "application" : key);

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
    const isMet = this.conditions.every(({ key }, index) => {
      const text = item[keys[key]];
      return text !== undefined && this.#patterns[index]?.test(text) === true;
    });
    if (isMet) this.#selected.add(entry.vault);
  }

  has(vault: number): boolean {
    return this.#selected.has(vault);
  }
}
