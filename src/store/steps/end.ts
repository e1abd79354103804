import type { ErrorNote } from "../../exchange/records.ts";
import type { HoldReason } from "../../exchange/states.ts";
import { endExchange, exchangeIn, journal, noteError, update, vaultOf } from "./rows.ts";
import { findGeneration, provenByEnd } from "./generations.ts";
import type { CredentialsRow, ExchangeRow, VaultRows } from "./rows.ts";

/** Each function implements the method of `VaultSession` by its name. */
export function hold(
  rows: VaultRows,
  exchangeId: string,
  reason: HoldReason,
  { delivered, saveOwed }: { delivered: boolean; saveOwed: boolean },
): void {
  const row = exchangeIn(rows, exchangeId, ["started", "held"]);
  journal(rows, "held", exchangeId, { from: row.state, reason, delivered, saveOwed });
  row.state = "held";
  row.holdReason = reason;
  row.saveOwed = saveOwed;
  if (delivered) row.delivered = true;
}

export function noteSaved(rows: VaultRows, exchangeId: string, sha256: string): void {
  exchangeIn(rows, exchangeId, ["started", "held"]).given = sha256;
}

/** Step ③: an end call may now be sent. */
export function recordEnding(rows: VaultRows, exchangeId: string, delivered: boolean): void {
  const row = exchangeIn(rows, exchangeId, ["started", "held", "ending"]);
  journal(rows, "ending", exchangeId, { from: row.state, delivered });
  row.state = "ending";
  row.endsUnanswered += 1;
  const base = findGeneration(rows, row.baseGeneration);
  if (base !== undefined) base.ended = true;
  if (delivered) row.delivered = true;
}

export function noteEndAnswered(rows: VaultRows, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(rows, exchangeId, ["ending"]);
  row.endsUnanswered = Math.max(0, row.endsUnanswered - 1);
  noteError(rows, error);
  journal(rows, "end-answered", exchangeId, { error });
}

/** Step ④: the new pair is current. */
export function acknowledge(rows: VaultRows, exchangeId: string): void {
  const row = exchangeIn(rows, exchangeId, ["ending"]);
  const [base, offered] = [findGeneration(rows, row.baseGeneration), offeredBy(rows, row)];
  if (row.adopted) {
    // The service may answer a repetition with SUCCESS, so both pairs stay candidates.
    if (offered.standing === "imported") offered.placed ??= "successor";
    if (base?.standing === "imported") base.placed ??= "older";
    endExchange(rows, row, "acknowledged", { adopted: true });
    return;
  }
  provenByEnd(rows, offered, base);
  const vault = vaultOf(rows);
  vault.lastError = null;
  const place = rows.exchanges.indexOf(row);
  const upTo = rows.exchanges.findIndex(({ id }) => id === vault.carriedUpTo);
  // Its token was alive, so what is carried was sent before it. A repeated end call may be answered with SUCCESS whatever came since.
  if (vault.carried !== null && upTo >= place && row.endsUnanswered === 1)
    vault.carried = { ...vault.carried, unackedStarts: 0, unansweredStarts: 0 };
  // Its token was alive, so the service has processed no start since: none with the old credentials has failed.
  for (const later of rows.exchanges.slice(place + 1)) {
    if (later.state === "intent" && later.baseGeneration === row.baseGeneration)
      update(later, { outcome: later.outcome ?? "none", sole: true });
  }
  endExchange(rows, row, "acknowledged", { generation: row.newGeneration });
}

export function expire(rows: VaultRows, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(rows, exchangeId, ["ending", "in-doubt"]);
  offeredBy(rows, row).standing = "void";
  endExchange(rows, row, "expired", { error });
  noteError(rows, error);
}

export function markInDoubt(rows: VaultRows, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(rows, exchangeId, ["ending"]);
  row.state = "in-doubt";
  noteError(rows, error);
  journal(rows, "in-doubt", exchangeId, { endsUnanswered: row.endsUnanswered, error });
}

/** The pair that the start of an exchange returned; exists from ② on. */
function offeredBy(rows: VaultRows, row: ExchangeRow): CredentialsRow {
  const offered = findGeneration(rows, row.newGeneration);
  if (offered === undefined)
    throw new TypeError(`exchange ${row.id} is ${row.state} and has no new generation`);
  return offered;
}
