import type { Remote } from "../parts/service.ts";
import { VaultError } from "../errors.ts";
import type { Reply } from "../exchange/ports.ts";
import type { Named } from "../cli/vault-name.ts";
import type { Outcome } from "./outcome.ts";
import { Turn } from "./turn.ts";

export interface Turns<Vault extends Named> {
  /** Does the exchange of one vault. What it throws is its outcome. */
  work: (vault: Vault, turn: Turn) => Promise<Outcome>;
  /** Is told each outcome. If it rejects, nothing more is begun. */
  tell: (vault: Vault, outcome: Outcome) => Promise<void>;
  /** Most exchanges at a time. */
  concurrency: number | undefined;
  /** Stop after so many. */
  maxFailures: number | undefined;
}

export interface Taken<Vault> {
  calls: number;
  /** Those that were not begun. */
  left: readonly Vault[];
  /** Why nothing more was begun; null where all were. What is no VaultError is a failure of the output. */
  stop: Error | "too many failures" | null;
}

const mostAtATime = 64;

/** How many wait for the place of their first call, so that none is left unused: more would keep other processes waiting. */
const mostInQueue = 2;

/** What is true for every vault: the service refuses the application, or the state cannot be used. */
const concernsAll = ["unauthorized", "state"];

/** What a start was answered with: the service is there. */
const answeredStart = ["rejected", "locked"];

/**
 * Takes many vaults, as many at a time as the rate limit can feed. The failure of one leaves the others alone; one that concerns all
 * stops at once. While the service does not answer, one of them waits for a trial and no other is begun; a vault that somebody else
 * has comes last.
 */
export async function takeTurns<Vault extends Named>(
  app: Remote,
  vaults: readonly Vault[],
  turns: Turns<Vault>,
): Promise<Taken<Vault>> {
  const { host } = app.io;
  const { promise: isDone, resolve: done } = Promise.withResolvers<void>();
  const active = new Set<Turn>();
  const later: Vault[] = [];
  const left: Vault[] = [];
  let next = 0;
  let calls = 0;
  let failures = 0;
  let stop: Taken<Vault>["stop"] = null;
  let isOut = false;
  let usualPreparationMs = 0;
  let probe: Promise<Reply> | undefined;

  const halt = (why: NonNullable<Taken<Vault>["stop"]>): void => {
    stop ??= why;
  };

  const most = Math.min(turns.concurrency ?? mostAtATime, mostAtATime);

  /** Whether enough are on their way to the queue of the rate limit, or in it, for the places there. */
  const isQueueFed = (): boolean => {
    const toCome = [...active].filter((turn) => !turn.hasPlace).length;
    return (
      app.settings.rate > 0 &&
      toCome >= mostInQueue + Math.ceil((app.settings.rate * usualPreparationMs) / 1000)
    );
  };

  /** Whether all that are under way wait, and longer than another one would: that goes first. */
  const isNextToTry = (): boolean => [...active].every(({ waits }) => waits === "longer");

  const mayBegin = (): boolean =>
    stop === null &&
    !host.interrupted.aborted &&
    (isOut ? isNextToTry() : active.size < most && !isQueueFed());

  const probing = async (send: () => Promise<Reply>): Promise<Reply> =>
    await (probe ??= send().finally(() => (probe = undefined)));

  const fill = (): void => {
    while (mayBegin()) {
      const vault = next < vaults.length ? vaults[next++] : later.shift();
      if (vault === undefined) break;
      void take(vault, next >= vaults.length);
    }
    if (active.size === 0) done();
  };

  const take = async (vault: Vault, waits: boolean): Promise<void> => {
    const { uuid } = vault;
    const turn = new Turn(app, {
      uuid,
      waits,
      onCall: () => (calls += 1),
      probing,
      onService: (isAway) => (isOut = isAway),
      onProgress: fill,
    });
    active.add(turn);
    const outcome = await turns
      .work(vault, turn)
      .catch((error: unknown): Outcome => ({ ok: false, error: turn.failure(error) }));
    try {
      const error = "error" in outcome ? outcome.error : undefined;
      // Not where the lock was lost in the middle: the start counts, and a limited vault has spent a read.
      if (error?.code === "busy" && error.retry === "safe" && !waits) return void later.push(vault);
      if (error?.code === "interrupted" && error.facts.exchange === undefined)
        return void left.push(vault);
      if (error?.code === "network") {
        isOut = true;
        // Another vault may go first, or is on its way. If none, the run has waited, and not this vault.
        const isTried = [...active].some((other) => other !== turn && other.waits !== "longer");
        const hasWaited =
          turn.waits === "longer" ? waits : turn.waits === "trial" || error.retry === "safe";
        const isLast = hasWaited && !isTried;
        if (isLast) halt(unavailable(error));
        if (error.retry === "safe") return void (isLast ? left : later).push(vault);
      }
      usualPreparationMs = usualPreparationMs * 0.9 + (turn.preparedMs ?? 0) * 0.1;
      await turns.tell(vault, outcome);
      if (error === undefined) return;
      failures += 1;
      if (concernsAll.includes(error.code)) halt(error);
      if (answeredStart.includes(error.code)) isOut = false;
      if (failures >= (turns.maxFailures ?? Number.POSITIVE_INFINITY)) halt("too many failures");
    } catch (error) {
      halt(error as Error);
    } finally {
      turn.end();
      active.delete(turn);
      fill();
    }
  };

  host.interrupted.addEventListener("abort", fill, { once: true });
  fill();
  await isDone;
  host.interrupted.removeEventListener("abort", fill);
  return { calls, left: [...left, ...later, ...vaults.slice(next)], stop };
}

/** The error of a run that has waited for the service as long as it may. */
const unavailable = ({ message, facts: { hint, next } }: VaultError): VaultError =>
  new VaultError("network", `the run has stopped; ${message}`, { hint, next });
