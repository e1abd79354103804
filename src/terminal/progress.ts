import { durationInWords } from "./time.ts";

/** Contents of a progress line, in characters of one column. */
export interface Progress {
  /** From 0 to 1; undefined if it is not known how much there is. */
  share: number | undefined;
  /** Undefined if unknown, or if nothing is left. */
  secondsLeft: number | undefined;
  /** The most important one first. */
  facts: readonly string[];
}

/**
 * Formats progress: `██████░░░░  58 %  4 seconds left  1,204,331 items  1.3 M items/s  271 of 470 MB`. Leaves out parts that do not fit,
 * the last ones first.
 */
export function progressLine({ share, secondsLeft, facts }: Progress, columns: number): string {
  const parts = [
    ...(share === undefined ? [] : [`${String(Math.floor(share * 100)).padStart(3)} %`]),
    ...(secondsLeft === undefined ? [] : [`${durationInWords(secondsLeft * 1000)} left`]),
    ...facts,
  ];
  // The last column stays empty: a terminal may wrap there.
  const room = columns - 1;
  const narrowest = share !== undefined && room >= 18 ? 12 : 0;
  const lengthOf = (all: readonly string[]): number => all.join("  ").length;
  while (parts.length > 1 && lengthOf(parts) + narrowest > room) parts.pop();
  const text = parts.join("  ");
  const bar = Math.min(24, room - text.length - 2);
  if (share === undefined || bar < 6) return text.slice(0, Math.max(0, room));
  const filled = Math.round(bar * share);
  return `${"█".repeat(filled)}${"░".repeat(bar - filled)}  ${text}`;
}

/** Returns the time over which a speed is measured, in seconds; undefined if that would be a guess. */
export const measuredSeconds = (elapsedMs: number): number | undefined =>
  elapsedMs >= 500 ? elapsedMs / 1000 : undefined;

/** A terminal that interprets control sequences: the stream of the runtime, because the host's `stderr` makes them visible. */
interface ProgressTerminal {
  write(text: string): unknown;
  readonly columns?: number | undefined;
}

interface ProgressBar<T> {
  /** Draws the line, at most ten times a second. */
  update(state: T): void;
  /** Erases the line so that something else can be written; the next update draws it again. */
  clear(): void;
  /** Erases the line while something else is written, and draws it again: for `surroundWrites` of a stream on the same terminal. */
  around: (write: () => Promise<void>) => Promise<void>;
}

const drawEveryMs = 100;

/**
 * Creates a progress line that is redrawn in place. If `terminal` is undefined (no terminal, --quiet), nothing is written.
 * `progressOf` is given the seconds since the creation, as `measuredSeconds`.
 */
export function createProgressBar<T>(
  terminal: ProgressTerminal | undefined,
  now: () => number,
  progressOf: (state: T, seconds: number | undefined) => Progress,
): ProgressBar<T> {
  const began = now();
  let drawnAt = -Infinity;
  /** The drawn line, which is erased while others write. */
  let line = "";
  let writers = 0;
  const show = (text: string): void => {
    if (line !== "" && writers === 0) terminal?.write(text);
  };
  const erase = "\r\u001B[K";
  return {
    update: (state) => {
      const time = now();
      if (terminal === undefined || writers > 0 || time - drawnAt < drawEveryMs) return;
      drawnAt = time;
      const progress = progressOf(state, measuredSeconds(time - began));
      line = `\r${progressLine(progress, terminal.columns || 80)}\u001B[K`;
      show(line);
    },
    clear: () => {
      show(erase);
      line = "";
      drawnAt = -Infinity;
    },
    around: async (write) => {
      show(erase);
      writers += 1;
      try {
        await write();
      } finally {
        writers -= 1;
        show(line);
      }
    },
  };
}
