import type { Remote } from "../parts/service.ts";
import type { Host } from "../host.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { count, counted, grouped } from "../terminal/count.ts";
import type { Named } from "../cli/vault-name.ts";
import type { Outcome } from "./outcome.ts";
import type { Report, ReportOptions } from "./report.ts";
import { createReport } from "./report.ts";
import type { Taken } from "./turns.ts";
import { takeTurns } from "./turns.ts";
import type { Turn } from "./turns.ts";
import type { Way } from "../way.ts";

interface All<Vault extends Named> extends ReportOptions {
  /** Does the exchange of one vault, whose contents the report prints. What it throws is its outcome. */
  work: (vault: Vault, turn: Turn, report: Report) => Promise<Outcome>;
  /** Of the run. */
  name: string;
  /** Outcomes that are known already. */
  before: Iterable<readonly [Named, Outcome]>;
  concurrency: number | undefined;
  maxFailures: number | undefined;
}

/**
 * Takes many vaults, and reports the outcome of each, then the summary.
 * @throws what has stopped them; `partial` where some failed or were skipped
 */
export async function runAll<Vault extends Named>(
  app: Remote,
  todo: readonly Vault[],
  all: All<Vault>,
): Promise<void> {
  const { host, narrator } = app.io;
  const { work, name, rest, before, concurrency, maxFailures } = all;
  const report = createReport(app, all);
  const beganAt = host.elapsed();
  const onSignal = (): void =>
    narrator.note(
      "Finishing the vaults under way; no other is started. Ctrl-C again ends at once.",
    );
  let failure: VaultError | undefined;
  host.interrupted.addEventListener("abort", onSignal, { once: true });
  try {
    await tellAll(report, before);
    const taken = await takeTurns(app, todo, {
      work: async (vault, turn) => await work(vault, turn, report),
      tell: async (vault, outcome) => await report.outcome(vault, outcome),
      concurrency,
      maxFailures,
    });
    failure = endOf(host, report, all, taken);
    await tellAll(report, stopped(taken.left));
    await report.end({
      run: name,
      seconds: Math.round(host.elapsed() - beganAt) / 1000,
      calls: taken.calls,
      next: failure?.facts.next ?? [],
    });
  } catch (error) {
    failure ??= outputFailed(name, rest, error);
  } finally {
    host.interrupted.removeEventListener("abort", onSignal);
    report.close();
  }
  if (failure !== undefined) throw failure;
}

/** Lines that are written together: a file is synced once for them. */
const together = 1000;

async function tellAll(
  report: Pick<Report, "outcome">,
  outcomes: Iterable<readonly [Named, Outcome]>,
): Promise<void> {
  let told: Promise<void>[] = [];
  for (const [vault, outcome] of outcomes) {
    told.push(report.outcome(vault, outcome));
    if (told.length < together) continue;
    await Promise.all(told);
    told = [];
  }
  await Promise.all(told);
}

function* stopped(left: readonly Named[]): Iterable<[Named, Outcome]> {
  for (const vault of left) yield [vault, { ok: false, skipped: "stopped" }];
}

/** What the command ends with. The summary has the counts and the causes. */
function endOf(
  host: Pick<Host, "interrupted">,
  report: Pick<Report, "causes" | "tally">,
  { name, rest }: Pick<All<Named>, "name" | "rest">,
  { stop }: Pick<Taken<Named>, "stop">,
): VaultError | undefined {
  const { total, done, failed } = report.tally;
  if (done === total) return undefined;
  if (host.interrupted.aborted)
    return new VaultError("interrupted", `run ${name} was interrupted`, {
      retry: "safe",
      next: [rest],
    });
  if (stop instanceof VaultError) {
    const { code, message, facts, retry } = stop;
    const ways = facts.next ?? [];
    // Where the same line may be run again, it is the harmless way.
    const next = retry === "safe" ? [rest, ...ways] : [...ways, rest];
    return new VaultError(code, message, { ...facts, next });
  }
  if (stop instanceof Error) return outputFailed(name, rest, stop);
  const why = stop === null ? "" : ` (stopped after ${count(failed, "failure")})`;
  const left = `run ${name} left ${grouped(total - done)} of ${counted(total, "vault")} undone${why}: ${report.causes.inShort()}`;
  const { count: staying, hint, next } = report.causes.staying();
  if (done + staying === total) {
    return new VaultError("partial", `${left}; the same command line would not change that`, {
      retry: "after-fix",
      hint,
      next,
    });
  }
  return new VaultError("partial", left, { hint, next: [rest, ...next] });
}

/** The output has failed: nobody gets what else would be read. */
function outputFailed(name: string, rest: Way, error: unknown): VaultError {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof VaultError || code === undefined) return asVaultError(error);
  const why = code === "EPIPE" ? "it was closed" : code === "ENOSPC" ? "the disk is full" : code;
  return new VaultError(
    "partial",
    `run ${name} was stopped, because the output could not be written: ${why}`,
    {
      hint: "what was not delivered is held, and was not acknowledged",
      next: [rest],
      cause: error,
    },
  );
}
