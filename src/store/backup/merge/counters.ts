import type { ExchangeRow, VaultRow } from "../../steps/rows.ts";
import { update } from "../../steps/rows.ts";

const counters = [
  "unacked_starts",
  "unanswered_starts",
  "quiet_starts",
  "failed_attempts",
  "possibly_failed",
  "refused_since",
] as const;

export type Counters = Pick<VaultRow, (typeof counters)[number]>;

/** The higher ones of a forgotten vault, which has no exchanges left that would tell what they count. */
export function higherCounters(here: Counters, theirs: Counters): Counters {
  const higher = (column: keyof Counters): number => Math.max(here[column], theirs[column]);
  return Object.fromEntries(
    counters.map((column) => [column, higher(column)]),
  ) as unknown as Counters;
}

/** Counts an exchange as it is `after`, in place of what it counted `before`. */
export function recount(
  vault: VaultRow,
  before: ExchangeRow | undefined,
  after: ExchangeRow,
): void {
  const [former, now] = [before === undefined ? {} : countedBy(before), countedBy(after)];
  const columns = Object.entries(now).map(([column, n]) => {
    const name = column as keyof typeof now;
    return [
      name,
      Math.max(0, vault[name] + n - (before === undefined ? 0 : (former as typeof now)[name])),
    ];
  });
  update(vault, Object.fromEntries(columns) as typeof now);
}

function countedBy({
  state,
  new_generation: made,
  counted_start: start,
  counted_failed: failed,
}: ExchangeRow) {
  // A later success has ended it, if it is no intent any more, and zeroed failed attempts.
  const maybeFailed = state === "intent" ? start : 0;
  const possibly = maybeFailed * failed;
  return {
    unacked_starts: start,
    unanswered_starts: made === null ? start : 0,
    quiet_starts: maybeFailed - possibly,
    failed_attempts: possibly,
    possibly_failed: possibly,
  };
}

/** Takes the exchange out of the counters: a later acknowledgement has zeroed them. */
export function zero(vault: VaultRow, row: ExchangeRow): void {
  const zeroed = { ...row, counted_start: 0, counted_failed: 0 };
  recount(vault, row, zeroed);
  update(row, zeroed);
}

/** Counts certain failed attempts that only the file knows, of those that still count there. */
export function countRefusals(
  vault: VaultRow,
  refused: number,
  theirs: Pick<VaultRow, "failed_attempts" | "possibly_failed">,
): void {
  const certain = Math.min(refused, theirs.failed_attempts - theirs.possibly_failed);
  if (certain > 0)
    update(vault, { failed_attempts: vault.failed_attempts + certain, refused_since: 1 });
}
