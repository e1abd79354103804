import type { Columns } from "../../documents/audit.ts";
import type { VaultTable } from "../fold/vault-table.ts";
import { contentHashOf, idHashOf, viewOf } from "./bytes.ts";
import { clip } from "./clip.ts";
import type { Classifier } from "../meaning/classifier.ts";
import type { ColumnMap } from "../columns/given.ts";
import { uuidInEndpoint, uuidOf } from "../columns/values.ts";
import type { TimeReader } from "../columns/times.ts";
import type { Entry, Item, Role } from "./item.ts";
import { roles } from "./item.ts";

/** What the entries of an input are made with. */
export interface EntryOptions {
  /** Index of the input, from 0. */
  index: number;
  map: ColumnMap;
  /** Zone of times without one. */
  zone?: string | undefined;
  now?: number | undefined;
  vaults: VaultTable;
  classifier: Classifier;
  spare: SpareEntries;
}

/** Maximum number of entries to use again: of those held back to sort them, and a block of each of a few inputs. */
const maxSpare = 20_000;

/** Entries to use again: with millions of new ones, collecting garbage takes a third of the time. */
export class SpareEntries {
  readonly #entries: Entry[] = [];

  /** Returns an entry whose properties are all to be set. */
  take(): Entry {
    return (
      this.#entries.pop() ?? {
        time: Number.NaN,
        vault: -1,
        event: "other",
        input: 0,
        line: 0,
        idHash: 0,
        content: 0,
      }
    );
  }

  /** Takes an entry back that nobody reads any more. */
  give(entry: Entry): void {
    entry.content = 0;
    if (this.#entries.length < maxSpare) this.#entries.push(entry);
  }
}

/** Returns the entry of an item. `text` has all of its columns, even unused ones. */
export function entryOf(
  item: Item,
  text: string,
  vaults: VaultTable,
  classifier: Classifier,
  columns?: Columns,
): Entry {
  const { time, action, outcome, input, line } = item;
  const event = classifier.take(
    classifier.meaningOf(
      action,
      outcome ?? (columns !== undefined && columns.outcome === undefined ? undefined : null),
      columns?.outcome?.inverted,
    ),
    item.description,
    item.endpoint,
  );
  const bytes = viewOf(Buffer.from(item.id ?? text));
  return {
    time,
    vault: item.vault === null ? -1 : vaults.of(item.vault),
    event,
    input,
    line,
    idHash: (item.id === null ? contentHashOf : idHashOf)(bytes, 0, bytes.bytes.length),
    content: item,
  };
}

/**
 * Creates an item from a record, or returns why it is not one. Values stay as they are, except the vault: it is the uuid, in lower case,
 * even if the value is a path that contains it.
 */
export function itemOf(
  fields: ReadonlyMap<string, string>,
  columns: Columns,
  times: TimeReader,
  input: number,
  line: number,
): Item | { reason: string } {
  const values = valuesByRole(fields, columns);
  if (values.time === undefined) return { reason: "no time" };
  const time = times.parse(values.time);
  if (time === null) return { reason: `invalid time: ${clip(values.time)}` };
  if (values.action === undefined) return { reason: "no action" };
  return {
    input,
    line,
    time,
    action: values.action,
    vault: vaultOf(values.vault ?? values.endpoint ?? ""),
    outcome: values.outcome ?? null,
    description: values.description ?? null,
    application: values.application ?? null,
    address: values.ip ?? null,
    endpoint: values.endpoint ?? null,
    externalRef: values.ref ?? null,
    id: values.id ?? null,
  };
}

function valuesByRole(
  fields: ReadonlyMap<string, string>,
  columns: Columns,
): Partial<Record<Role, string>> {
  const values: Partial<Record<Role, string>> = {};
  for (const role of roles) {
    const column = columns[role];
    const value = column === undefined ? undefined : fields.get(column.name);
    if (value !== undefined) values[role] = value;
  }
  return values;
}

/** Returns the uuid in the value of a vault's column, in lower case; another text as it is; null for a path without one. */
export function vaultOf(value: string): string | null {
  const uuid = uuidOf(value);
  if (uuid !== null) return uuid;
  const text = value.trim().toLowerCase();
  // A path without a uuid names no vault (`POST /vault/credit-card/offline` creates one).
  return text.includes("/") ? uuidInEndpoint(text) : text === "" ? null : text;
}
