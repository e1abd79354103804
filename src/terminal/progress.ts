import { widthOf } from "./width.ts";

/** Progress of reading. */
interface Progress {
  bytes: number;
  /** Undefined if unknown, as for standard input. */
  total: number | undefined;
  items: number;
  elapsedMs: number;
}

/**
 * Formats progress: `██████░░░░  58 %  4 s left  1,204,331 items  1.3 M items/s  271 of 470 MB`. Parts that do not fit are left out,
 * the last ones first.
 */
export function progressText({ bytes, total, items, elapsedMs }: Progress, columns: number): string {
  const known = total !== undefined && total > 0;
  const share = known ? Math.min(1, bytes / total) : 0;
  // A speed measured over less than half a second is a guess.
  const seconds = elapsedMs >= 500 ? elapsedMs / 1000 : undefined;
  const leftSeconds = seconds !== undefined && share > 0 && share < 1 ? Math.ceil((seconds * (1 - share)) / share) : undefined;
  const parts = [
    ...(known ? [`${String(Math.floor(share * 100)).padStart(3)} %`] : []),
    ...(leftSeconds === undefined ? [] : [`${duration(leftSeconds)} left`]),
    `${items.toLocaleString("en-US")} items`,
    ...(seconds === undefined ? [] : [`${short(items / seconds)} items/s`]),
    known ? `${megabytes(bytes)} of ${megabytes(total)} MB` : `${megabytes(bytes)} MB`,
  ];
  const width = (count: number): number => widthOf(parts.slice(0, count).join("  "));
  const room = columns - 1;
  let count = parts.length;
  const narrowest = known && room >= 18 ? 12 : 0;
  while (count > 1 && width(count) + narrowest > room) count -= 1;
  const text = parts.slice(0, count).join("  ");
  const bar = Math.min(24, room - widthOf(text) - 2);
  if (!known || bar < 6) return text.slice(0, Math.max(0, room));
  const filled = Math.round(bar * share);
  return `${"█".repeat(filled)}${"░".repeat(bar - filled)}  ${text}`;
}

const megabytes = (bytes: number): string =>
  bytes < 9_950_000 ? (bytes / 1e6).toFixed(1) : Math.round(bytes / 1e6).toLocaleString("en-US");

const short = (count: number): string =>
  count >= 999_500 ? `${(count / 1e6).toFixed(1)} M` : count >= 9_950 ? `${Math.round(count / 1000)} k` : String(Math.round(count));

const duration = (seconds: number): string => (seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`);

/** A terminal that interprets control sequences: the stream of the runtime, because the host's `stderr` makes them visible. */
interface ProgressTerminal {
  write(text: string): unknown;
  readonly columns?: number | undefined;
}

interface ProgressBar {
  /** Draws the line, at most ten times a second. */
  update(progress: Omit<Progress, "elapsedMs">): void;
  /** Erases the line so that something else can be written; the next update draws it again. */
  clear(): void;
}

const drawEveryMs = 100;

/** Creates a progress line that is redrawn in place. If `terminal` is undefined (no terminal, --quiet), nothing is written. */
export function createProgressBar(terminal: ProgressTerminal | undefined, now: () => number): ProgressBar {
  const began = now();
  let drawnAt: number | undefined;
  let visible = false;
  return {
    update: (progress) => {
      const time = now();
      if (terminal === undefined || (drawnAt !== undefined && time - drawnAt < drawEveryMs)) return;
      drawnAt = time;
      visible = true;
      terminal.write(`\r${progressText({ ...progress, elapsedMs: time - began }, terminal.columns || 80)}\u001B[K`);
    },
    clear: () => {
      if (visible) terminal?.write("\r\u001B[K");
      visible = false;
      drawnAt = undefined;
    },
  };
}
