import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

/**
 * Opens a database to be read only, so that nothing is made beside it: one at rest, without these files beside it, would be given
 * an empty WAL.
 * @throws what SQLite throws
 */
export function openReadOnly(path: string, beside: readonly string[] = ["-wal"]): DatabaseSync {
  const url = pathToFileURL(path);
  const isAtRest = beside.some((ending) => (statSync(path + ending, { throwIfNoEntry: false })?.size ?? 0) === 0);
  url.search = isAtRest ? "mode=ro&immutable=1" : "mode=ro";
  return new DatabaseSync(url, { readOnly: true });
}
