import type { ContentRow, Contents, ContentTable } from "../contents.ts";
import { contentsOf, contentTables, isPart, selectAll } from "../contents.ts";
import type { Database } from "./database.ts";
import type { Statement } from "./connection.ts";

/** Rows in one statement. */
const batch = 500;

/** Reads all that a state holds, sealed, as of one moment. */
export async function readContents({ schema, database }: { schema: string; database: Database }): Promise<Contents> {
  const connection = await database.connect();
  const rows = await connection.snapshot(contentTables.map((table) => ({ sql: selectAll(table, `${schema}.`, 'COLLATE "C"') })));
  return contentsOf(Object.fromEntries(contentTables.map((table, index) => [table, rows[index] ?? []])) as Record<ContentTable, object[]>);
}

/** The SQL that puts contents, sealed for it, into the place of what a state holds. */
export function replaceContents(schema: string, contents: Contents): Statement[] {
  const removals = contentTables.toReversed().map((table) => ({ sql: `DELETE FROM ${schema}.${table}` }));
  return [...removals, ...contentTables.flatMap((table) => insertions(schema, table, contents[table]))];
}

function insertions(schema: string, table: ContentTable, rows: readonly ContentRow[]): Statement[] {
  const [first] = rows;
  if (first === undefined) return [];
  const columns = Object.keys(first).filter((column) => !isPart(table) || (column !== "service" && column !== "uuid"));
  const named = (prefix: string): string => columns.map((column) => `${prefix}${column}`).join(", ");
  const [id, value, join] = isPart(table)
    ? ["vault", "vaults.id", `JOIN ${schema}.vaults ON service = given ->> 'service' AND uuid = given ->> 'uuid'`]
    : table === "vaults"
      ? ["id", "gen_random_uuid()", ""]
      : ["", "", ""];
  const [into, from] = id === "" ? [named(""), named("made.")] : [`${id}, ${named("")}`, `${value}, ${named("made.")}`];
  const sql = `INSERT INTO ${schema}.${table} (${into}) SELECT ${from}
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS list (given, n) ${join}
    CROSS JOIN LATERAL jsonb_populate_record(NULL::${schema}.${table}, given) AS made ORDER BY n`;
  return Array.from({ length: Math.ceil(rows.length / batch) }, (_, index) => ({
    sql,
    values: [JSON.stringify(rows.slice(index * batch, (index + 1) * batch))],
  }));
}
