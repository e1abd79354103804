import type { StartOutcome } from "../../exchange/counting.ts";
import type { EndOutcome, ErrorNote, Intent, OpenExchange } from "../../exchange/records.ts";
import { bareCredentials, settledAs, type Settled, type Started } from "../../exchange/records.ts";
import { openStates, type HoldReason } from "../../exchange/states.ts";
import { seal } from "../../secrets/sealing.ts";
import { begun, forgotten, lockLost, nothingCarried, placeOf, update } from "./rows.ts";
import type { CredentialsRow, ExchangeRow, VaultRows } from "./rows.ts";

// Steps of an exchange. Each function implements, or helps, the `VaultSession` method of its name.

/** Step ①: a start may now be sent. */
export function recordIntent(rows: VaultRows, intent: Intent): void {
  const { exchangeId, operation, kind, externalRef, generation, sole, seen, run } = intent;
  rows.seen = seen;
  rows.kept(generation);
  if (rows.exchange(exchangeId) !== undefined)
    throw lockLost(rows.uuid, `exchange ${exchangeId} exists already`);
  rows.exchanges.push({
    ...begun,
    id: exchangeId,
    operation,
    kind,
    state: "intent",
    externalRef,
    baseGeneration: generation,
    startedAt: rows.at,
    sole,
    run: run?.name ?? null,
    by: rows.by ?? null,
  });
  if (run !== undefined) {
    const { digest = null, delivery = null } = run;
    // A digest of few possible contents would tell them: it is sealed.
    const place = placeOf(rows, "exchanges.digest", exchangeId);
    rows.begunIn = { digest: digest && seal(rows.sealing, place, digest), delivery };
  }
  rows.log("intent", exchangeId, { operation, kind, externalRef, generation, run: run?.name });
}

export function noteOutcome(
  rows: VaultRows,
  exchangeId: string,
  outcome: StartOutcome,
  error: ErrorNote,
  combination?: string,
  isAsStored = true,
): void {
  const row = rows.exchangeIn(exchangeId, ["intent"]);
  const { baseGeneration: generation } = row;
  const isRefused = outcome === "refused";
  row.outcome = outcome === "no-starts" ? "free" : outcome;
  if (outcome === "none" || outcome === "success") rows.log("unanswered", exchangeId, { error });
  else if (outcome === "free") endExchange(rows, row, "discarded", { takenBack: true, error });
  else endExchange(rows, row, "rejected", { generation, counted: isRefused, error });
  rows.noteError(error);
  if (!isRefused) return;
  const base = rows.generation(generation);
  if (combination !== undefined) rows.refusals.set(combination, base?.fingerprint ?? null);
  // With another hashedPin or kind it says nothing of a pair that has worked.
  if (!isAsStored) return;
  if (base !== undefined) base.refused = true;
  doubtOfferedBy(rows, generation);
}

/**
 * Marks in doubt an open or expired exchange begun with a refused pair: somebody else may have
 * acknowledged it. Its new pair is a candidate again, unless it was refused too.
 */
function doubtOfferedBy(rows: VaultRows, base: number): void {
  const offeredBy = (row: ExchangeRow) => rows.generation(row.newGeneration);
  const expired = (row: ExchangeRow): boolean =>
    row.baseGeneration === base && row.state === "expired" && offeredBy(row)?.standing === "void";
  const left = rows.open ?? rows.exchanges.findLast(expired);
  if (left?.baseGeneration !== base || left.state === "ending") return;
  const offered = offeredBy(left);
  rows.log("in-doubt", left.id, { from: left.state, refused: base });
  left.state = "in-doubt";
  if (offered?.standing === "void") offered.standing = "offered";
}

/** Step ②: the new pair is stored. */
export function recordStarted(
  rows: VaultRows,
  exchangeId: string,
  started: Started,
): Settled | null {
  const exchange = rows.exchangeIn(exchangeId, ["intent"]);
  const base = rows.kept(exchange.baseGeneration);
  // With the success of a start, the service drops every exchange that was left.
  let settled: Settled | null = null;
  for (const left of rows.exchanges.filter((one) => one !== exchange)) {
    if (!["intent", ...openStates].includes(left.state)) continue;
    const ended = endedByStart(left, base.generation);
    // What was left by itself is simply begun again.
    const isTold = ended !== "discarded" || left.state === "held" || started.discardPending;
    if (isTold && left.state !== "intent")
      settled = settledAs(left as OpenExchange, ended === "discarded" ? "expired" : ended);
    endExchange(rows, left, ended === "in-doubt" ? "discarded" : ended, { by: exchangeId });
  }
  prove(rows, base, rows.credentials);
  rows.updateSentWith(base, started);
  const hashedPin = started.hashedPin ?? rows.openPair(base).hashedPin;
  const { generation } = rows.add(bareCredentials({ ...started.pair, hashedPin }), {
    standing: "offered",
    device: started.device ?? base.device,
    elsewhere: started.elsewhere,
  });
  const { tokenExpiry, usesRemaining, limited } = started;
  const said = { tokenExpiry, usesRemaining, limited };
  update(exchange, {
    state: "started",
    outcome: "success",
    newGeneration: generation,
    token: rows.seal("exchanges.token", exchangeId, started.token),
    ...said,
    given: started.given ?? null,
  });
  const vault = rows.known;
  update(vault, {
    kind: exchange.kind,
    provenAt: rows.at,
    lastReadAt: exchange.operation === "get" ? exchange.startedAt : vault.lastReadAt,
    proofExpiry: tokenExpiry,
    usesRemaining,
    limited,
    expiryDate: started.expiryDate,
    autoLockDate: started.autoLockDate,
    dateCreated: started.dateCreated ?? vault.dateCreated,
    lastModified: started.lastModified,
    lastError: null,
  });
  rows.refusals.delete(started.combination);
  rows.log("started", exchangeId, { base: base.generation, generation, ...said });
  return settled;
}

/**
 * How the SUCCESS of a start with `generation` ends an exchange that was left. Where an end call may have been sent and neither of its two
 * pairs was accepted, it stays in doubt: somebody may have acknowledged it before.
 */
function endedByStart(left: ExchangeRow, generation: number): EndOutcome | "discarded" {
  if (left.state !== "in-doubt" && left.endsUnanswered === 0) return "discarded";
  if (left.newGeneration === generation) return "acknowledged";
  return left.baseGeneration === generation ? "expired" : "in-doubt";
}

export function hold(
  rows: VaultRows,
  exchangeId: string,
  reason: HoldReason,
  { delivered, saveOwed }: { delivered: boolean; saveOwed: boolean },
): void {
  const row = rows.exchangeIn(exchangeId, ["started", "held"]);
  rows.log("held", exchangeId, { from: row.state, reason, delivered, saveOwed });
  update(row, { state: "held", holdReason: reason, saveOwed });
  if (delivered) row.delivered = true;
}

export function noteSaved(rows: VaultRows, exchangeId: string, sha256: string): void {
  rows.exchangeIn(exchangeId, ["started", "held"]).given = sha256;
}

/** Step ③: an end call may now be sent. */
export function recordEnding(rows: VaultRows, exchangeId: string, delivered: boolean): void {
  const row = rows.exchangeIn(exchangeId, ["started", "held", "ending"]);
  rows.log("ending", exchangeId, { from: row.state, delivered });
  row.state = "ending";
  row.endsUnanswered += 1;
  const base = rows.generation(row.baseGeneration);
  if (base !== undefined) base.ended = true;
  if (delivered) row.delivered = true;
}

/** Step ④: the new pair is current. */
export function acknowledge(rows: VaultRows, exchangeId: string): void {
  const row = rows.exchangeIn(exchangeId, ["ending"]);
  const offered = rows.kept(row.newGeneration);
  const base = rows.generation(row.baseGeneration);
  if (row.adopted) {
    // The service may answer a repetition with SUCCESS, so both pairs stay candidates.
    if (offered.standing === "imported") offered.placed ??= "successor";
    if (base?.standing === "imported") base.placed ??= "older";
    endExchange(rows, row, "acknowledged", { adopted: true });
    return;
  }
  // Others stay: they may have been imported since.
  const sameAsBase = rows.credentials.filter((row) => row.fingerprint === base?.fingerprint);
  prove(rows, offered, sameAsBase);
  rows.forgetRefusal(offered);
  const vault = rows.known;
  vault.lastError = null;
  const place = rows.exchanges.indexOf(row);
  const upTo = rows.exchanges.findIndex(({ id }) => id === vault.carriedUpTo);
  // Its token lived: what is carried was sent before. A repeated end call may succeed regardless.
  if (vault.carried !== null && upTo >= place && row.endsUnanswered === 1)
    vault.carried = { ...vault.carried, unackedStarts: 0, unansweredStarts: 0 };
  // Its token lived: the service has processed no start since, so none with the old pair failed.
  for (const later of rows.exchanges.slice(place + 1)) {
    if (later.state === "intent" && later.baseGeneration === row.baseGeneration)
      update(later, { outcome: later.outcome ?? "none", sole: true });
  }
  endExchange(rows, row, "acknowledged", { generation: row.newGeneration });
}

export function settle(
  rows: VaultRows,
  exchangeId: string,
  as: "ending" | "expired" | "in-doubt",
  error: ErrorNote,
): void {
  const row = rows.exchangeIn(exchangeId, as === "expired" ? ["ending", "in-doubt"] : ["ending"]);
  rows.noteError(error);
  if (as === "expired") {
    rows.kept(row.newGeneration).standing = "void";
    endExchange(rows, row, as, { error });
  } else if (as === "in-doubt") {
    row.state = as;
    rows.log(as, exchangeId, { endsUnanswered: row.endsUnanswered, error });
  } else {
    row.endsUnanswered = Math.max(0, row.endsUnanswered - 1);
    rows.log("end-answered", exchangeId, { error });
  }
}

export function recordDeleted(rows: VaultRows, exchangeId: string): void {
  const row = rows.exchangeIn(exchangeId, ["intent"]);
  const { operation, externalRef, baseGeneration: generation } = row;
  rows.log("deleted", exchangeId, { operation, externalRef, generation });
  // It was not merely forgotten: a restore must not bring it back.
  update(rows.known, {
    ...forgotten,
    ...nothingCarried,
    forgottenAt: rows.at,
    lastError: { at: rows.at, code: "gone", message: "deleted from here" },
  });
}

/** States after which nothing more happens, and the token is useless. */
type FinalState = "acknowledged" | "expired" | "discarded" | "rejected";

/** Ends an exchange, with a journal entry, and erases its token. */
function endExchange(
  rows: VaultRows,
  row: ExchangeRow,
  state: FinalState,
  detail: Record<string, unknown> = {},
): void {
  rows.log(state, row.id, { from: row.state, ...detail });
  update(row, { state, token: null, acknowledgedAt: state === "acknowledged" ? rows.at : null });
}

/** Number of superseded generations that keep their pair; older ones keep only the fingerprint. */
const keptSuperseded = 5;

/** Records that a pair was accepted: it is current, its rivals are superseded. */
function prove(
  { credentials, superseded }: VaultRows,
  current: CredentialsRow,
  rivals: readonly CredentialsRow[],
): void {
  for (const row of rivals.filter((each) => each !== current)) {
    row.standing = "superseded";
    superseded.add(row.fingerprint);
  }
  update(current, {
    standing: "current",
    proven: true,
    refused: false,
    placed: null,
    ended: false,
  });
  const kept = credentials.filter(
    ({ standing, sealed }) => standing === "superseded" && sealed !== null,
  );
  for (const row of kept.slice(0, -keptSuperseded)) row.sealed = null;
}
