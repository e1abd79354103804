import type { Outcome } from "../exchange/counting.ts";
import type { VaultPlace } from "../secrets/sealing.ts";
import { columnsOf, mapSealed } from "./document.ts";
import { placeOf, VaultRows } from "./steps/rows.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "./steps/rows.ts";
import type { Row } from "./tables.ts";

/*
 * States of versions 0.1 and 0.2, which had a table for each part of a vault. They are read once,
 * and written as documents. What had been counted is carried; breakers begin closed.
 */

/** The tables that become documents; rows name their vault by its `id`. */
export const formerTables = [
  "vaults",
  "credentials",
  "exchanges",
  "superseded",
  "refusals",
] as const;

/** Makes way for the tables of documents; a table of that name is `vaults_1` then. */
export const makingWay = (prefix: string): string => `
  DROP INDEX ${prefix}one_label; DROP INDEX ${prefix}vaults_by_uuid; DROP TABLE ${prefix}breakers;
  ALTER TABLE ${prefix}vaults RENAME TO vaults_1;`;

/** Who holds a vault of a shared state. */
export const formerLease = (prefix: string): string =>
  `SELECT uuid, holder, since, "endsAt" FROM ${prefix}leases WHERE "endsAt" > clock_timestamp() AND since <= clock_timestamp()`;

export const formerTable = (prefix: string, table: string): string =>
  `SELECT * FROM ${prefix}${table === "vaults" ? "vaults_1" : table}${table === "exchanges" ? " ORDER BY seq" : ""}`;

export const droppingFormer = (prefix: string): string =>
  [...formerTables.slice(1), "vaults_1"].map((table) => `DROP TABLE ${prefix}${table};`).join(" ");

/**
 * The rows of the former tables as rows of those of today. `anew` seals without the state's id, which
 * bound shared values; labels were sealed, too.
 */
export function documentsOf(
  former: Readonly<Record<string, readonly Row[]>>,
  anew: (place: VaultPlace, value: string) => string,
  openLabel: (place: VaultPlace, label: string) => string = (_, label) => label,
): Record<"vaults" | "spent" | "runs", object[]> {
  const [credentials, exchanges, superseded, refusals] = formerTables
    .slice(1)
    .map((table) => Map.groupBy(former[table] ?? [], (row) => row["vault"] ?? null));
  const documents: ReturnType<typeof documentsOf> = { vaults: [], spent: [], runs: [] };
  for (const row of former["vaults"] ?? []) {
    const { id = null, label } = row;
    const place = { service: String(row["service"]), uuid: String(row["uuid"]) };
    const own = exchanges?.get(id) ?? [];
    const opened =
      typeof label === "string" ? openLabel(placeOf(place, "vaults.label", ""), label) : null;
    const pairs = (credentials?.get(id) ?? []).map(
      (pair) => fieldsOf(pair) as unknown as CredentialsRow,
    );
    const rows = new VaultRows({
      ...place,
      at: "",
      vault: { ...vaultOf(row, own), label: opened },
      credentials: pairs.toSorted((a, b) => a.generation - b.generation),
      exchanges: own.map(exchangeOf),
      refusals: new Map(
        (refusals?.get(id) ?? []).map(({ combination, fingerprint }) => [
          String(combination),
          fingerprint as string | null,
        ]),
      ),
    });
    rows.trim();
    documents.vaults.push(mapSealed(columnsOf(rows), anew));
    // Of one run, the newest exchange.
    const begun = new Map(own.map((exchange) => [exchange["run"], exchange]));
    for (const { id: exchange, run, operation, state, delivered, ...more } of begun.values()) {
      if (typeof run !== "string") continue;
      const { digest = null, delivery = null } = more as Record<string, string | null>;
      const begunIn = { ...place, run, exchange: String(exchange), operation, state, delivered };
      documents.runs.push(mapSealed({ ...begunIn, digest, delivery }, anew));
    }
    for (const { fingerprint = null } of superseded?.get(id) ?? [])
      documents.spent.push({ ...place, fingerprint });
  }
  return documents;
}

const flags = /^(?:limited|forgotten|proven|elsewhere|refused|ended|delivered|saveOwed|adopted)$/;

/** Columns that documents have in another form, or not at all. */
const former =
  /^(?:vault|seq|labelDigest|quietStarts|refusedSince|counted\w+|un\w+Starts|failedAttempts|possiblyFailed|digest|delivery)$/;

/** Columns by their names, with flags and JSON as what they stand for. */
const fieldsOf = (row: Row): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([name]) => !former.test(name))
      .map(([name, value]) => {
        const isJson = ["device", "lastError"].includes(name) && typeof value === "string";
        return [name, flags.test(name) ? value === 1 : isJson ? JSON.parse(value) : value];
      }),
  );

function vaultOf(row: Row, exchanges: readonly Row[]): VaultRow {
  const number = (name: string): number => Number(row[name]);
  const read = exchanges.findLast(
    (each) =>
      each["operation"] === "get" && each["newGeneration"] !== null && each["adopted"] === 0,
  );
  const { id: _, ...fields } = fieldsOf(row);
  return {
    ...(fields as unknown as VaultRow),
    carried: {
      unackedStarts: number("unackedStarts"),
      unansweredStarts: number("unansweredStarts"),
      failedAttempts: number("failedAttempts") + number("quietStarts"),
      possiblyFailed: number("possiblyFailed") + number("quietStarts"),
    },
    carriedUpTo: (exchanges.at(-1)?.["id"] ?? null) as string | null,
    lastReadAt: (read?.["startedAt"] ?? null) as string | null,
  };
}

/** Outcome of a start that has brought no pair, by the state of its exchange. */
const outcomes: Readonly<Record<string, Outcome>> = { rejected: "refused", intent: "none" };

const exchangeOf = (row: Row): ExchangeRow => ({
  ...(fieldsOf(row) as unknown as ExchangeRow),
  outcome: row["newGeneration"] === null ? (outcomes[String(row["state"])] ?? "free") : "success",
  sole: false,
  by: null,
});
