import { appendFileSync, existsSync, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

export const isCampaign = process.env["TORTURE"] !== undefined;

/** `npm run torture` tries everything; `npm run torture:short` a sample of it that takes two minutes, and the suite one as small. */
export const isWhole = process.env["TORTURE"] === "whole";

/** Of cases that are much alike: all of them, or about so many. */
export const sample = <T>(cases: readonly T[], most: number): T[] =>
  isWhole ? [...cases] : evenly(cases, most);

/** About so many of the cases, evenly spread, the first one among them. */
export function evenly<T>(cases: readonly T[], most: number): T[] {
  if (cases.length <= most) return [...cases];
  return Array.from(
    { length: most },
    (_, index) => cases[Math.floor((index * cases.length) / most)] as T,
  );
}

/** How often the suite tries a property with random values that the campaign tries `most` times. */
export const runs = (most: number): number => (isWhole ? most : Math.ceil(most / 10));

/** Of the steps of a command whose every step the campaign takes, the suite takes each nineteenth. */
export const stride = isWhole ? 1 : 19;

/** Of a list of cases that are much alike, the suite takes each nineteenth, the first one among them. */
export const some = <T>(cases: readonly T[]): T[] =>
  cases.filter((_, index) => index % stride === 0);

/**
 * What the campaign has tried, for the figures that it ends with: each part says how many crash points, faults, interleavings, …
 * it went through, and nothing is counted before it was found to hold.
 */
export function tried(what: string, count: number): void {
  const file = process.env["TORTURE_TALLY"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ what, count })}\n`);
}

const inMemory = "/dev/shm";

/** Half of the time of all tests would go into waiting for disks to sync. What a power loss leaves is worked out from what was written. */
export const memoryFolder = existsSync(inMemory) ? inMemory : tmpdir();

/** Whether all of the campaign can lie there: there is room, and programs and devices can be made, as on a disk. */
export function isLikeDisk(): boolean {
  if (memoryFolder !== inMemory) return false;
  const { bavail, bsize } = statfsSync(inMemory);
  const [, options = ""] =
    /^\S+ \/dev\/shm \S+ (\S+)/m.exec(readFileSync("/proc/mounts", "utf8")) ?? [];
  return bavail * bsize > 4e9 && !/\b(?:noexec|nodev)\b/.test(options);
}
