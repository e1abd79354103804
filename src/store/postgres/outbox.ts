import { VaultError } from "../../errors.ts";
import type { VaultSession } from "../../exchange/ports.ts";
import type { AdoptedExchange } from "../../exchange/records.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { seal, unseal } from "../../secrets/sealing.ts";
import { openToken } from "../steps/exchange-rows.ts";
import { keptGeneration, openCredentials } from "../steps/generations.ts";
import type { ExchangeRow, Place, VaultRows } from "../steps/rows.ts";
import { vaultOf } from "../steps/rows.ts";
import type { About } from "./about.ts";
import type { MachineRecord, SeenBefore } from "./machine-record.ts";

const documentPlace = ({ state, service, uuid }: Place): VaultPlace => ({ state, service, uuid, column: "outbox.document", row: "" });

interface Keeping {
  machine: MachineRecord;
  /** How far the database had got when the vault was locked. */
  position: number;
  /** `About.setBack` at that time. */
  setBack: string;
  key: SealingKey;
}

/** Keeps an exchange on this machine before its end call is sent: a failover can lose what the database has of it. */
export async function keep({ machine, position, setBack, key }: Keeping, rows: VaultRows, exchange: ExchangeRow): Promise<void> {
  const { state = "", service, uuid, at } = rows;
  const { label, kind } = vaultOf(rows);
  const made = keptGeneration(rows, exchange.new_generation ?? 0);
  const document: AdoptedExchange = {
    exchangeId: exchange.id,
    kind: exchange.kind,
    operation: exchange.operation as Operation,
    old: openCredentials(key, rows, keptGeneration(rows, exchange.base_generation)),
    new: openCredentials(key, rows, made),
    token: openToken(key, rows, exchange),
    tokenExpiry: exchange.token_expiry,
    unread: false,
  };
  const { generation, fingerprint } = made;
  const seen = { service, uuid, generation, fingerprint, label, kind };
  await machine.keep(state, position, seen, { at, setBack, document: seal(key, documentPlace(rows), JSON.stringify(document)) });
}

/** What the database and this machine know of a vault that has been locked. */
interface Known {
  session: Pick<VaultSession, "adopt">;
  rows: VaultRows;
  seen: SeenBefore | undefined;
  about: Pick<About, "setBack">;
  key: SealingKey;
  warn: (message: string) => void;
}

/**
 * Makes the last exchange of this machine a candidate again if the database has lost it.
 * @throws `state` if it has lost what this machine has seen and not kept
 */
export async function bringBack({ session, rows, seen, about, key, warn }: Known): Promise<void> {
  if (seen === undefined) return;
  const { document, kept, setBack, generation, fingerprint } = seen;
  const { last_generation: last, forgotten } = rows.vault ?? { last_generation: 0, forgotten: 0 };
  const isThere = (print: string): boolean => rows.superseded.has(print) || rows.credentials.some((row) => row.fingerprint === print);
  const isBehind = last < generation && !isThere(fingerprint);
  if (isBehind && kept !== fingerprint) {
    throw new VaultError(
      "state",
      `the database has lost credentials of vault ${rows.uuid} that this machine has seen (generation ${generation})`,
      {
        uuid: rows.uuid,
        hint: `vault get ${rows.uuid} on the machine that used it last (brings them back); vault state claim (goes on without them)`,
      },
    );
  }
  if (document === null || kept === null || isThere(kept)) return;
  if (!isBehind && (forgotten === 1 || about.setBack === setBack)) return;
  try {
    await session.adopt(JSON.parse(unseal(key, documentPlace(rows), document)) as AdoptedExchange);
  } catch (error) {
    // Another machine's start has proved since that its end call never arrived.
    if (error instanceof VaultError && error.code === "no-credentials") return;
    throw error;
  }
  warn(`the database had lost the last exchange of vault ${rows.uuid}; its credentials are candidates again`);
}
