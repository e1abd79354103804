import type { ItemReference, VaultReport } from "../report/report.ts";

/** What the terminal and the page both show of a report, before either has words for it. */

type Located = Pick<ItemReference, "input" | "line">;

/** Whether both are the same item of the same input. */
export const isSame = (one: Located, other: Located): boolean => one.line === other.line && one.input === other.input;

/** The items that led to the lock, or count toward one, oldest first. */
export const chainOf = ({ cause, counting }: VaultReport): readonly ItemReference[] => cause?.chain ?? counting;

/** Whether this item has locked the vault. A call that finds it locked has not. */
export const hasLocked = ({ cause }: VaultReport, item: ItemReference): boolean =>
  cause?.item !== undefined && cause.rule !== "unseen" && isSame(item, cause.item);

/** The exchange that is open: since when, and until when its token lives. */
export function pendingOf({ pending }: VaultReport) {
  if (pending === undefined) return undefined;
  const { operation, item, expired, expiresAt } = pending;
  return { operation, startedAt: item.at, token: `its token ${expired ? "expired" : "expires"}`, expiresAt };
}

/** Between moments in order (milliseconds since the epoch): how long each waits for the next, and whether that is a silence to be marked. */
export function distancesOf(times: readonly number[]): { milliseconds: number; isSilence: boolean }[] {
  const distances = times.slice(1).map((time, index) => Math.max(0, time - (times[index] as number)));
  const positive = distances.filter((distance) => distance > 0).sort((a, b) => a - b);
  const typical = positive[Math.floor(positive.length / 2)] ?? 0;
  return distances.map((milliseconds) => ({ milliseconds, isSilence: isSilence(milliseconds, typical) }));
}

/** A day, or hours where events otherwise follow each other quickly. */
const isSilence = (milliseconds: number, typical: number): boolean =>
  milliseconds >= 86_400_000 || (milliseconds >= 3_600_000 && milliseconds >= 10 * typical);
