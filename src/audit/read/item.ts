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
  /** UUID in lower case; null if the item names no vault. */
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

/** Maximum number of bytes, or items, in an input: 16 TiB. */
const perInput = 2 ** 44;

/** Maximum number of inputs in a location that a double can hold exactly. */
export const maxInputs = 500;

/** Encodes the location of an item as one number: its input, and its offset there in bytes or items. */
export const locationOf = (input: number, offset: number): number => input * perInput + offset;

export const inputOf = (location: number): number => Math.floor(location / perInput);

export const offsetOf = (location: number): number => location % perInput;

/**
 * Returns the item at a location, if it was kept or can be read again.
 *
 * @throws `invalid-input` if its file has changed.
 */
export type FindItem = (location: number, line: number) => Item | undefined;

/** Properties of an item that a column can hold, by their names in `--map`. The scanner has their indexes (scanner/lines.ts). */
export const roles = [
  "time",
  "action",
  "vault",
  "outcome",
  "ip",
  "ref",
  "endpoint",
  "application",
  "id",
  "description",
] as const;

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
