/** An audit item of any export format. The specification shows no fields (section 6). */
export interface Item {
  /** Index of the input on the command line, from 0. */
  input: number;
  /** Line in the input where the item begins, or index in a JSON array; from 1. */
  line: number;
  /** Milliseconds since the epoch. */
  time: number;
  /** As written. */
  action: string;
  /** Uuid in lower case; null if the item names no vault. */
  vault: string | null;
  outcome: string | null;
  description: string | null;
  application: string | null;
  address: string | null;
  endpoint: string | null;
  externalRef: string | null;
  id: string | null;
  /** Hash of all columns, even unused ones, for an item without an id. */
  contentHash?: number;
}

/** Properties of an item that a column can hold, by their names in `--map`. The scanner has their indexes (scanner/lines.ts). */
export const roles = ["time", "action", "vault", "outcome", "ip", "ref", "endpoint", "application", "id", "description"] as const;

export type Role = (typeof roles)[number];

/** The column of a role, and how it was recognized. The name of a nested column has dots (`vault.uuid`). */
export interface Column {
  name: string;
  by: "name" | "value" | "--map";
}

export type Columns = Partial<Record<Role, Column>>;

/** A line that is not an item. */
export interface Skip {
  input: number;
  line: number;
  reason: string;
}
