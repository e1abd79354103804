import type { About } from "./about.ts";
import type { Address } from "./address.ts";
import type { Database } from "./database.ts";
import { transactAtGate } from "./gate.ts";
import { place } from "./schema.ts";
import type { Statement } from "../statement.ts";
import { VaultError } from "../../errors.ts";
import { command } from "../../way.ts";

interface Watch {
  database: Pick<Database, "address" | "query" | "transact">;
  schema: string;
  warn: (message: string) => void;
}

/**
 * Notices copies and failovers: after one to a server that may lack the last writes, no credentials count as sole or proven. Returns
 * whether that was just marked, so that what was read before is out of date.
 * @throws `state` for a copy, until it is claimed
 */
export async function checkIncarnation(
  { database, schema, warn }: Watch,
  { original, timeline, noted }: Pick<About, "noted" | "original" | "timeline">,
): Promise<boolean> {
  const { address } = database;
  if (!original) throw copied(address);
  if (timeline === noted) return false;
  const [marked = []] = await transactAtGate({ schema, database }, [
    takenOver(schema, noted, timeline),
  ]);
  // Without a row, somebody else was faster, and has said so.
  if (marked.length > 0)
    warn(
      `${address.shown}: another server has taken over, and may lack the last changes: no credentials count as proven before they have worked again`,
    );
  return true;
}

/** The error for a copy. */
export const copied = (address: Address): VaultError =>
  new VaultError(
    "state",
    `the state ${address.shown} is a copy (it was made on another server or in another database); nothing was sent`,
    {
      hint: "use the original",
      next: [
        {
          ...command`vault state claim --state ${address.shown}`,
          note: "if nobody uses the original any more",
        },
      ],
    },
  );

/** Records the present timeline in place of the one `noted`, and that nothing is sole or proven any more. Returns rows if it was `noted`. */
const takenOver = (schema: string, noted: string, timeline: string): Statement => ({
  sql: `WITH changed AS (UPDATE ${schema}.meta SET value = $2 WHERE name = 'timeline' AND value = $1 RETURNING 1)
    INSERT INTO ${schema}.meta SELECT raised, '1' FROM changed, unnest(ARRAY['copies', 'doubts']) AS raised
    ON CONFLICT (name) DO UPDATE SET value = (meta.value::int + 1)::text RETURNING 1`,
  values: [noted, timeline],
});

/** Makes this database the one that holds the state, whatever it was copied from. */
export const reborn = (schema: string): Statement[] => [
  {
    sql: `UPDATE ${schema}.identity SET born = pg_current_xact_id(), system = ${place.system}, database = ${place.database}`,
  },
  { sql: `UPDATE ${schema}.meta SET value = ${place.timeline} WHERE name = 'timeline'` },
];
