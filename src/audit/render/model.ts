import type { ItemReference, VaultReport } from "../../documents/audit.ts";

// Data that the views on the terminal and in HTML derive from a report.

type Located = Pick<ItemReference, "input" | "line">;

/** Whether both are the same line of the same input. */
export const isSame = (one: Located, other: Located): boolean =>
  one.line === other.line && one.input === other.input;

/** Returns the items that led to the lock or count toward lockout, oldest first. */
export const chainOf = ({ cause, counting }: VaultReport): readonly ItemReference[] =>
  cause?.chain ?? counting;

/** Whether an item locked the vault. A call that finds it locked did not. */
export const hasLocked = ({ cause }: VaultReport, item: ItemReference): boolean =>
  cause?.item !== undefined && cause.rule !== "unseen" && isSame(item, cause.item);

/** Returns the open exchange with the times of its start and of the token's expiry. */
export function openExchange({ exchange }: VaultReport) {
  if (exchange === undefined) return undefined;
  const { operation, startedAt, expired, tokenExpiry } = exchange;
  const token = `its token ${expired ? "expired" : "expires"}`;
  return { operation: operation === "get" ? "read" : "update", startedAt, token, tokenExpiry };
}

/** Returns the distances between sorted times (milliseconds since the epoch), and which of them to mark as a silence. */
export function distancesOf(
  times: readonly number[],
): { milliseconds: number; isSilence: boolean }[] {
  const distances = times
    .slice(1)
    .map((time, index) => Math.max(0, time - (times[index] as number)));
  const positive = distances.filter((distance) => distance > 0).sort((a, b) => a - b);
  const typical = positive[Math.floor(positive.length / 2)] ?? 0;
  return distances.map((milliseconds) => ({
    milliseconds,
    isSilence: isSilence(milliseconds, typical),
  }));
}

/** Whether a distance is a silence: a day, or an hour if it is ten times the typical distance. */
const isSilence = (milliseconds: number, typical: number): boolean =>
  milliseconds >= 86_400_000 || (milliseconds >= 3_600_000 && milliseconds >= 10 * typical);
