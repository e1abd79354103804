import { VaultError } from "../../errors.ts";
import { count, counting, countToCarry, withoutUnanswered } from "../../exchange/counting.ts";
import type {
  AdoptedExchange,
  AdoptionOutcome,
  CounterReset,
  CreatedVault,
  Creation,
  NewPair,
  Placed,
} from "../../exchange/records.ts";
import { bareCredentials } from "../../exchange/records.ts";
import { openStates } from "../../exchange/states.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { fingerprint } from "../../protocol/fingerprint.ts";
import type { Credentials } from "../../protocol/requests.ts";
import { command, noted } from "../../way.ts";
import {
  begun,
  forgotten,
  isSameDevice,
  nothingCarried,
  update,
  type CredentialsRow,
  type ExchangeRow,
  type VaultRow,
  type VaultRows,
} from "./rows.ts";

// Steps outside an exchange. Each implements the method of `VaultSession`, or `Store`, of its name.

export function recordPair(rows: VaultRows, pair: NewPair): number {
  const vault = knownVault(rows, pair.kind);
  vault.kind = pair.kind;
  vault.label = pair.label ?? vault.label;
  const { row, added } = ensureGeneration(rows, pair);
  // Importing a refused pair again says that it is valid; the guard counts it like any other.
  if (!added) rows.forgetRefusal(row);
  rows.log(added ? "imported" : "imported-again", null, {
    generation: row.generation,
    kind: pair.kind,
  });
  return row.generation;
}

export function adopt(rows: VaultRows, document: AdoptedExchange): AdoptionOutcome {
  const { exchangeId, operation, kind, device, unread = false } = document;
  const vault = knownVault(rows, kind);
  const known = rows.exchange(exchangeId);
  if (known !== undefined && openStates.includes(known.state)) return "open";
  const placed = placedBy(rows, document);
  if (placed === "known") return placed;
  // Where ② was lost with a failover, the document knows more than the state.
  const isCutOff = known?.newGeneration === null;
  if (known !== undefined && !isCutOff) {
    // It was discarded here; importing says that it may have been acknowledged elsewhere.
    const dropped = rows.generation(known.newGeneration);
    if (dropped?.standing === "void") dropped.standing = "imported";
    return "known";
  }
  const add = (credentials: Credentials, as: Placed | null): number | null => {
    if (rows.isSpent(fingerprint(rows.uuid, credentials))) return null;
    return ensureGeneration(rows, { credentials, kind, device }, as).row.generation;
  };
  const base = add(document.old, placed === "older" ? placed : null);
  const generation = add(
    bareCredentials({ ...document.new, hashedPin: document.old.hashedPin }),
    placed,
  );
  rows.log("adopted", exchangeId, { operation, base, generation, placed });
  // If one of its pairs is superseded, the end call was answered elsewhere, or never will be.
  if (base === null || generation === null || rows.open !== undefined) return "candidates";
  const adopted: ExchangeRow = {
    ...begun,
    id: exchangeId,
    operation,
    kind,
    state: unread ? "held" : "ending",
    externalRef: known?.externalRef ?? document.externalRef ?? "",
    baseGeneration: base,
    newGeneration: generation,
    startedAt: known?.startedAt ?? rows.at,
    token: rows.seal("exchanges.token", exchangeId, document.token),
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
  const live = rows.live(printOf(document.new));
  if (live !== undefined && (live.proven || live.standing !== "imported")) return "known";
  const [isOldDead, isNewDead] = [document.old, document.new].map((pair) =>
    rows.isSpent(printOf(pair)),
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
  return rows.live(printOf(document.old))?.standing === "current" ? "successor" : null;
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
  const live = rows.live(print);
  const { hashedPin: pin } = credentials;
  const isAsSent = (row: CredentialsRow): boolean =>
    (pin === undefined || rows.openPair(row).hashedPin === pin) &&
    (device === undefined || isSameDevice(row.device, device));
  if (live && ((live.standing === "imported" && !live.proven) || isAsSent(live))) {
    rows.updateSentWith(live, { hashedPin: pin, device });
    live.elsewhere = true;
    return { row: live, added: false };
  }
  if (rows.isSpent(print)) {
    throw new VaultError(
      "no-credentials",
      `the credentials given for vault ${rows.uuid} were superseded; they are never sent`,
      { uuid: rows.uuid, next: [command`vault status ${rows.uuid} --history`] },
    );
  }
  const kept = rows.credentials.filter(({ sealed }) => sealed !== null);
  const last = kept.find(({ standing }) => standing === "current") ?? kept.at(-1);
  const hashedPin = pin ?? (last && rows.openPair(last).hashedPin);
  const row = rows.add(bareCredentials({ ...credentials, hashedPin }), {
    standing: "imported",
    device: device ?? last?.device ?? null,
    elsewhere: true,
    placed,
  });
  return { row, added: true };
}

export function completeCreation(
  rows: VaultRows,
  { id, kind, externalRef }: Creation,
  given: CreatedVault,
): number {
  const isKnown = rows.credentials.length > 0;
  const vault = knownVault(rows, kind);
  const standing = isKnown ? "imported" : "current";
  const row = rows.add(bareCredentials(given.credentials), {
    standing,
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
  rows.log("created", id, { kind, externalRef, generation, standing });
  return generation;
}

export function markElsewhere(rows: VaultRows, generations: readonly number[]): void {
  for (const row of rows.credentials)
    if (generations.includes(row.generation)) row.elsewhere = true;
  rows.log("handed-out", null, { generations });
}

export function resetCounters(rows: VaultRows, to: CounterReset): void {
  const vault = rows.known;
  const { unackedStarts, failedAttempts, possiblyFailed } = count(rows.exchanges, vault);
  if (to === "all") vault.lastError = null;
  if (to === "unanswered") {
    // None of them has arrived.
    const { starts, possibly } = counting(rows.exchanges, vault);
    for (const start of [...starts, ...possibly])
      if (start.outcome !== "success") start.outcome = "free";
    if (vault.carried !== null) vault.carried = withoutUnanswered(vault.carried);
  } else {
    const { unackedStarts: starts, failedAttempts: failed } =
      to === "all" ? { unackedStarts: 0, failedAttempts: 0 } : to;
    // What the audit log shows has reached the service: no later word may take it off again.
    update(vault, {
      carried: {
        ...countToCarry(rows.exchanges, vault),
        ...(starts === undefined ? {} : { unackedStarts: starts, unansweredStarts: 0 }),
        ...(failed === undefined ? {} : { failedAttempts: failed, possiblyFailed: 0 }),
      },
      carriedUpTo: rows.exchanges.at(-1)?.id ?? vault.carriedUpTo,
    });
  }
  rows.log("counters-reset", null, { to, unackedStarts, failedAttempts, possiblyFailed });
}

export function forget(rows: VaultRows): void {
  const vault = rows.known;
  update(vault, {
    ...forgotten,
    carried: countToCarry(rows.exchanges, vault),
    // The exchange goes, its id stays: a restore elsewhere finds by it whether it counted this.
    carriedUpTo: rows.exchanges.at(-1)?.id ?? vault.carriedUpTo,
    forgottenAt: rows.at,
  });
  rows.log("forgotten", null);
}

export function setLabel(rows: VaultRows, label: string): void {
  rows.known.label = label;
  rows.log("labelled", null, { label });
}

/** The row of the vault, created if there is none. */
function knownVault(rows: VaultRows, kind: Kind): VaultRow {
  rows.vault ??= {
    service: rows.service,
    uuid: rows.uuid,
    kind,
    lastGeneration: 0,
    ...nothingCarried,
    provenAt: null,
    proofExpiry: null,
    ...forgotten,
  };
  return rows.vault;
}
