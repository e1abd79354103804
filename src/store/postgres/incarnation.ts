import type { Incarnation } from "./about.ts";
import type { Address } from "./address.ts";
import { isSamePlace } from "./address.ts";
import { codeOf, noRow } from "./connection.ts";
import type { Database } from "./database.ts";
import { transactAtGate } from "./gate.ts";
import type { MachineRecord, SeenState } from "./machine-record.ts";
import { dialectOf, place } from "./schema.ts";
import { raising } from "../document.ts";
import type { Statement } from "../statement.ts";
import { VaultError } from "../../errors.ts";
import { isLoopback } from "../../protocol/address.ts";
import { command } from "../../way.ts";

interface Watch {
  database: Pick<Database, "address" | "query" | "transact">;
  schema: string;
  machine: Pick<MachineRecord, "noteState" | "state" | "states">;
  warn: (message: string) => void;
}

/** Whether nothing happened since `before` but that time went on. */
export const isLater = (now: Incarnation, before: Incarnation): boolean =>
  now.original &&
  now.claims === before.claims &&
  now.timeline === before.timeline &&
  now.position >= before.position;

/**
 * Notices copies, and what was lost: after a failover to a server that may lack the last writes, and
 * after a volume was set back, no credentials count as proven. Returns whether that was just marked, so that what was read before is
 * out of date.
 * @throws `state` for a copy, until it is claimed
 */
export async function checkIncarnation(
  { database, schema, machine, warn }: Watch,
  found: Incarnation,
): Promise<boolean> {
  const { address } = database;
  if (!found.original)
    throw copied(address, "it was made on another server or in another database");
  const seen = machine.state(found.state);
  if (seen !== null && found.claims < seen.claims)
    throw copied(address, "a copy of it was claimed and has been used here since");
  if (seen !== null) checkServer(address, found, seen, warn);
  const isBehind = seen?.timeline === found.timeline && found.position < seen.position;
  const isSetBack = isBehind || found.timeline !== found.noted;
  if (isSetBack) {
    const why = isBehind
      ? "the server was set back to an earlier time"
      : "another server has taken over";
    const unlessMarked = isBehind ? [] : [changeTimeline(schema, found.noted, found.timeline)];
    try {
      await transactAtGate({ schema, database }, [...unlessMarked, ...setBack(schema)]);
      warn(
        `${address.shown}: ${why}, and may lack the last changes: no credentials count as proven before they have worked again`,
      );
    } catch (error) {
      // Somebody else was faster.
      if (codeOf(error) !== noRow) throw error;
    }
  }
  const { state, claims, timeline, position, started, server, now } = found;
  const tls = address.tls !== undefined;
  const where = { address: address.shown, server, tls };
  machine.noteState({ state, ...where, claims, timeline, position, started, now });
  return isSetBack;
}

/**
 * Tells a copy of the server's files from its original at a new address, by what this machine has noted and the server says of itself:
 * the former address is not asked, since that would take a login there.
 * @throws `state` for a copy
 */
function checkServer(
  address: Address,
  found: Incarnation,
  seen: SeenState,
  warn: Watch["warn"],
): void {
  const isSameAddress = isSamePlace(seen.address, address.shown);
  if (!isSameAddress && seen.tls && address.tls === undefined)
    warn(weaker(address.shown, seen.address));
  const isSameServer =
    found.claims !== seen.claims ||
    found.timeline !== seen.timeline ||
    found.started === seen.started;
  if (isSameAddress || isSameServer) return;
  if (found.started < seen.now)
    throw copied(
      address,
      `its original was in use at ${seen.address} while this server was running`,
    );
  const [[formerHost, formerPort], [host, port]] = [
    seen.server.split(" "),
    found.server.split(" "),
  ];
  const isTold = [formerHost, host].every(
    (each) => each !== undefined && each !== "" && each !== "::1" && !isLoopback(each),
  );
  if (formerPort !== port || (isTold && formerHost !== host))
    throw copied(address, `its original was at ${seen.address}`);
  warn(
    `${address.shown} was at ${seen.address} before, and its server was restarted since: if that one still runs, one of them is a copy`,
  );
}

/**
 * Warns, before anybody logs in, of an address without TLS that was used with it before. Where the address is another one, only the
 * state tells: `checkServer`.
 */
export function warnOfWeakerTls({
  address,
  machine,
  warn,
}: Pick<Watch, "machine" | "warn"> & { address: Address }): void {
  if (address.tls !== undefined) return;
  if (machine.states().some((seen) => seen.tls && isSamePlace(seen.address, address.shown)))
    warn(weaker(address.shown, "this address"));
}

const weaker = (address: string, before: string): string =>
  `the connection to ${address} has no TLS; this machine has used the state with TLS before (${before})`;

export const copied = (address: Address, why: string): VaultError =>
  new VaultError("state", `the state ${address.shown} is a copy (${why}); nothing was sent`, {
    hint: "use the original",
    next: [
      {
        ...command`vault state claim --state ${address.shown}`,
        note: "if nobody uses the original any more",
      },
    ],
  });

/** The time of the database, as the columns have it. */
const timestamp = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Nothing counts as proven any more, and all of it is known elsewhere; see `rowsOf`. */
export const setBack = (schema: string): Statement[] => [
  raising(dialectOf(schema), "copies"),
  raising(dialectOf(schema), "doubts"),
  setBackNow(schema),
];

/** Records that something may have been lost: the machines offer what they have kept. */
export const setBackNow = (schema: string): Statement => ({
  sql: `INSERT INTO ${schema}.meta VALUES ('set-back', ${timestamp}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
});

/** Makes this database the one that holds the state, whatever it was copied from; at least as often as has been `seen`. */
export const reborn = (schema: string, seen = 0): Statement[] => [
  {
    sql: `UPDATE ${schema}.identity SET born = pg_current_xact_id(), system = ${place.system}, database = ${place.database},
      claims = greatest(claims, $1) + 1`,
    values: [seen],
  },
  { sql: `UPDATE ${schema}.meta SET value = ${place.timeline} WHERE name = 'timeline'` },
];

/** Goes on only if the timeline of the server is on record as `noted`, and records the present one; a division by zero ends the rest. */
const changeTimeline = (schema: string, noted: string, timeline: string): Statement => ({
  sql: `WITH changed AS (UPDATE ${schema}.meta SET value = $2 WHERE name = 'timeline' AND value = $1 RETURNING 1)
    SELECT 1 / (SELECT count(*) FROM changed)`,
  values: [noted, timeline],
});
