import { isDeepStrictEqual } from "node:util";
import { openStates } from "../../exchange/states.ts";
import type { ContentRow, Contents, ContentTable } from "../contents.ts";
import { contentTables } from "../contents.ts";

/** The columns that name a row, with its vault where it belongs to one. */
export const keys = {
  vaults: [],
  credentials: ["generation"],
  exchanges: ["id"],
  superseded: ["fingerprint"],
  refusals: ["combination"],
  journal: ["seq"],
  breakers: ["service"],
} as const satisfies Record<ContentTable, readonly string[]>;

type PartTable = "credentials" | "exchanges" | "superseded" | "refusals";

/** Whether rows of the table belong to a vault. */
export const isPart = (table: ContentTable): table is PartTable =>
  table !== "vaults" && table !== "journal" && table !== "breakers";

const named = (table: ContentTable, row: ContentRow): string => {
  const vault = table === "journal" || table === "breakers" ? [] : [row["service"], row["uuid"]];
  return JSON.stringify([...vault, ...keys[table].map((column) => row[column])]);
};

/** Rows of one table that are removed, or put there in the place of what has their key. */
export interface Differences {
  removed: ContentRow[];
  put: ContentRow[];
}

/**
 * What has to be written, by table. Only one pair of a vault is current and only one exchange open, so the rows that take such a
 * place come last. `isOutdated` says of an unchanged row that it is written all the same.
 */
export function differences(
  before: Contents,
  after: Contents,
  isOutdated: (row: ContentRow) => boolean,
): Record<ContentTable, Differences> {
  const of = (table: ContentTable): [ContentTable, Differences] => {
    const former = new Map(before[table].map((row) => [named(table, row), row]));
    const put: ContentRow[] = [];
    for (const row of after[table]) {
      const name = named(table, row);
      const was = former.get(name);
      former.delete(name);
      if (was === undefined || isOutdated(was) || !isDeepStrictEqual(was, row)) put.push(row);
    }
    const takes = ({ standing, state }: ContentRow): boolean =>
      standing === "current" || (openStates as unknown[]).includes(state);
    return [
      table,
      {
        removed: [...former.values()],
        put: put.toSorted((a, b) => Number(takes(a)) - Number(takes(b))),
      },
    ];
  };
  return Object.fromEntries(contentTables.map(of)) as Record<ContentTable, Differences>;
}

/**
 * Contents whose exchanges are numbered in the order of each vault's list: those that are there keep their numbers if new ones only
 * follow them, else all of that vault get new ones.
 */
export function numbered(before: Contents, after: Contents, next: () => number): Contents {
  const known = new Map(
    before.exchanges.map((row) => [named("exchanges", row), Number(row["seq"])]),
  );
  const vaults = Map.groupBy(after.exchanges, (row) => named("vaults", row));
  const exchanges = [...vaults.values()].flatMap((rows) => {
    const there = rows.map((row) => known.get(named("exchanges", row)) ?? Number.POSITIVE_INFINITY);
    const isFollowed = there.every(
      (seq, index) =>
        index === 0 || seq > (there[index - 1] ?? 0) || seq === Number.POSITIVE_INFINITY,
    );
    return rows.map((row, index) => {
      const seq = there[index] ?? Number.POSITIVE_INFINITY;
      return { ...row, seq: isFollowed && Number.isFinite(seq) ? seq : next() };
    });
  });
  return { ...after, exchanges };
}
