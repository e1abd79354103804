import type { Named } from "../exchange/records.ts";
import { asVaultError, VaultError } from "../errors.ts";
import type { ExchangeContext, ExchangeEvent, Service } from "../exchange/ports.ts";
import type { ManyOptions } from "../input/flags.ts";
import type { Remote } from "../parts/service.ts";
import { once } from "../at-a-time.ts";
import type { Outcome, Report, Stop } from "./report.ts";

export interface Turns<Vault extends Named> {
  /** Does the exchange of one vault, whose contents the report prints. What it throws is its outcome. */
  work: (vault: Vault, turn: Turn, report: Report) => Promise<Outcome>;
  /** Is told each outcome, too. */
  tell?: (vault: Vault, outcome: Outcome) => void;
  /** Most exchanges at a time; stop after so many failures. */
  options: Pick<ManyOptions, "concurrency" | "maxFailures">;
}

const mostAtATime = 64;

/** How many wait for the place of their start, so that none is left unused: more would keep other processes waiting. */
const inQueue = 2;

/** What is true for every vault: the service refuses the application, or the state cannot be used. */
const concernsAll = ["unauthorized", "state"];

/** The turn of one of many vaults. Its patience (--max-wait) begins with it, and its secrets are forgotten at its end. */
export interface Turn {
  /** Registers a secret for redaction until the turn is over. */
  learn: (secret: string) => void;
  /** Does the work with the vault locked: see `ServicePart`. */
  withVault: <T>(work: (context: ExchangeContext) => Promise<T>) => Promise<T>;
}

interface Active {
  /** `coming`: its start has no place under the rate limit yet. `started`: it is sent, and its end call is not. Else `idle`. */
  phase: "coming" | "idle" | "started";
  readonly stop: AbortController;
}

/**
 * Takes many vaults, as many at a time as the rate limit can feed: the next one is begun when a start gets its place. The failure of one
 * leaves the others alone; one that concerns all stops at once, as does a service that is unavailable for longer than a vault waits for it.
 * A vault that is in use comes last. The first signal begins none, and lets those under way finish; a second one stops them, too, but for
 * an end call, which the engine gives its time. Those that were not begun are reported at the end.
 */
export async function takeTurns<Vault extends Named>(
  { io, settings: { rate, maxWait }, service }: Remote,
  vaults: readonly Vault[],
  report: Report,
  { work, tell, options }: Turns<Vault>,
): Promise<Stop> {
  const { host, narrator, redactor } = io;
  const { interrupted, killed } = host;
  const { concurrency = mostAtATime, maxFailures = Infinity } = options;
  const ended = Promise.withResolvers<void>();
  const active = new Set<Active>();
  const later: Vault[] = [];
  /** How long a vault takes until its start can be sent: a moving average. */
  let preparationMs = 0;
  let next = 0;
  let failures = 0;
  let stop: Stop = null;
  let hasWaited = false;

  function mayBegin(): boolean {
    if (stop !== null || interrupted.aborted) return false;
    const coming = [...active].filter(({ phase }) => phase === "coming").length;
    const enough = rate === 0 ? Infinity : inQueue + Math.ceil((rate * preparationMs) / 1000);
    return active.size < Math.min(concurrency, mostAtATime) && coming < enough;
  }

  function goOn(): void {
    for (const turn of active)
      if (killed.aborted) turn.stop.abort(killed.reason);
      else if (interrupted.aborted && turn.phase !== "started") turn.stop.abort(interrupted.reason);
    while (mayBegin()) {
      const vault = next < vaults.length ? vaults[next++] : later.shift();
      if (vault === undefined) break;
      void take(vault, next >= vaults.length);
    }
    if (active.size === 0) ended.resolve();
  }

  async function take(vault: Vault, isLast: boolean): Promise<void> {
    const turn: Active = { phase: "coming", stop: new AbortController() };
    const secrets = redactor.scope();
    active.add(turn);
    const learnSecret = secrets.add;
    try {
      const withVault: Turn["withVault"] = async (inside) => {
        const began = host.elapsed();
        const deadline = began + maxWait;
        return await service.withVault(
          vault.uuid,
          async (context) => await inside({ ...context, deadline }),
          {
            // As long as there are other vaults, one that another process uses is not waited for.
            waiting: { deadline: isLast ? deadline : began, signal: turn.stop.signal },
            // One for the whole exchange: it has its place under the rate limit.
            service: once(async () => watched(await service.clientFor(learnSecret), turn, began)),
            learnSecret,
            emit: (event) => follow(event, turn, vault),
          },
        );
      };
      const outcome = await work(vault, { learn: learnSecret, withVault }, report).catch(failed);
      const error = outcome.ok ? undefined : outcome.error;
      // Only if nothing was sent: not if the lock was lost in the middle, when the start counts and a limited vault has spent a read.
      const unsent = error?.retry === "safe" ? error.code : undefined;
      // It has waited for the service as long as a vault may.
      if (error !== undefined && unsent === "network") stop ??= unavailable(error);
      const isPutOff =
        unsent === "network" ||
        (unsent === "busy" && !isLast) ||
        (unsent === "interrupted" && error?.facts.exchange === undefined);
      if (isPutOff) return void later.push(vault);
      tell?.(vault, outcome);
      await report.outcome(vault, outcome);
      if (error === undefined) return;
      failures += 1;
      if (concernsAll.includes(error.code)) stop ??= error;
      if (failures >= maxFailures) stop ??= "too many failures";
    } catch (error) {
      stop ??= error as Error;
    } finally {
      secrets.end();
      active.delete(turn);
      goOn();
    }
  }

  /** The outcome of a turn that has failed, which outlives the secrets that it may repeat. */
  function failed(failure: unknown): Outcome {
    const { code, message, facts } = asVaultError(failure);
    const { cause, ...shown } = facts;
    const clean = { ...redactor.redactValue(shown), cause };
    return { ok: false, error: new VaultError(code, redactor.redact(message), clean) };
  }

  const watched = (client: Service, turn: Active, began: number): Service => ({
    // The rate limit is not waited for within --max-wait.
    admit: async (of, signal) => {
      if (turn.phase === "coming") preparationMs += (host.elapsed() - began - preparationMs) / 10;
      await client.admit(of, signal);
      if (turn.phase === "coming") turn.phase = "idle";
      goOn();
    },
    call: async (called, ...given) => {
      const reply = await client.call(called, ...given);
      if (called.step !== "probe" && reply.type !== "not-sent") report.calls += 1;
      return reply;
    },
  });

  function follow(event: ExchangeEvent, turn: Active, { uuid }: Named): void {
    const { type } = event;
    if (type === "warning") narrator.warn(`vault ${uuid}: ${event.message}`);
    if (type === "settled" || (type === "waiting" && !hasWaited)) narrator.tell(event);
    hasWaited ||= type === "waiting";
    if (type === "starting") turn.phase = "started";
    if (
      type === "acknowledging" ||
      (type === "retrying" && event.step === "start") ||
      // It waits longer than a vault that has lost no start: those come to the trial meanwhile.
      (type === "waiting" && event.unansweredStarts > 0)
    )
      turn.phase = "idle";
    goOn();
  }

  for (const signal of [interrupted, killed]) signal.addEventListener("abort", goOn);
  goOn();
  await ended.promise;
  await report.notBegun([...later, ...vaults.slice(next)]).catch((error: unknown) => {
    stop ??= error as Error;
  });
  return stop;
}

/** The error of a run that has waited for the service as long as it may. */
const unavailable = ({ message, facts: { hint, next } }: VaultError): VaultError =>
  new VaultError("network", `the run has stopped; ${message}`, { hint, next });
