import { countToCarry } from "../../../exchange/counting.ts";
import type { Placed } from "../../../exchange/records.ts";
import { openExchangeOf, update, vaultOf } from "../../steps/rows.ts";
import { findCredentials, findGeneration, isLive } from "../../steps/generations.ts";
import type { CredentialsRow, VaultRows } from "../../steps/rows.ts";
import { carry, addExchanges, continueOpen, isTokenAlive, settleKnown } from "./exchanges.ts";
import type { Meeting, Merging } from "./meeting.ts";
import { meet, knownAgainst } from "./meeting.ts";

/**
 * What a restore does with a vault of the file. `taken`: it was unknown here. `returned`: it was
 * forgotten here. `first`, `after`: the file's credentials are tried before those of this state, or after them. `settled`: the
 * file knows what became of an exchange. `older`: what the file has was superseded or refused here. `gone`: it was deleted since.
 * `known`: the file has nothing new.
 */
export type Merged =
  "taken" | "returned" | "first" | "after" | "settled" | "older" | "gone" | "known";

/**
 * Merges a vault of a backup into the same vault here: an import, by the rules of one (vault help restore). Both have all
 * their rows, with their values opened. Changes `rows`; a second time it changes nothing. What was a candidate here stays one,
 * and what was superseded or refused here becomes none.
 */
export function mergeVault(rows: VaultRows, theirs: VaultRows, merging: Merging): Merged {
  const { vault } = rows;
  if (vault?.lastError?.code === "gone" && theirs.credentials.some(isLive)) return "gone";
  return vault === null || vault.forgotten
    ? takeVault(rows, theirs, merging)
    : mergeKnown(rows, theirs, merging);
}

/** Takes a vault that is unknown or forgotten here. All of it may have been used since, so nothing in it is proven. */
function takeVault(rows: VaultRows, theirs: VaultRows, merging: Merging): Merged {
  const former = rows.vault;
  const { isSuperseded, isRefused, isUsable } = knownAgainst(rows, merging);
  const live = theirs.credentials.filter(isLive);
  if (former !== null && live.length === 0) return "known";
  if (live.length > 0 && !live.some(isUsable)) return "older";
  const vault = vaultOf(theirs);
  const first = former?.lastGeneration ?? 0;
  rows.vault = {
    ...vault,
    lastGeneration: first + vault.lastGeneration,
  };
  for (const row of theirs.credentials) {
    rows.credentials.push({
      ...row,
      generation: first + row.generation,
      standing: isSuperseded(row) ? "superseded" : row.standing,
      refused: row.refused || isRefused(row),
      proven: false,
      elsewhere: true,
    });
  }
  for (const row of theirs.exchanges) {
    const made = row.newGeneration === null ? null : first + row.newGeneration;
    rows.exchanges.push({
      ...row,
      baseGeneration: first + row.baseGeneration,
      newGeneration: made,
    });
  }
  const [before, counted] = [former?.carried, countToCarry(rows.exchanges, vault)];
  // Where exchanges are gone, nothing else would tell what both have counted.
  if (before) carry(rows, (name) => Math.max(before[name], counted[name]));
  for (const print of theirs.superseded) rows.superseded.add(print);
  for (const [combination, print] of theirs.refusals) rows.refusals.set(combination, print);
  const open = openExchangeOf(rows);
  if (open !== undefined) continueOpen(rows, open, merging.now);
  return former === null ? "taken" : "returned";
}

/** Merges a vault that both states know. */
function mergeKnown(rows: VaultRows, theirs: VaultRows, merging: Merging): Merged {
  const meeting = meet(rows, theirs, merging);
  const ours = rows.credentials.filter(isLive);
  const prints = new Set(rows.credentials.map((row) => row.fingerprint));
  const { taken, numbers } = takeCredentials(meeting, merging.now);
  const settled = settleKnown(meeting, numbers, merging.now);
  addExchanges(meeting, numbers, merging.now);
  const candidates = [...taken, ...settled.flatMap(({ proven }) => proven ?? [])];
  if (candidates.length > 0 && !meeting.isDoubtful)
    for (const row of ours) update(row, { proven: false, elsewhere: true });
  for (const print of theirs.superseded) if (!prints.has(print)) rows.superseded.add(print);
  const added = rows.credentials.filter(
    (row) => row.standing !== "superseded" && !prints.has(row.fingerprint),
  );
  for (const [combination, print] of theirs.refusals)
    if (added.some((row) => row.fingerprint === print)) rows.refusals.set(combination, print);
  if (candidates.some(({ placed }) => placed !== "older")) return "first";
  if (candidates.length > 0) return "after";
  if (settled.length > 0) return "settled";
  const isOurs = (row: CredentialsRow): boolean =>
    ours.some(({ fingerprint }) => fingerprint === row.fingerprint);
  return theirs.credentials.some((row) => isLive(row) && !isOurs(row)) ? "older" : "known";
}

/**
 * Adds the file's credentials that are unknown here, numbered anew. Returns those that are candidates now, and the numbers here
 * of all that are here.
 */
function takeCredentials(
  meeting: Meeting,
  now: number,
): { taken: CredentialsRow[]; numbers: Map<number, number> } {
  const { rows, theirs, vault, left, goesOn, isUsable, fresh } = meeting;
  const named = new Set(fresh.flatMap((row) => [row.baseGeneration, row.newGeneration]));
  const numbers = new Map<number, number>();
  const taken: CredentialsRow[] = [];
  // What the file adds does not count: of two of its generations with one fingerprint the first may be superseded there.
  const ours = { credentials: [...rows.credentials] };
  // A closed exchange whose token lives has hardly been acknowledged: of its credentials the old ones, numbered later, come first.
  const isUnsent =
    left !== undefined &&
    !goesOn &&
    ["started", "held"].includes(left.state) &&
    isTokenAlive(left, now);
  const isEarly = ({ generation }: CredentialsRow): number =>
    Number(isUnsent && generation === left.newGeneration);
  for (const row of theirs.credentials.toSorted((a, b) => isEarly(b) - isEarly(a))) {
    const here = findCredentials(ours, row.fingerprint);
    if (here !== undefined) {
      numbers.set(row.generation, here.generation);
      continue;
    }
    const isKept = row.sealed !== null && row.standing !== "superseded" && isUsable(row);
    // Of others, exchanges need the number.
    if (!isKept && !named.has(row.generation)) continue;
    const standing = isKept ? (row.standing === "void" ? "void" : "imported") : "superseded";
    const placed = standing === "imported" ? placeOf(meeting, row) : null;
    vault.lastGeneration += 1;
    const sealed = isKept ? row.sealed : null;
    const added: CredentialsRow = {
      ...row,
      generation: vault.lastGeneration,
      standing,
      placed,
      sealed,
      proven: false,
      elsewhere: true,
    };
    rows.credentials.push(added);
    numbers.set(row.generation, added.generation);
    if (standing === "imported") taken.push(added);
  }
  return { taken, numbers };
}

/** The place of credentials of the file among the candidates here. */
function placeOf(
  { theirs, vault, current, open, left, goesOn, isDoubtful }: Meeting,
  row: CredentialsRow,
): Placed | null {
  const ofLeft =
    left !== undefined && [left.baseGeneration, left.newGeneration].includes(row.generation);
  if (open !== undefined && ofLeft && !goesOn) return "older";
  const accepted = theirs.exchanges.filter(
    (x) => x.newGeneration !== null && [x.baseGeneration, x.newGeneration].includes(row.generation),
  );
  // By the service's own times: earlier tokens expire earlier.
  const expiry = Math.max(
    ...accepted.map(({ tokenExpiry: at }) =>
      at === null ? Number.POSITIVE_INFINITY : Date.parse(at),
    ),
  );
  if (accepted.length > 0 && vault.proofExpiry !== null && expiry < Date.parse(vault.proofExpiry))
    return "older";
  const isOfOurs = (generation: number): boolean =>
    findGeneration(theirs, generation)?.fingerprint === current?.fingerprint;
  const follows =
    theirs.superseded.has(current?.fingerprint ?? "") ||
    accepted.some((x) => x.newGeneration === row.generation && isOfOurs(x.baseGeneration));
  return follows ? "successor" : isDoubtful ? null : "older";
}
