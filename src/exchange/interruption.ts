import { VaultError } from "../errors.ts";
import { command, noted } from "../way.ts";
import type { ExchangeContext } from "./context.ts";
import { currentRecord, isUndelivered, summarize } from "./context.ts";
import type { ExchangeRecord } from "./records.ts";
import { waysOn } from "./refusals.ts";

/** Exit 130 if nothing was sent. A create has no vault yet. */
export const interruptedBefore = (uuid: string | undefined): VaultError =>
  new VaultError("interrupted", "interrupted; nothing is pending here", {
    uuid,
    retry: "safe",
    hint: "run the command again",
  });

/** Exit 130, with the state in which the exchange is left. */
export async function interrupted(
  context: ExchangeContext,
  exchange?: ExchangeRecord,
): Promise<VaultError> {
  const { uuid } = context.session;
  if (exchange === undefined) return interruptedBefore(uuid);
  const isStart = exchange.state === "intent";
  const what = isStart
    ? " while the start was in progress; it may have reached the service, and counts; the stored credentials are still valid"
    : "; the new credentials are stored, but not acknowledged";
  const ways = isStart
    ? [command`vault status ${uuid}`]
    : waysOn(await currentRecord(context), context);
  // Whoever stops a read has not got what it reads.
  const again = noted(command`vault get ${uuid}`, "starts again with the old credentials");
  const isRead = exchange.state === "started" && isUndelivered(exchange) && !exchange.limited;
  return new VaultError("interrupted", `interrupted${what}`, {
    uuid,
    exchange: summarize(exchange),
    next: isRead ? [again, ...ways] : ways,
  });
}

export async function throwIfInterrupted(
  context: ExchangeContext,
  exchange?: ExchangeRecord,
): Promise<void> {
  if (context.signal.aborted) throw await interrupted(context, exchange);
}

/**
 * Resolves as the wait does.
 * @throws `told` if the user interrupts it, else what it rejects with
 */
export async function unlessInterrupted(
  { signal }: Pick<ExchangeContext, "signal">,
  wait: Promise<void>,
  told: () => VaultError | Promise<VaultError>,
): Promise<void> {
  try {
    await wait;
  } catch (error) {
    throw signal.aborted ? await told() : error;
  }
}

/** @throws `interrupted` if the user interrupts the wait */
export async function pause(
  context: ExchangeContext,
  milliseconds: number,
  exchange?: ExchangeRecord,
): Promise<void> {
  await unlessInterrupted(
    context,
    context.clock.sleep(milliseconds, context.signal),
    async () => await interrupted(context, exchange),
  );
}
