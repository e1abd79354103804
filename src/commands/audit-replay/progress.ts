import type { Basics } from "../../parts/settings.ts";
import type { ReplayOptions } from "../../audit/replay.ts";
import { grouped } from "../../terminal/count.ts";
import type { Progress } from "../../terminal/progress.ts";
import type { AuditReplayOptions } from "./options.ts";

interface Reading {
  bytes: number;
  /** Null if unknown, as for standard input. */
  total: number | null;
  items: number;
}

/** Opens a progress bar on a terminal, for reading files. */
export async function openProgress(
  { io: { host }, settings: { flags } }: Basics,
  { files }: AuditReplayOptions,
) {
  const isQuiet = (flags as Readonly<Record<string, unknown>>)["quiet"] === true;
  if (files.length === 0 || !host.stderr.isTTY || isQuiet) return undefined;
  const { createProgressBar, measuredSeconds } = await import("../../terminal/progress.ts");
  const bar = createProgressBar(host.terminal().output, () => host.now(), readingProgress);
  const began = host.now();
  const update: NonNullable<ReplayOptions["progress"]> = (bytes, total, items) => {
    // What is read at once shows none.
    if (measuredSeconds(host.now() - began) !== undefined) bar.update({ bytes, total, items });
  };
  return { update, clear: () => bar.clear() };
}

/** Progress of reading, after the given seconds (`measuredSeconds`). */
export function readingProgress(
  { bytes, total, items }: Reading,
  seconds: number | undefined,
): Progress {
  const size = total === null || total === 0 ? undefined : total;
  const share = size === undefined ? undefined : Math.min(1, bytes / size);
  const isUnderWay = share !== undefined && share > 0 && share < 1;
  return {
    share,
    secondsLeft:
      seconds === undefined || !isUnderWay ? undefined : Math.ceil((seconds * (1 - share)) / share),
    facts: [
      `${grouped(items)} items`,
      ...(seconds === undefined ? [] : [`${short(items / seconds)} items/s`]),
      `${megabytes(bytes)}${size === undefined ? "" : ` of ${megabytes(size)}`} MB`,
    ],
  };
}

const megabytes = (bytes: number): string =>
  bytes < 9_950_000 ? (bytes / 1e6).toFixed(1) : grouped(Math.round(bytes / 1e6));

const short = (count: number): string =>
  count >= 999_500
    ? `${(count / 1e6).toFixed(1)} M`
    : count >= 9_950
      ? `${Math.round(count / 1000)} k`
      : String(Math.round(count));
