import { counting, countToCarry } from "../../exchange/counting.ts";
import { candidates } from "../../exchange/next-action.ts";
import { isLive } from "../../exchange/records.ts";
import { openStates } from "../../exchange/states.ts";
import type { RestoredVault } from "../../documents/state.ts";
import type { CredentialsRow, ExchangeRow, VaultRows } from "../steps/rows.ts";
import { nothingCarried, openIn, update } from "../steps/rows.ts";

/**
 * Restores a vault of a backup, as a step: whole and unverified if unknown here, else imported
 * behind what is here. A second run changes nothing. `theirs` is the file's vault with all
 * superseded fingerprints, sealed with this state's key. `rows` says which file pairs were
 * superseded here, `past` which exchanges this journal has. `isLabelTaken`: by another vault here.
 */
export function restoreVault(
  rows: VaultRows,
  theirs: VaultRows,
  { past, isLabelTaken }: { past: ReadonlySet<string>; isLabelTaken: boolean },
): RestoredVault {
  const before = rows.open?.id;
  const label = theirs.vault?.label ?? null;
  const reason = restored(rows, theirs, past, isLabelTaken ? null : label);
  if (!["known", "older", "gone"].includes(reason)) rows.log("merged", null, { outcome: reason });
  const isWhole = reason === "taken" || reason === "returned";
  const { service, uuid, vault, open } = rows;
  const from = open?.id === before ? "here" : "file";
  return {
    uuid,
    label: vault?.label ?? null,
    service,
    reason,
    exchange: open === undefined ? null : { id: open.id, state: open.state, from },
    droppedLabel: isLabelTaken && isWhole ? label : null,
  };
}

function restored(
  rows: VaultRows,
  theirs: VaultRows,
  past: ReadonlySet<string>,
  label: string | null,
): RestoredVault["reason"] {
  const { vault } = rows;
  const live = theirs.credentials.filter(isLive);
  const isOlder = live.length > 0 && live.every((row) => rows.superseded.has(row.fingerprint));
  if (vault === null) {
    if (!isOlder) take(rows, theirs, label);
    return isOlder ? "older" : "taken";
  }
  if (vault.lastError?.code === "gone" && live.length > 0) return "gone";
  const { forgotten: isForgotten, lastGeneration, carried, carriedUpTo, forgottenAt } = vault;
  if (isForgotten) {
    if (isOlder) return "older";
    if (live.length === 0) return "known";
    // Its counters and the last number stay.
    const kept = { lastGeneration, carried, carriedUpTo, forgottenAt };
    rows.vault = { ...theirs.known, label, ...kept };
  }
  const place = join(rows, theirs, past, isForgotten);
  if (isForgotten) return "returned";
  const isAllOurs = live.every((row) => rows.live(row.fingerprint) !== undefined);
  return place ?? (isAllOurs ? "known" : "older");
}

/** Takes a vault that is unknown here, whole. All of it may have been used since. */
function take(rows: VaultRows, theirs: VaultRows, label: string | null): void {
  rows.vault = { ...theirs.known, label };
  rows.credentials = theirs.credentials.map((row) => ({
    ...row,
    standing: rows.superseded.has(row.fingerprint) ? "superseded" : row.standing,
  }));
  // Without what the file has of a run it cannot be told whether the same is asked for.
  rows.exchanges = theirs.exchanges.map((row) => ({ ...row, run: null }));
  rows.refusals = theirs.refusals;
  for (const print of theirs.superseded) rows.superseded.add(print);
  // Once these are no longer kept, the journal tells that they were counted here.
  for (const id of countedThere(theirs).ids) rows.log("merged", id);
  rows.doubt();
  if (rows.open !== undefined) adopt(rows, rows.open, "successor");
}

const closed = { state: "discarded", token: null } as const;

/** Anybody may have acknowledged an exchange of the file, which supersedes nothing then. */
function adopt(rows: VaultRows, open: ExchangeRow, placed: "successor" | null): void {
  const [base, made] = [open.baseGeneration, open.newGeneration].map((n) => rows.generation(n));
  // If one of its pairs is superseded, the end call was answered elsewhere, or never will be.
  if ([base, made].some((row) => row?.standing === "superseded")) {
    update(open, closed);
    return;
  }
  open.adopted = true;
  if (base !== undefined) base.ended = true;
  if (made !== undefined && made.standing !== "void")
    update(made, { standing: "imported", placed });
}

/**
 * Imports what is unknown here behind what is here; before it only if the file knows that the
 * current pair here was superseded. Returns which of the two, or null if there is nothing.
 */
function join(
  rows: VaultRows,
  theirs: VaultRows,
  past: ReadonlySet<string>,
  isForgotten: boolean,
): "first" | "after" | null {
  const ours = rows.credentials.filter(isLive);
  const current = ours.find(({ standing }) => standing === "current");
  const isStale = current !== undefined && theirs.superseded.has(current.fingerprint);
  const isNext = ({ standing }: CredentialsRow): boolean => isStale && standing === "current";
  const refused = new Set(rows.refusals.values());
  const isHere = new Set(rows.credentials.map(({ fingerprint }) => fingerprint));
  for (const row of inOrder(theirs)) {
    const { fingerprint: print } = row;
    // Whoever has the file has the pair.
    for (const own of rows.credentials) if (own.fingerprint === print) own.elsewhere = true;
    if (isHere.has(print) || rows.superseded.has(print)) continue;
    const { createdAt, device, ended } = row;
    const standing = !isLive(row) ? "void" : isForgotten ? row.standing : "imported";
    const behind = standing === "void" ? null : isNext(row) ? "successor" : "older";
    const placed = isForgotten ? row.placed : behind;
    const added = rows.add(rows.openPair(row), { standing, device, elsewhere: true, placed });
    const isRefused = row.refused || refused.has(print);
    update(added, { fingerprint: print, createdAt, ended, refused: isRefused });
  }
  const added = rows.credentials.filter(({ fingerprint }) => !isHere.has(fingerprint));
  const isNew = added.some(isLive);
  const isFirst = added.some(({ placed }) => placed === "successor");
  if (isNew) for (const row of ours) update(row, { proven: false, elsewhere: true });
  for (const print of theirs.superseded) if (!isHere.has(print)) rows.superseded.add(print);
  for (const [combination, print] of theirs.refusals)
    if (added.some(({ fingerprint }) => fingerprint === print))
      rows.refusals.set(combination, print);
  takeExchanges(rows, theirs, past);
  return !isNew ? null : isFirst ? "first" : "after";
}

/** The file's kept pairs that are not superseded there; last, the one to be tried first there. */
function inOrder(theirs: VaultRows): CredentialsRow[] {
  const record = theirs.record();
  if (record === null) return [];
  const order = [...candidates(record), ...record.generations];
  const kept = order.filter(({ standing }) => standing !== "superseded");
  // Of several with the same pair the first.
  const byPair = [...Map.groupBy(kept, ({ fingerprint }) => fingerprint).values()];
  return byPair.toReversed().flatMap(([first]) => theirs.generation(first?.generation) ?? []);
}

/**
 * Counts here what the file's exchanges count there, if they are unknown here. The open one goes on
 * if it began with our current pair and none is open here.
 */
function takeExchanges(rows: VaultRows, theirs: VaultRows, past: ReadonlySet<string>): void {
  const vault = rows.known;
  const known = new Set([vault.carriedUpTo, ...past, ...rows.exchanges.map(({ id }) => id)]);
  const hereAs = (generation: number | null = null): CredentialsRow | undefined => {
    const print = theirs.generation(generation)?.fingerprint;
    const alike = rows.credentials.filter(({ fingerprint }) => fingerprint === print);
    const current = alike.find(({ standing }) => standing === "current");
    return current ?? alike.findLast(isLive) ?? alike.at(-1);
  };
  const left = theirs.open;
  const made = hereAs(left?.newGeneration);
  const goesOn =
    hereAs(left?.baseGeneration)?.standing === "current" &&
    made !== undefined &&
    isLive(made) &&
    left?.state !== "in-doubt" &&
    rows.open === undefined;
  const { each, ids, carried } = countedThere(theirs);
  const upTo = theirs.vault?.carriedUpTo ?? null;
  // What an acknowledgement there has settled makes no difference here.
  const isCarried = carried.unackedStarts + carried.failedAttempts > 0;
  if (upTo !== null && isCarried && !known.has(upTo)) {
    const both = { ...countToCarry(rows.exchanges, vault) };
    for (const each of Object.keys(both) as (keyof typeof both)[]) both[each] += carried[each];
    const carriedUpTo = rows.exchanges.at(-1)?.id ?? vault.carriedUpTo ?? upTo;
    update(vault, { carried: both, carriedUpTo });
    rows.log("merged", upTo);
  }
  for (const row of theirs.exchanges.filter(({ id }) => ids.has(id) && !known.has(id))) {
    const isOpen = row === left && goesOn;
    const ended = openStates.includes(row.state) ? closed : { token: null };
    const added: ExchangeRow = {
      ...row,
      baseGeneration: hereAs(row.baseGeneration)?.generation ?? 0,
      newGeneration: hereAs(row.newGeneration)?.generation ?? null,
      outcome: each.has(row.id) ? row.outcome : "free",
      sole: false,
      adopted: true,
      run: null,
      // No end call was sent from here.
      ...(isOpen ? { endsUnanswered: 0 } : ended),
    };
    rows.exchanges.push(added);
    rows.log("merged", row.id);
    if (isOpen) adopt(rows, added, null);
  }
}

/** What the file counts: exchanges, and carried; `ids` adds its open one and `carriedUpTo`. */
export function countedThere({ vault, exchanges }: VaultRows) {
  const { starts, refused, possibly, carried } = counting(
    exchanges.map((row) => ({ ...row, sole: false })),
    vault ?? nothingCarried,
  );
  const each = new Set([...starts, ...refused, ...possibly].map(({ id }) => id));
  const others = [openIn(exchanges)?.id, vault?.carriedUpTo];
  const ids = new Set([...each, ...others.filter((id) => typeof id === "string")]);
  return { each, ids, carried };
}
