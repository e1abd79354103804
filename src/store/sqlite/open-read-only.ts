import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

/**
 * Opens a database read-only and creates nothing beside it: if one of the files with these suffixes is missing or empty, opens it
 * as immutable, because SQLite would create an empty WAL.
 * @throws what SQLite throws
 */
export function openReadOnly(path: string, beside: readonly string[] = ["-wal"]): DatabaseSync {
  const url = pathToFileURL(path);
  const isAtRest = beside.some(
    (ending) => (statSync(path + ending, { throwIfNoEntry: false })?.size ?? 0) === 0,
  );
  url.search = isAtRest ? "mode=ro&immutable=1" : "mode=ro";
  return new DatabaseSync(url, { readOnly: true });
}
