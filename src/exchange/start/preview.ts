import { defined } from "../../defined.ts";
import type { ExchangeContext } from "../context.ts";
import type { OpenExchange, VaultRecord } from "../records.ts";
import { choosePairs } from "./choose-pair.ts";
import type { Decision } from "./decide.ts";
import { checkGiven, decide } from "./decide.ts";
import type { Start } from "./start.ts";

/**
 * Decides as `runExchange` would, and writes and sends nothing: an acknowledgement that comes first, and a recovery document, are taken
 * as done. The pairs to send stand there also where the guard refuses them. `open`: what an earlier run left.
 * @throws what `runExchange` throws before it first writes, but for the guard's errors
 */
export async function previewStart(
  context: ExchangeContext,
  asked: Start,
): Promise<Decision & { open: OpenExchange | null }> {
  const known = await context.session.read();
  const start = afterAdoption(asked);
  const recordedAs =
    start === asked ? undefined : await checkGiven(context, known, { ...start, force: true });
  const decision = await decide(context, known, start, recordedAs);
  const { first, kind } = decision;
  const chosen =
    first === "acknowledge" && known !== null
      ? await decide(context, acknowledged(known), start, decision.recordedAs)
      : decision;
  const { record, refusal, generation } = chosen;
  const isRefused = record !== null && refusal !== null;
  const isStored = start.given?.type !== "pair" || chosen.recordedAs !== null;
  const pairs =
    isRefused && isStored
      ? await choosePairs(context, record, kind, { ...start, generation, force: true })
      : chosen.pairs;
  return { ...chosen, first, pairs, open: known?.open ?? null };
}

/** Once a recovery document is taken over, its new pair is the one to send. */
function afterAdoption(start: Start): Start {
  if (start.given?.type !== "recovery") return start;
  const { document } = start.given;
  const { hashedPin } = document.old;
  return {
    ...start,
    device: start.device ?? document.device,
    given: { type: "pair", credentials: { ...document.new, ...defined({ hashedPin }) } },
  };
}

/** The vault as it would be once its open exchange is acknowledged. */
function acknowledged(record: VaultRecord): VaultRecord {
  const generations = record.generations.map((g) =>
    g.generation === record.open?.newGeneration
      ? { ...g, standing: "current" as const, proven: true }
      : { ...g, standing: "superseded" as const },
  );
  return { ...record, generations, unackedStarts: 0, open: null };
}
