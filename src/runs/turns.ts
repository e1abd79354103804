import type { Named } from "../exchange/records.ts";
import { asVaultError, VaultError } from "../errors.ts";
import type { ExchangeContext, ExchangeEvent, Service } from "../exchange/ports.ts";
import type { ManyOptions } from "../input/flags.ts";
import type { Remote } from "../parts/service.ts";
import { once } from "../at-a-time.ts";
import type { SecretScope } from "../terminal/redactor.ts";
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

/** What is known of all turns. */
interface Run {
  report: Report;
  /** How long a vault takes until its start can be sent, in milliseconds: a moving average. */
  preparationMs: number;
  goOn: () => void;
}

/**
 * Takes many vaults, as many at a time as the rate limit can feed: the next one is begun when a start gets its place. The failure of one
 * leaves the others alone; one that concerns all stops at once, as does a service that is unavailable for longer than a vault waits for it.
 * A vault that is in use comes last. The first signal begins none, and lets those under way finish. Those that were not begun are
 * reported at the end.
 */
export async function takeTurns<Vault extends Named>(
  app: Remote,
  vaults: readonly Vault[],
  report: Report,
  { work, tell, options }: Turns<Vault>,
): Promise<Stop> {
  const { interrupted, killed } = app.io.host;
  const { rate } = app.settings;
  const { concurrency = mostAtATime, maxFailures = Infinity } = options;
  const ended = Promise.withResolvers<void>();
  const run: Run = { report, preparationMs: 0, goOn };
  const active = new Set<Turn>();
  const later: Vault[] = [];
  let next = 0;
  let failures = 0;
  let stop: Stop = null;

  function mayBegin(): boolean {
    if (stop !== null || interrupted.aborted) return false;
    const coming = [...active].filter(({ phase }) => phase === "coming").length;
    const enough = rate === 0 ? Infinity : inQueue + Math.ceil((rate * run.preparationMs) / 1000);
    return active.size < Math.min(concurrency, mostAtATime) && coming < enough;
  }

  function goOn(): void {
    for (const turn of active) turn.stopIfIdle();
    while (mayBegin()) {
      const vault = next < vaults.length ? vaults[next++] : later.shift();
      if (vault === undefined) break;
      void take(vault, next >= vaults.length);
    }
    if (active.size === 0) ended.resolve();
  }

  async function take(vault: Vault, isLast: boolean): Promise<void> {
    const turn = new Turn(app, vault.uuid, isLast, run);
    active.add(turn);
    try {
      const outcome = await work(vault, turn, report).catch((error: unknown): Outcome =>
        turn.fail(error),
      );
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
      turn.end();
      active.delete(turn);
      goOn();
    }
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

/** The turn of one of many vaults. Its patience (--max-wait) begins with it, and its secrets are forgotten at its end. */
export class Turn {
  /** `coming`: its start has no place under the rate limit yet. `started`: it is sent, and its end call is not. Else `idle`. */
  phase: "coming" | "idle" | "started" = "coming";
  readonly #app: Remote;
  readonly #uuid: string;
  readonly #run: Run;
  /** Whether another process that uses the vault is waited for: as long as there are other vaults, they come first. */
  readonly #waits: boolean;
  readonly #secrets: SecretScope;
  readonly #stop = new AbortController();

  constructor(app: Remote, uuid: string, waits: boolean, run: Run) {
    this.#app = app;
    this.#uuid = uuid;
    this.#waits = waits;
    this.#run = run;
    this.#secrets = app.io.redactor.scope();
  }

  /** Registers a secret for redaction until the turn is over. */
  readonly learn = (secret: string): void => this.#secrets.add(secret);

  /** Does the work with the vault locked: see `ServicePart`. */
  async withVault<T>(work: (context: ExchangeContext) => Promise<T>): Promise<T> {
    const { io, settings, service } = this.#app;
    const began = io.host.elapsed();
    const deadline = began + settings.maxWait;
    return await service.withVault(
      this.#uuid,
      async (context) => await work({ ...context, deadline }),
      {
        waiting: { deadline: this.#waits ? deadline : began, signal: this.#stop.signal },
        // One for the whole exchange: it has its place under the rate limit.
        service: once(async () => this.#watched(await service.clientFor(this.learn), began)),
        learnSecret: this.learn,
        emit: (event) => this.#follow(event),
      },
    );
  }

  /** The outcome of a turn that has failed, which outlives the secrets that it may repeat. */
  fail(failure: unknown): { ok: false; error: VaultError } {
    const { redact, redactValue } = this.#app.io.redactor;
    const { code, message, facts } = asVaultError(failure);
    const { cause, ...shown } = facts;
    const error = new VaultError(code, redact(message), { ...redactValue(shown), cause });
    return { ok: false, error };
  }

  /** After a signal, stops an exchange that has no start to finish; after a second one, any. The engine gives an end call its time. */
  stopIfIdle(): void {
    const { interrupted, killed } = this.#app.io.host;
    if (killed.aborted) this.#stop.abort(killed.reason);
    else if (interrupted.aborted && this.phase !== "started") this.#stop.abort(interrupted.reason);
  }

  end(): void {
    this.#secrets.end();
  }

  #watched(service: Service, began: number): Service {
    const run = this.#run;
    return {
      // The rate limit is not waited for within --max-wait.
      admit: async (next, signal) => {
        if (this.phase === "coming")
          run.preparationMs += (this.#app.io.host.elapsed() - began - run.preparationMs) / 10;
        await service.admit(next, signal);
        if (this.phase === "coming") this.phase = "idle";
        run.goOn();
      },
      call: async (call, ...given) => {
        if (call.step !== "probe") run.report.calls += 1;
        return await service.call(call, ...given);
      },
    };
  }

  #follow(event: ExchangeEvent): void {
    const { narrator } = this.#app.io;
    const { type } = event;
    if (type === "warning") narrator.warn(`vault ${this.#uuid}: ${event.message}`);
    if (type === "settled") narrator.tell(event);
    if (type === "starting") this.phase = "started";
    if (type === "acknowledging") this.phase = "idle";
    if (type === "retrying" && event.step === "start") this.phase = "idle";
    // It waits longer than a vault that has lost no start: those come to the trial meanwhile.
    if (type === "waiting" && event.unansweredStarts > 0) this.phase = "idle";
    this.#run.goOn();
  }
}
