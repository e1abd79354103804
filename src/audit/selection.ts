import type { Item, Role } from "./read/item.ts";

/** Keys of --where: the role of the column and the property of an item that each stands for. */
const keys = {
  ref: { role: "ref", property: "externalRef" },
  ip: { role: "ip", property: "address" },
  endpoint: { role: "endpoint", property: "endpoint" },
  app: { role: "application", property: "application" },
} as const satisfies Record<string, { role: Role; property: Exclude<keyof Item, "time"> }>;

/** A value that a property of an item must have, exactly, or with `*` for any text. */
export interface Condition {
  key: keyof typeof keys;
  value: string;
}

export const conditionKeys = Object.keys(keys);

export const roleOf = ({ key }: Condition): Role => keys[key].role;

/**
 * Vaults that have an item which meets all conditions. It selects vaults and not items, because a verdict without some of a vault's items
 * would be wrong.
 */
export class Selection {
  readonly conditions: readonly Condition[];
  readonly #selected = new Set<number>();

  constructor(conditions: readonly Condition[]) {
    this.conditions = conditions;
  }

  /** Takes an item of a vault. `read` reads it. */
  take(vault: number, read: () => Item): void {
    if (this.has(vault)) return;
    const item = read();
    if (this.conditions.every((condition) => meets(item, condition))) this.#selected.add(vault);
  }

  has(vault: number): boolean {
    return this.#selected.has(vault);
  }
}

function meets(item: Item, { key, value }: Condition): boolean {
  const text = item[keys[key].property];
  if (text === undefined) return false;
  const [start = "", ...rest] = value.split("*");
  const end = rest.pop();
  if (end === undefined) return text === value;
  if (text.length < start.length + end.length || !text.startsWith(start) || !text.endsWith(end))
    return false;
  let from = start.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= text.length - end.length;
}
