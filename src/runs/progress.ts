import type { Basics } from "../parts/settings.ts";
import { grouped } from "../terminal/count.ts";
import type { Progress } from "../terminal/progress.ts";
import { createProgressBar, measuredSeconds, progressParts } from "../terminal/progress.ts";

/** Numbers of vaults. */
export interface Tally {
  total: number;
  /** Includes `earlier`: done by an earlier command of the run. */
  done: number;
  earlier: number;
  failed: number;
  skipped: number;
}

const tickMs = 1000;

/**
 * Shows how far a run is, until `close`: a bar on a terminal, redrawn every second and at `update`; elsewhere with --verbose a line every
 * second. `tally` may change all the time.
 */
export function showProgress(
  { io: { host, narrator }, settings: { flags } }: Basics,
  tally: Readonly<Tally>,
): { update: () => void; close: () => void } {
  const began = host.elapsed();
  const isQuiet = (flags as Readonly<Record<string, unknown>>)["quiet"] === true;
  const terminal = host.stderr.isTTY && !isQuiet ? host.terminal().output : undefined;
  const bar = createProgressBar(terminal, () => host.elapsed(), runProgress);
  if (terminal !== undefined) {
    host.stderr.surroundWrites(bar.around);
    if (host.stdout.isTTY) host.stdout.surroundWrites(bar.around);
  }
  const update = (): void => bar.update(tally);
  const tellLine = (): void =>
    narrator.detail(
      progressParts(runProgress(tally, measuredSeconds(host.elapsed() - began)))
        .join(", ")
        .trimStart(),
    );
  const timer = setInterval(host.stderr.isTTY ? update : tellLine, tickMs).unref();
  return {
    update,
    close: () => {
      clearInterval(timer);
      bar.clear();
    },
  };
}

function runProgress(
  { total, done, earlier, failed, skipped }: Tally,
  seconds: number | undefined,
): Progress {
  const finished = done + failed + skipped;
  // Only these took time.
  const worked = finished - earlier - skipped;
  const rate = seconds === undefined || worked === 0 ? undefined : worked / seconds;
  const left = total - finished;
  return {
    share: total === 0 ? undefined : finished / total,
    secondsLeft: rate === undefined || left === 0 ? undefined : Math.ceil(left / rate),
    facts: [
      `${grouped(done)} of ${grouped(total)} done`,
      ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
      ...(rate === undefined
        ? []
        : [`${rate < 99.5 ? rate.toFixed(1) : grouped(Math.round(rate))} vaults/s`]),
      ...(skipped === 0 ? [] : [`${grouped(skipped)} skipped`]),
    ],
  };
}
