import { VaultError } from "../../errors.ts";
import type {
  AdoptedExchange,
  AdoptionOutcome,
  CreatedVault,
  Creation,
  NewPair,
  Placed,
} from "../../exchange/records.ts";
import { fingerprint } from "../../protocol/fingerprint.ts";
import type { Credentials } from "../../protocol/requests.ts";
import { openStates } from "../../exchange/states.ts";
import type { Pair } from "../../protocol/answers.ts";
import {
  begun,
  findExchange,
  openExchangeOf,
  journal,
  knownVault,
  update,
  nothingCarried,
} from "./rows.ts";
import {
  sealToken,
  openCredentials,
  addGeneration,
  updateSentWithPair,
  isSentWithOther,
  findGeneration,
  forgetRefusal,
  isSpent,
  keyOf,
  liveGeneration,
  withPin,
} from "./generations.ts";
import type { CredentialsRow, ExchangeRow, VaultRows } from "./rows.ts";
import { command, noted } from "../../way.ts";

/** Implements `VaultSession.recordPair`. */
export function recordPair(rows: VaultRows, pair: NewPair): number {
  const vault = knownVault(rows, pair.kind);
  vault.kind = pair.kind;
  vault.label = pair.label ?? vault.label;
  const { row, added } = ensureGeneration(rows, pair);
  // Importing a refused pair again says that it is valid; the guard counts it like any other.
  if (!added) forgetRefusal(rows, row);
  journal(rows, added ? "imported" : "imported-again", null, {
    generation: row.generation,
    kind: pair.kind,
  });
  return row.generation;
}

/** Implements `VaultSession.adopt`. */
export function adopt(rows: VaultRows, document: AdoptedExchange): AdoptionOutcome {
  const { exchangeId, operation, kind, device, unread = false } = document;
  const vault = knownVault(rows, kind);
  const known = findExchange(rows, exchangeId);
  if (known !== undefined && openStates.includes(known.state)) return "open";
  const placed = placedBy(rows, document);
  if (placed === "known") return placed;
  // Where ② was lost with a failover, the document knows more than the state.
  const isCutOff = known?.newGeneration === null;
  if (known !== undefined && !isCutOff) {
    // It was discarded here; importing says that it may have been acknowledged elsewhere.
    const dropped = findGeneration(rows, known.newGeneration);
    if (dropped?.standing === "void") dropped.standing = "imported";
    return "known";
  }
  const add = (credentials: Credentials, as: Placed | null): number | null => {
    if (isSpent(rows, fingerprint(rows.uuid, credentials))) return null;
    return ensureGeneration(rows, { credentials, kind, device }, as).row.generation;
  };
  const base = add(document.old, placed === "older" ? placed : null);
  const generation = add(withPin(document.new, document.old.hashedPin), placed);
  journal(rows, "adopted", exchangeId, { operation, base, generation, placed });
  // If one of its pairs is superseded, the end call was answered elsewhere, or never will be.
  if (base === null || generation === null || openExchangeOf(rows) !== undefined)
    return "candidates";
  const adopted: ExchangeRow = {
    ...begun,
    id: exchangeId,
    operation,
    kind,
    state: unread ? "held" : "ending",
    externalRef: known?.externalRef ?? "",
    baseGeneration: base,
    newGeneration: generation,
    startedAt: known?.startedAt ?? rows.at,
    token: sealToken(keyOf(rows), rows, exchangeId, document.token),
    tokenExpiry: document.tokenExpiry,
    limited: unread,
    holdReason: unread ? "delivery" : null,
    endsUnanswered: unread ? 0 : 1,
    outcome: "success",
    adopted: true,
    by: known?.by ?? rows.by ?? null,
  };
  if (known === undefined) {
    // Counted before the vault was forgotten: here it would stand for what was begun since, too.
    if (vault.carriedUpTo === exchangeId) vault.carriedUpTo = null;
    rows.exchanges.push(adopted);
  } else update(known, adopted);
  return "open";
}

/**
 * The place of a document's new pair among candidates; `known` if live here, not just imported.
 * @throws `no-credentials` for a document that is older than what a start has proven here
 */
function placedBy(rows: VaultRows, document: AdoptedExchange): Placed | "known" | null {
  const printOf = (pair: Pair): string => fingerprint(rows.uuid, pair);
  const live = liveGeneration(rows, printOf(document.new));
  if (live !== undefined && (live.proven || live.standing !== "imported")) return "known";
  const [isOldDead, isNewDead] = [document.old, document.new].map((pair) =>
    isSpent(rows, printOf(pair)),
  );
  const isProven = rows.credentials.some(
    ({ proven, standing }) => proven && standing === "current",
  );
  const isFollowed = isProven && (isNewDead || (isOldDead && live === undefined));
  if (isFollowed || (isOldDead && isNewDead)) {
    throw new VaultError(
      "no-credentials",
      "this recovery document is older than the credentials that this state has used since",
      {
        uuid: rows.uuid,
        hint: "nothing was changed",
        next: [noted(command`vault get ${rows.uuid}`, "uses the stored credentials")],
      },
    );
  }
  const proof = rows.vault?.proofExpiry;
  // By the service's own times: earlier tokens expire earlier.
  if (
    proof &&
    document.tokenExpiry !== null &&
    Date.parse(document.tokenExpiry) < Date.parse(proof)
  )
    return "older";
  return liveGeneration(rows, printOf(document.old))?.standing === "current" ? "successor" : null;
}

/**
 * The generation of a given pair: the live one that records it, or a new one (`imported`), which
 * inherits the vault's last hashedPin and device if none are given. Only a success changes what is
 * stored with an accepted pair: another hashedPin or device makes it a new, unproven generation.
 * @throws `no-credentials` for a superseded pair
 */
function ensureGeneration(
  rows: VaultRows,
  { credentials, device }: NewPair,
  placed: Placed | null = null,
): { row: CredentialsRow; added: boolean } {
  const print = fingerprint(rows.uuid, credentials);
  const live = liveGeneration(rows, print);
  const beside = { hashedPin: credentials.hashedPin, device };
  if (
    live !== undefined &&
    ((live.standing === "imported" && !live.proven) || !isSentWithOther(rows, live, beside))
  ) {
    updateSentWithPair(rows, live, beside);
    live.elsewhere = true;
    return { row: live, added: false };
  }
  if (isSpent(rows, print)) {
    throw new VaultError(
      "no-credentials",
      `the credentials given for vault ${rows.uuid} were superseded; they are never sent`,
      {
        uuid: rows.uuid,
        next: [command`vault status ${rows.uuid} --history`],
      },
    );
  }
  const kept = rows.credentials.filter(({ sealed }) => sealed !== null);
  const last = kept.find(({ standing }) => standing === "current") ?? kept.at(-1);
  const hashedPin =
    credentials.hashedPin ??
    (last === undefined ? undefined : openCredentials(keyOf(rows), rows, last).hashedPin);
  const row = addGeneration(rows, {
    standing: "imported",
    credentials: withPin(credentials, hashedPin),
    device: device ?? last?.device ?? null,
    elsewhere: true,
    placed,
  });
  return { row, added: true };
}

/** Implements `Store.completeCreation`. */
export function completeCreation(
  rows: VaultRows,
  { id, kind, externalRef }: Creation,
  given: CreatedVault,
): number {
  const isKnown = rows.credentials.length > 0;
  const vault = knownVault(rows, kind);
  const standing = isKnown ? "imported" : "current";
  const row = addGeneration(rows, {
    standing,
    credentials: withPin(given.credentials, given.credentials.hashedPin),
    device: given.device ?? null,
    elsewhere: false,
    // A pair for a vault that is known already must not precede pairs that have worked.
    placed: isKnown ? "older" : null,
  });
  if (!isKnown) {
    row.proven = true;
    update(vault, {
      kind,
      label: given.label ?? vault.label,
      ...nothingCarried,
      usesRemaining: given.usesRemaining,
      limited: given.limited,
      expiryDate: given.expiryDate,
      autoLockDate: given.autoLockDate,
      dateCreated: given.dateCreated,
      lastModified: given.lastModified,
      lastError: null,
    });
  }
  const { generation } = row;
  journal(rows, "created", id, { kind, externalRef, generation, standing });
  return generation;
}
