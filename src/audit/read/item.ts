import type { EventKind } from "../fold/events.ts";

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
}

/** What an item is read from again if a report needs it. Input and line identify it. */
export interface ItemLocation {
  /** Index of the input on the command line, from 0. */
  input: number;
  /** Line in the input, or index in a JSON array; from 1. */
  line: number;
  event: EventKind;
  /** The item; or the line of NDJSON that holds it, a character for each byte; or its offset in a file that can be read again. */
  content: Item | string | number;
}

/** An item on its way through the fold. It is used again for another item: what outlives the fold is kept by `locationOf`. */
export interface Entry extends ItemLocation {
  /** Milliseconds since the epoch. */
  time: number;
  /** Number of its vault (VaultTable); -1 if it names none. */
  vault: number;
  /** Hash of the item's id or, without one, of its content (bytes.ts). */
  idHash: number;
}

export const locationOf = ({ input, line, event, content }: Entry): ItemLocation => ({
  input,
  line,
  event,
  content,
});

/** Properties of an item that a column can hold, by their names in `--map`. */
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

/** A line that is not an item. */
export interface Skip {
  input: number;
  line: number;
  reason: string;
}
