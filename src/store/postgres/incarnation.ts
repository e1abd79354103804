import { VaultError } from "../../errors.ts";
import type { Incarnation } from "./about.ts";
import { aboutIn, aboutStatement } from "./about.ts";
import { parseAddress } from "./address.ts";
import type { Address } from "./address.ts";
import { codeOf, Connection } from "./connection.ts";
import type { Database } from "./database.ts";
import type { MachineRecord } from "./machine-record.ts";
import { changeTimeline, setBack } from "./set-back.ts";

interface Watch {
  database: Database;
  schema: string;
  machine: MachineRecord;
  warn: (message: string) => void;
}

/** Whether nothing happened since `before` but that time went on. */
export const isLater = (now: Incarnation, before: Incarnation): boolean =>
  now.original && now.claims === before.claims && now.timeline === before.timeline && now.position >= before.position;

/**
 * Notices copies, and what was lost (DESIGN, Failover and copies): after a failover to a server that may lack the last writes, and
 * after a volume was set back, no credentials count as proven.
 * @throws `state` for a copy, until it is claimed
 */
export async function checkIncarnation({ database, schema, machine, warn }: Watch, found: Incarnation): Promise<void> {
  const { address } = database;
  if (!found.original) throw copied(address, "it was made on another server or in another database");
  const seen = await machine.state(found.state);
  if (seen !== null && found.claims < seen.claims) throw copied(address, "what was its copy has been claimed and used here since");
  if (seen !== null && seen.address !== address.shown && isAnother(found, await readAt(address, seen.address))) {
    throw copied(address, `its original answers at ${seen.address}`);
  }
  const isBehind = seen?.timeline === found.timeline && found.position < seen.position;
  if (isBehind || found.timeline !== found.noted) {
    const why = isBehind ? "the server was set back to an earlier time" : "another server has taken over";
    const unlessMarked = isBehind ? [] : [changeTimeline(schema, found.noted, found.timeline)];
    try {
      await database.transact([...unlessMarked, ...setBack(schema, why)]);
      warn(`${address.shown}: ${why}, and may lack the last changes: no credentials count as proven before they have worked again`);
    } catch (error) {
      // Somebody else was faster.
      if (codeOf(error) !== "22012") throw error;
    }
  }
  const { claims, timeline, position } = found;
  const isSame = seen?.address === address.shown && seen.claims === claims && seen.timeline === timeline && !isBehind;
  if (!isSame) await machine.noteState(found.state, { address: address.shown, claims, timeline, position });
}

const isAnother = (here: Incarnation, there: Incarnation | null): boolean =>
  there !== null && there.state === here.state && there.claims === here.claims && there.started !== here.started;

/** The incarnation at a former address; null if none answers. */
async function readAt({ user, password, tls }: Address, shown: string): Promise<Incarnation | null> {
  try {
    const former = { ...parseAddress(shown, {}, user, () => undefined), password, tls };
    const connection = await Connection.open(former);
    try {
      const [row] = await connection.query(aboutStatement(former.schema));
      return aboutIn(row, former);
    } finally {
      connection.close();
    }
  } catch {
    return null;
  }
}

const copied = (address: Address, why: string): VaultError =>
  new VaultError("state", `the state ${address.shown} is a copy (${why}); nothing was sent`, {
    hint: "use the original; if nobody uses that any more: vault state claim",
  });
