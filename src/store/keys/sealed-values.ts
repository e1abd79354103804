import type { DatabaseSync } from "node:sqlite";
import type { SealedRow, SealedValue } from "../document.ts";
import { sealedValuesOf } from "../document.ts";
import { all } from "../sqlite/query.ts";

/** Every sealed value of a state. Call it in a transaction. */
export const sealedValues = (db: DatabaseSync): SealedValue[] =>
  [
    "SELECT service, uuid, sealed FROM vaults",
    "SELECT service, uuid, exchange, digest FROM runs WHERE digest IS NOT NULL",
  ].flatMap((sql) => all<SealedRow>(db, sql).flatMap(sealedValuesOf));
