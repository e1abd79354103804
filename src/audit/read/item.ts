import { type EventKind, eventKinds } from "../fold/events.ts";

/** Audit item of any export format: no fields are documented (docs/interface.md, Audit items). */
export interface Item {
  /** Milliseconds since the epoch. */
  time: number;
  /** UUID in lower case; absent if the item names no vault. */
  vault?: string;
  /** As written. */
  action: string;
  outcome?: string;
  description?: string;
  id?: string;
  address?: string;
  externalRef?: string;
  endpoint?: string;
  application?: string;
}

/** An item on its way through the fold. */
export class Entry {
  /** Milliseconds since the epoch. */
  time = Number.NaN;
  /** Number of its vault (VaultTable); -1 if it names none. */
  vault = -1;
  /** Place of the event in `eventKinds`. */
  code = 0;
  input = 0;
  /** Line where the record begins, or number of the element; from 1. */
  line = 0;
  /** Byte offset and length in the input. NaN: a double from the start, or V8 recompiles all. */
  offset = Number.NaN;
  length = 0;
  /** Hash of the item's id or, without one, of its content (bytes.ts). */
  idHash = 0;

  get event(): EventKind {
    return eventKinds[this.code] as EventKind;
  }
}

/** Where an item is, which is read again if a report needs it. */
export type ItemLocation = Pick<Entry, "input" | "line" | "event" | "offset" | "length">;

/** Properties of an item that columns can hold, by their roles in `--map` and `--where`. */
export const properties = {
  time: "time",
  action: "action",
  vault: "vault",
  outcome: "outcome",
  ip: "address",
  ref: "externalRef",
  endpoint: "endpoint",
  app: "application",
  id: "id",
  reason: "description",
} as const satisfies Record<string, keyof Item>;

export type Role = keyof typeof properties;

export const roles = Object.keys(properties) as Role[];

/** A line that is not an item. */
interface Skip {
  input: number;
  line: number;
  reason: string;
}

const maxListed = 100;

/** Maximum number of uuids remembered of lines that could not be read. */
const maxUuids = 100_000;

export const anyUuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

const everyUuid = new RegExp(anyUuid, "gi");

/** Lines that are not items: their number, the first ones, and the uuids that they name. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];
  readonly #uuids = new Set<string>();

  /** Sorted by input and line: inputs are read ahead, so lines are not added in order. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  /** `text`: what could not be read. */
  add(skip: Skip, text: string): void {
    this.count += 1;
    if (this.#first.length < maxListed) this.#first.push(skip);
    this.name(text);
  }

  /** Notes what a text names that could not be read. */
  name(text: string): void {
    for (const [uuid] of text.matchAll(everyUuid))
      if (this.#uuids.size < maxUuids) this.#uuids.add(uuid.toLowerCase());
  }

  /** Whether such lines name a uuid, in lower case. Beyond a limit they may name any. */
  mayName(uuid: string): boolean {
    return this.#uuids.has(uuid) || this.#uuids.size === maxUuids;
  }
}
