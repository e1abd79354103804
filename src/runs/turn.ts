import type { Remote } from "../parts/service.ts";
import { asVaultError, VaultError } from "../errors.ts";
import type { ExchangeContext, ExchangeEvent } from "../exchange/context.ts";
import type { Clock, Reply, Service } from "../exchange/ports.ts";
import { once } from "../settings/once.ts";
import type { SecretScope } from "../terminal/redactor.ts";
import { Interruption } from "../terminal/signals.ts";

interface TurnOptions {
  uuid: string;
  /** Whether another process that has the vault is waited for: as long as there are other vaults, they come first. */
  waits: boolean;
  /** Told that a call was sent. */
  onCall: () => void;
  /** Sends a probe, or shares one that another vault has under way. */
  probing: (send: () => Promise<Reply>) => Promise<Reply>;
  /** Told that the service does not answer, or has answered a start. */
  onService: (isOut: boolean) => void;
  /** Told that the exchange has got on. */
  onProgress: () => void;
}

/**
 * The turn of one of many vaults. Its patience (--max-wait) begins with it and stands still in the queue of the rate limit; its secrets
 * are forgotten at its end; the first interruption stops it only where nothing is under way.
 */
export class Turn {
  readonly #app: Remote;
  readonly #options: TurnOptions;
  readonly #secrets: SecretScope;
  readonly #stop = new AbortController();
  readonly #beganAt: number;
  /** Milliseconds in the queue of the rate limit, without the wait that goes on since `#queuesSince`. */
  #queued = 0;
  #queuesSince: number | null = null;
  #preparedMs: number | undefined;
  #hasPlace = false;
  /** From a start that is sent until its end call is. */
  #isUnderWay = false;
  #isOver = false;
  /** Waits for a trial; `longer` where another vault's comes first. */
  #waits: "no" | "trial" | "longer" = "no";
  readonly #onSignal = (): void => this.#stopIfIdle();

  constructor(app: Remote, options: TurnOptions) {
    const { host, redactor } = app.io;
    this.#app = app;
    this.#options = options;
    this.#secrets = redactor.scope();
    this.#beganAt = host.elapsed();
    host.interrupted.addEventListener("abort", this.#onSignal);
    host.killed.addEventListener("abort", this.#onSignal);
  }

  /** How long it took until its first call waited for a place under the rate limit, in milliseconds. */
  get preparedMs(): number | undefined {
    return this.#preparedMs;
  }

  get waits(): "no" | "trial" | "longer" {
    return this.#waits;
  }

  /** Whether its first call has had its place. */
  get hasPlace(): boolean {
    return this.#hasPlace;
  }

  /** Stands still in the queue of the rate limit. */
  #elapsed(): number {
    return (this.#queuesSince ?? this.#app.io.host.elapsed()) - this.#queued;
  }

  /** Registers a secret for redaction until the turn is over. */
  readonly learn = (secret: string): void => this.#secrets.add(secret);

  /** Does the work with the vault locked: see `ServicePart`. */
  async withVault<T>(work: (context: ExchangeContext) => Promise<T>): Promise<T> {
    const { io, settings, service } = this.#app;
    const { host } = io;
    const { uuid, waits, probing } = this.#options;
    const clock: Clock = {
      now: () => host.now(),
      elapsed: () => this.#elapsed(),
      sleep: async (milliseconds, signal) => await host.sleep(milliseconds, signal),
    };
    const deadline = host.elapsed() + settings.maxWait;
    const waiting = { deadline: waits ? deadline : host.elapsed(), signal: this.#stop.signal };
    const own = {
      clock,
      waiting,
      // One for the whole exchange: it has its place under the rate limit.
      service: once(async () => this.#watched(await service.clientFor(this.learn))),
      probing,
      learnSecret: this.learn,
      emit: (event: ExchangeEvent): void => this.#follow(event),
    };
    return await service.withVault(
      uuid,
      async (context) => await work({ ...context, deadline }),
      own,
    );
  }

  /** The error that a turn has ended with, which outlives the secrets that it may repeat. */
  failure(error: unknown): VaultError {
    const { code, message, facts } = asVaultError(error);
    const { cause, ...shown } = facts;
    return new VaultError(code, this.#app.io.redactor.redact(message), {
      ...this.#app.io.redactor.redactValue(shown),
      cause,
    });
  }

  end(): void {
    this.#isOver = true;
    const { interrupted, killed } = this.#app.io.host;
    interrupted.removeEventListener("abort", this.#onSignal);
    killed.removeEventListener("abort", this.#onSignal);
    this.#secrets.end();
  }

  #watched(service: Service): Service {
    const queued = async <T>(wait: () => Promise<T>): Promise<T> => {
      const from = (this.#queuesSince = this.#app.io.host.elapsed());
      this.#preparedMs ??= from - this.#beganAt;
      try {
        return await wait();
      } finally {
        this.#queued += this.#app.io.host.elapsed() - from;
        this.#queuesSince = null;
        this.#hasPlace = true;
        this.#options.onProgress();
      }
    };
    return {
      admit: async (next, signal) => await queued(async () => await service.admit(next, signal)),
      reserveAhead: async (next) => await service.reserveAhead(next, Number.POSITIVE_INFINITY),
      call: async (call, signal) => {
        this.#options.onCall();
        return await service.call(call, signal);
      },
    };
  }

  #follow(event: ExchangeEvent): void {
    const { narrator } = this.#app.io;
    const { uuid, onService, onProgress } = this.#options;
    if (event.type === "warning") narrator.warn(`vault ${uuid}: ${event.message}`);
    if (event.type === "settled") narrator.tell(event);
    if (event.type === "starting" || event.type === "stored") this.#isUnderWay = true;
    // The engine itself gives an end call that is under way its time.
    if (event.type === "acknowledging" || event.type === "retrying") this.#isUnderWay = false;
    if (event.type === "waiting") this.#waits = event.unansweredStarts > 0 ? "longer" : "trial";
    else this.#waits = "no";
    const isRetried = event.type === "retrying" && event.step !== "end";
    if (this.#waits !== "no" || isRetried) onService(true);
    if (event.type === "stored") onService(false);
    this.#stopIfIdle();
    onProgress();
  }

  #stopIfIdle(): void {
    const { interrupted, killed } = this.#app.io.host;
    if (this.#isOver || !interrupted.aborted || (this.#isUnderWay && !killed.aborted)) return;
    this.#stop.abort(
      killed.aborted ? killed.reason : (interrupted.reason ?? new Interruption("SIGINT")),
    );
  }
}
