import type { Rules } from "../documents/audit.ts";
import { VaultError } from "../errors.ts";
import { bareAddress } from "./columns/looks.ts";
import { zoneOf } from "./columns/times.ts";
import { knownName, knownNames, type Renames } from "./meaning/actions.ts";
import { clip } from "./read/clip.ts";
import type { Entry, Item, ItemLocation, Role } from "./read/item.ts";
import { properties, roles } from "./read/item.ts";

interface Pairs<V> {
  /** What they look like, and an example. */
  form: string;
  hint: string;
  /** Names on the left, if not any text will do, which may have a `=`. */
  names?: readonly string[];
  /** Reads what is on the right; undefined if it is wrong. */
  valueOf: (text: string, name: string) => V | undefined;
}

/** @throws `usage` for a pair that is wrong */
function parsePair<V>(flag: string, text: string, pairs: Pairs<V>): [name: string, value: V] {
  const { form, hint, names, valueOf } = pairs;
  const at = names === undefined ? text.lastIndexOf("=") : text.indexOf("=");
  const name = text.slice(0, Math.max(at, 0)).trim();
  const isKnown = name !== "" && names?.includes(name) !== false;
  const value = isKnown ? valueOf(text.slice(at + 1).trim(), name) : undefined;
  if (value !== undefined) return [name, value];
  throw new VaultError("usage", `${flag}: ${clip(text)} is not ${form}`, { hint });
}

/** Columns by role, given by the user; `none` for a role that no column has. */
export type ColumnMap = Partial<Record<Role, string>>;

/** Parses `--map time=…,action=…,vault=…`. This and the others throw as `parsePair` does. */
export function parseMap(text: string): ColumnMap {
  const pairs: Pairs<string> = {
    form: "ROLE=COLUMN",
    hint: `like --map time=transactionTime,vault=vault.uuid, or outcome=none for a role that no column has, but not for time; roles are ${roles.join(", ")}`,
    names: roles,
    valueOf: (column, role) => (`${role}=${column}` === "time=none" ? "" : column) || undefined,
  };
  return Object.fromEntries(text.split(",").map((one) => parsePair("--map", one, pairs)));
}

export function parseAction(text: string): Renames {
  const form = "OLD=NEW";
  const hint = `like --action VAULT_OPENED=READ_VAULT; the names are ${knownNames.join(", ")}`;
  return Object.fromEntries([parsePair("--action", text, { form, hint, valueOf: knownName })]);
}

/** Parses a value of --outcome, `VALUE=success` or `VALUE=failure`, without regard to case. */
export function parseOutcome(text: string): NonNullable<Rules["outcomes"]> {
  const form = "VALUE=success or VALUE=failure";
  const hint = "like --outcome BOUNCED=failure";
  const valueOf = (word: string) => (["success", "failure"] as const).find((one) => one === word);
  return Object.fromEntries([parsePair("--outcome", text.toLowerCase(), { form, hint, valueOf })]);
}

export const conditionKeys = ["ref", "ip", "endpoint", "app"] as const satisfies Role[];

/** A value that a property of an item must have, exactly, or with `*` for any text. */
export interface Condition {
  key: (typeof conditionKeys)[number];
  value: string;
}

export function parseWhere(text: string): Condition {
  const [key, value] = parsePair("--where", text, {
    form: "KEY=VALUE",
    hint: `--where ref=nightly-job, or with * for any text: --where 'ip=10.0.*'; keys are ${conditionKeys.join(", ")}`,
    names: conditionKeys,
    valueOf: (value, key) => (key === "ip" ? bareAddress(value) : value) || undefined,
  });
  return { key: key as Condition["key"], value };
}

/**
 * Vaults that have an item which meets all conditions. It selects vaults and not items, because a
 * verdict without some of a vault's items would be wrong.
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
      const text = item[properties[condition.key]];
      return text !== undefined && this.#patterns[index]?.test(text) === true;
    });
    if (isMet) this.#selected.add(entry.vault);
  }

  has(vault: number): boolean {
    return this.#selected.has(vault);
  }
}

export function parseWhatIf(text: string): WhatIf {
  const [name, limit] = text.split("=");
  const key = name === "lock-after-failed" ? "failedAttempts" : "unackedStarts";
  return { text, limits: { [key]: Number(limit) } };
}

/** @throws `usage` for a `--zone` that is no time zone */
export function parseZone(text: string): string {
  if (zoneOf(text) !== undefined) return text;
  throw new VaultError("usage", `--zone: ${clip(text)} is no time zone`, {
    hint: "name a place, like --zone Europe/Berlin, or a distance from UTC, like --zone +01:00",
  });
}

/** The newest release in docs/interface.md, Releases. */
export const newestRelease = "1.2.28";

/** Whether a release is older than another; both are X.Y.Z. */
export const beforeRelease = (release: string, other: string): boolean =>
  release.localeCompare(other, "en", { numeric: true }) < 0;

export interface WhatIf {
  text: string;
  limits: Partial<Rules["limits"]>;
}
