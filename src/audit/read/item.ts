/** One audit item as the replay works with it, whatever form it was exported in. The specification shows no fields (section 6). */
export interface Item {
  /** Which input, counted from 0, in the order in which they were named. */
  input: number;
  /** Of the input: the line in which the item begins, or in a JSON array the item's number; counted from 1. */
  line: number;
  /** Milliseconds since the epoch. */
  time: number;
  /** As written. */
  action: string;
  /** In lower case; null for an item that names none. */
  vault: string | null;
  outcome: string | null;
  description: string | null;
  application: string | null;
  address: string | null;
  endpoint: string | null;
  externalRef: string | null;
  id: string | null;
  /** Of an item without an id: equal where the export says the same of two items, also in columns that nobody asks for. */
  contentHash?: number;
}

/** What an item may have beside its line, by the names of `--map`. */
export const roles = ["time", "action", "vault", "outcome", "ip", "ref", "endpoint", "application", "id", "description"] as const;

export type Role = (typeof roles)[number];

/** Which column was taken for what, and why. A nested one is written with dots (`vault.uuid`). */
export interface Column {
  name: string;
  by: "name" | "value" | "--map";
}

export type Columns = Partial<Record<Role, Column>>;

/** A line that is no item. */
export interface Skip {
  input: number;
  line: number;
  reason: string;
}
