import { distancesOf } from "../model.ts";

/** Where on the axis a moment is. Distances are drawn logarithmically: seconds and months fit on one page. */
export interface Scale {
  /** Milliseconds since the epoch to units of the drawing; before the first and after the last moment it is theirs. */
  x(time: number): number;
  /** Silences that are marked as such, with the place of their middle. */
  gaps: { x: number; milliseconds: number }[];
}

/** A scale from `left` to `right` over moments in order, in which no two that differ lie closer than there is room for. */
export function scaleOf(times: readonly number[], left: number, right: number): Scale {
  const distances = distancesOf(times);
  const weights = distances.map(({ milliseconds }) => weigh(milliseconds));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // Half of the room is dealt out evenly.
  const even = distances.length === 0 ? 0 : (right - left) / 2 / distances.length;
  const widths = weights.map((weight) => even + (total === 0 ? even : ((right - left) / 2) * (weight / total)));
  const places = [times.length === 1 ? (left + right) / 2 : left];
  for (const width of widths) places.push((places.at(-1) ?? left) + width);
  const x = (time: number): number => {
    const next = times.findIndex((each) => each > time);
    if (next === 0) return places[0] ?? left;
    if (next === -1) return places.at(-1) ?? right;
    const [from = 0, to = 0] = [times[next - 1], times[next]];
    const share = weigh(time - from) / weigh(to - from);
    return (places[next - 1] ?? left) + share * (widths[next - 1] ?? 0);
  };
  const gaps = distances.flatMap(({ milliseconds, isSilence }, index) =>
    isSilence ? [{ x: (places[index] ?? left) + (widths[index] ?? 0) / 2, milliseconds }] : [],
  );
  return { x, gaps };
}

/** One for a second, and one more for each doubling. */
const weigh = (milliseconds: number): number => Math.log2(1 + milliseconds / 1000);
