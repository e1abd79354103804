import { VaultError } from "../../errors.ts";
import type { VaultSession } from "../../exchange/ports.ts";
import type { AdoptedExchange } from "../../exchange/records.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { keyIdOf, seal, unseal } from "../../secrets/sealing.ts";
import { openToken, openCredentials } from "../steps/sealed.ts";
import { keptGeneration } from "../steps/generations.ts";
import type { ExchangeRow, Place, VaultRows } from "../steps/rows.ts";
import { vaultOf } from "../steps/rows.ts";
import type { About } from "./about.ts";
import { isSamePlace } from "./address.ts";
import type { LockedAt, MachineRecord, SeenBefore } from "./machine-record.ts";
import type { Way } from "../../way.ts";
import { command } from "../../way.ts";

const documentPlace = ({ state, service, uuid }: Place): VaultPlace => ({
  state,
  service,
  uuid,
  column: "outbox.document",
  row: "",
});

interface Keeping {
  machine: MachineRecord;
  about: LockedAt;
  key: SealingKey;
}

/** Keeps an exchange on this machine before its end call is sent: a failover can lose what the database has of it. */
export async function keep(
  { machine, about, key }: Keeping,
  rows: VaultRows,
  exchange: ExchangeRow,
): Promise<void> {
  const { service, uuid, at } = rows;
  const { label, kind } = vaultOf(rows);
  const made = keptGeneration(rows, exchange.newGeneration ?? 0);
  const document: AdoptedExchange = {
    exchangeId: exchange.id,
    kind: exchange.kind,
    operation: exchange.operation as Operation,
    old: openCredentials(key, rows, keptGeneration(rows, exchange.baseGeneration)),
    new: openCredentials(key, rows, made),
    token: openToken(key, rows, exchange),
    tokenExpiry: exchange.tokenExpiry,
    unread: false,
  };
  const { generation, fingerprint } = made;
  const seen = { service, uuid, generation, fingerprint, label, kind };
  await machine.keep(about, seen, {
    at,
    document: seal(key, documentPlace(rows), JSON.stringify(document)),
  });
}

/** What the database and this machine know of a vault that has been locked. */
interface Known {
  session: Pick<VaultSession, "adopt" | "recordPair">;
  rows: VaultRows;
  /** In one of the states that this machine knows. */
  seen: SeenBefore;
  /** Of the state in use: a directory, which only comes after shared ones, has no claims. */
  about: Pick<About, "predecessors" | "setBack" | "state"> & { claims: number | null };
  /** Where it is, as in messages. */
  address: string;
  keyring: Pick<Keyring, "key">;
  warn: (message: string) => void;
}

/**
 * Makes the last exchange of this machine a candidate again if the database has lost it: in this state, or in one that came here, or
 * that was at this address before and is gone, like a schema that was dropped.
 * @throws `state` if it has lost what this machine has seen and not kept, or cannot open any more
 */
export async function bringBack({
  session,
  rows,
  seen,
  about,
  address,
  keyring,
  warn,
}: Known): Promise<void> {
  const { document, kept, setBack, generation, fingerprint } = seen;
  const isOwn = seen.state === about.state;
  const isMadeAnew = !isOwn && !about.predecessors.includes(seen.state);
  // A start that has succeeded in the new state had newer credentials.
  const isHere = seen.address !== null && isSamePlace(seen.address, address);
  if (isMadeAnew && (!isHere || (rows.vault?.provenAt ?? null) !== null)) return;
  const { lastGeneration: last, forgotten } = rows.vault ?? { lastGeneration: 0, forgotten: false };
  const isThere = (print: string): boolean =>
    rows.superseded.has(print) || rows.credentials.some((row) => row.fingerprint === print);
  const isBehind = isOwn && last < generation && !isThere(fingerprint);
  if (isBehind && kept !== fingerprint) {
    throw new VaultError(
      "state",
      `the database has lost credentials of vault ${rows.uuid} that this machine has seen (generation ${generation})`,
      {
        uuid: rows.uuid,
        next: [
          {
            ...command`vault get ${rows.uuid}`,
            note: "on the machine that used it last: brings them back",
          },
          { ...command`vault state claim`, note: "continues without them" },
        ],
      },
    );
  }
  if (document === null || kept === null || isThere(kept)) return;
  if (!isBehind && (forgotten || (isOwn && about.setBack === setBack))) return;
  const id = keyIdOf(document);
  const key = await keyring.key(id).catch(() => null);
  if (key === null) {
    const what = `the database has lost the last exchange of vault ${rows.uuid}, and what this machine has kept of it is encrypted with key ${id}`;
    const isClaimed = about.claims !== (isOwn ? seen.claims : 0);
    if (!isMadeAnew && !isClaimed)
      throw new VaultError("state", `${what}, which is not available`, {
        uuid: rows.uuid,
        next: formerKey(rows.uuid),
      });
    const claimed = about.claims === null ? "" : ", since the state was claimed";
    const why = isMadeAnew ? ", since the state was made anew" : claimed;
    warn(`${what}, which is not available: this machine continues without it${why}`);
    return;
  }
  try {
    const exchange = JSON.parse(
      unseal(key, documentPlace({ ...rows, state: seen.state }), document),
    ) as AdoptedExchange;
    // Another machine may have used the vault since, and both pairs of an exchange would be tried.
    if (isMadeAnew) await session.recordPair({ kind: exchange.kind, credentials: exchange.new });
    else await session.adopt(exchange);
  } catch (error) {
    // Another machine's start has proved since that its end call never arrived.
    if (error instanceof VaultError && error.code === "no-credentials") return;
    throw error;
  }
  warn(
    `the database had lost the last exchange of vault ${rows.uuid}; its credentials are candidates again`,
  );
}

const formerKey = (uuid: string): Way[] => [
  {
    ...command`vault get ${uuid} --state-key @FILE`,
    note: "FILE is the current key, and the former key file is in its place",
  },
  { ...command`vault state claim`, note: "continues without them" },
];

/** Seals what this machine keeps with another key. What does not open stays as it is. */
export async function resealKept(
  {
    machine,
    keyring,
  }: { machine: Pick<MachineRecord, "documents" | "replace">; keyring: Pick<Keyring, "key"> },
  to: SealingKey,
): Promise<void> {
  const resealed = [];
  for (const { document, ...kept } of await machine.documents()) {
    const place = documentPlace({ ...kept, at: "" });
    if (keyIdOf(document) === to.id) continue;
    try {
      resealed.push({
        ...kept,
        document: seal(to, place, unseal(await keyring.key(keyIdOf(document)), place, document)),
      });
    } catch {
      // A rekey elsewhere has left it behind.
    }
  }
  await machine.replace(resealed);
}
