import type { Rules, TimelineEvent, VaultReport } from "../../../documents/audit.ts";
import { eventWords, ownWords, span, stateWords } from "../words.ts";
import type { Line } from "./line.ts";
import type { Odd } from "./vault.ts";
import { contradictionsOf, isSame } from "./vault.ts";

/** An event of a timeline in words. */
export interface Told {
  event: TimelineEvent;
  words: string;
  /** Action as written, for an event that has no words. */
  action: string | undefined;
  /** Time since the event before; absent for the first one. */
  after: { words: string; isSilence: boolean } | undefined;
  /** After the event, with the limits. */
  counters: { starts: string; failed: string };
  state: string;
  /** The exchange of this machine that it belongs to. */
  own: Line | undefined;
  contradictions: readonly Odd[];
}

/** Returns the newest events of a timeline, at most `most`, and contradictions before all of them. */
export function eventsOf(
  vault: VaultReport,
  { limits }: Rules,
  most = Number.POSITIVE_INFINITY,
): { told: Told[]; earlier: readonly Odd[] } {
  const events = (vault.timeline ?? []).slice(-most);
  const distances = distancesOf(events.map(({ item }) => Date.parse(item.at)));
  const placed = placeContradictions(events, contradictionsOf(vault)?.all ?? []);
  const told = events.map((event, index): Told => {
    const { item, unackedStarts, failedAttempts, state } = event;
    const before = distances[index - 1];
    const own = ownWords(item);
    return {
      event,
      words: eventWords[item.event],
      action: item.event === "other" || item.event === "application" ? item.action : undefined,
      after: before && { words: span(before.milliseconds), isSilence: before.isSilence },
      counters: {
        starts: `${unackedStarts}/${limits.unackedStarts}`,
        failed: `${failedAttempts}/${limits.failedAttempts}`,
      },
      state: stateWords[state],
      own: own === undefined ? undefined : [{ sentence: own }],
      contradictions: placed.get(index) ?? [],
    };
  });
  return { told, earlier: placed.get(-1) ?? [] };
}

/** Groups contradictions by the index of their event or, if it is not listed, of the last event before them; -1 if there is none. */
function placeContradictions(
  timeline: readonly TimelineEvent[],
  all: readonly Odd[],
): Map<number, Odd[]> {
  const placed = new Map<number, Odd[]>();
  for (const each of all) {
    const same = timeline.findIndex(({ item }) => isSame(item, each.item));
    const before = timeline.findLastIndex(({ item }) => Date.parse(item.at) <= Date.parse(each.at));
    const index = same === -1 ? before : same;
    placed.set(index, [...(placed.get(index) ?? []), each]);
  }
  return placed;
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
