import type { Host } from "../host.ts";
import type { Basics } from "../parts/basics.ts";
import { grouped } from "../terminal/count.ts";
import { durationInWords } from "../terminal/time.ts";

/** Numbers of vaults. What was stopped is in none but the total. */
export interface Tally {
  total: number;
  /** Includes `earlier`: done by an earlier command of the run. */
  done: number;
  earlier: number;
  failed: number;
  skipped: number;
}

const barWidth = 12;

/** Formats progress: `███████░░░░░  58 %  4 seconds left  1,204 of 2,000 done  3 failed`. Leaves out what does not fit, the last first. */
export function progressText(tally: Tally, elapsedMs: number, columns: number): string {
  const { total, done, earlier, failed, skipped } = tally;
  const finished = done + failed + skipped;
  const share = total === 0 ? 1 : finished / total;
  // Only these took time.
  const worked = finished - earlier - skipped;
  // Before, it would be a guess.
  const isKnown = elapsedMs >= 500 && worked > 0 && finished < total;
  const left = Math.ceil(((total - finished) * elapsedMs) / worked / 1000);
  const facts = [
    `${String(Math.floor(share * 100)).padStart(3)} %`,
    ...(isKnown ? [`${durationInWords(left * 1000)} left`] : []),
    `${grouped(done)} of ${grouped(total)} done`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
    ...(skipped === 0 ? [] : [`${grouped(skipped)} skipped`]),
  ];
  const bar = "█".repeat(Math.round(barWidth * share)).padEnd(barWidth, "░");
  const text = (): string => [bar, ...facts].join("  ");
  // The last column stays empty: a terminal may wrap there.
  while (facts.length > 1 && text().length >= columns) facts.pop();
  return text().slice(0, Math.max(0, columns - 1));
}

const tickMs = 1000;
const erase = "\r\u001B[K";

/**
 * Shows how far a run is by a line on a terminal, redrawn in place every second and after whatever else is written there, for which it
 * is erased. Without a terminal, or with --quiet, nothing is written. `tally` may change all the time.
 */
export class ProgressBar {
  readonly #host: Host;
  readonly #tally: Readonly<Tally>;
  readonly #began: number;
  readonly #timer: NodeJS.Timeout;
  /** Undefined once it is closed. */
  #terminal: ReturnType<Host["terminal"]>["output"] | undefined;
  #writers = 0;

  constructor({ io: { host }, settings: { flags } }: Basics, tally: Readonly<Tally>) {
    this.#host = host;
    this.#tally = tally;
    this.#began = host.elapsed();
    const isQuiet = (flags as Readonly<Record<string, unknown>>)["quiet"] === true;
    this.#terminal = host.stderr.isTTY && !isQuiet ? host.terminal().output : undefined;
    if (this.#terminal !== undefined) {
      host.stderr.surroundWrites(this.#around);
      if (host.stdout.isTTY) host.stdout.surroundWrites(this.#around);
    }
    this.#timer = setInterval(() => this.#draw(), tickMs).unref();
  }

  /** Erases the line for good. */
  close(): void {
    clearInterval(this.#timer);
    this.#terminal?.write(erase);
    this.#terminal = undefined;
  }

  #draw(): void {
    if (this.#terminal === undefined || this.#writers > 0) return;
    const elapsedMs = this.#host.elapsed() - this.#began;
    const text = progressText(this.#tally, elapsedMs, this.#terminal.columns || 80);
    this.#terminal.write(`\r${text}\u001B[K`);
  }

  readonly #around = async (write: () => Promise<void>): Promise<void> => {
    if (this.#writers === 0) this.#terminal?.write(erase);
    this.#writers += 1;
    try {
      await write();
    } finally {
      this.#writers -= 1;
      this.#draw();
    }
  };
}
