import type { DatabaseSync } from "node:sqlite";
import type { ContentRow, Contents, ContentTable } from "../contents.ts";
import { contentsOf, contentTables, isPart, selectAll } from "../contents.ts";
import { all, one, run } from "./query.ts";

/** Reads all that a state holds, sealed. Call it in a transaction. */
export const readContents = (db: DatabaseSync): Contents =>
  contentsOf(
    Object.fromEntries(contentTables.map((table) => [table, all<object>(db, selectAll(table, "", ""))])) as Record<ContentTable, object[]>,
  );

/** Writes contents, sealed for it, into a state that has none. Call it in a transaction. */
export function writeContents(db: DatabaseSync, contents: Contents): void {
  const ids = new Map<string, number>();
  const idOf = ({ service, uuid }: ContentRow): number => {
    const name = `${service} ${uuid}`;
    const id =
      ids.get(name) ??
      one<{ id: number }>(db, "SELECT id FROM vaults WHERE service = ? AND uuid = ?", service ?? null, uuid ?? null)?.id ??
      0;
    ids.set(name, id);
    return id;
  };
  for (const table of contentTables) {
    for (const row of contents[table]) {
      const { service: _, uuid: __, seq: ___, ...part } = row;
      const columns = isPart(table) ? { vault: idOf(row), ...part } : row;
      const marks = Object.keys(columns).map(() => "?");
      run(db, `INSERT INTO ${table} (${Object.keys(columns).join(", ")}) VALUES (${marks.join(", ")})`, ...Object.values(columns));
    }
  }
}
