import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { explainDoubt } from "../end/acknowledge.ts";
import type { ChosenPair } from "../start/choose-pair.ts";
import { choosePairs } from "../start/choose-pair.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, isUnread, note, pause, summarize } from "../context.ts";
import type { Refused } from "../dispositions.ts";
import { acceptedBy, outcomeOf, serviceDetails, whatCame, wording } from "../dispositions.ts";
import { command } from "../../way.ts";
import { guardStart } from "../guard.ts";
import type { DeleteCall, Reply } from "../ports.ts";
import type { Start } from "../start/start.ts";
import { noCredentials } from "../start/start.ts";
import type { OpenExchange, VaultRecord } from "../records.ts";
import { letOut, noteStart } from "../start/breaker-gate.ts";
import { notSent, refused } from "../start/repeat.ts";

/** What a person asks for; `discardPending`: delete it although an exchange is open or in doubt. */
type DeleteRequest = Pick<Start, "device" | "discardPending" | "externalRef" | "force">;

export interface Deleted {
  kind: Kind;
  externalRef: string;
  generation: number;
}

/**
 * Deletes a locked vault (extended). The service asks for its credentials and counts wrong ones as failed attempts. So a delete
 * is guarded, recorded and counted like a start, until it is known that nothing arrived. A call that may have arrived is never
 * repeated. After a SUCCESS the vault's credentials are removed.
 * @throws `no-credentials`, `pending`, `in-doubt`, and what a start throws
 */
export async function deleteVault(
  context: ExchangeContext,
  request: DeleteRequest,
): Promise<Deleted> {
  const { session } = context;
  const record = checkRemoval("delete", session.uuid, await session.read(), request.discardPending);
  const pairs = await choosePairs(context, inDoubtIfEnding(record), record.kind, request);
  for (const [index, pair] of pairs.entries()) {
    try {
      return await sendDelete(context, record.kind, pair, request);
    } catch (error) {
      const another =
        index + 1 < pairs.length && error instanceof VaultError && error.code === "rejected";
      if (!another) throw error;
    }
  }
  throw new VaultError("internal", "no pair was tried");
}

/**
 * Checks that a vault's credentials may be removed: they are known, and no exchange is open unless it is to be discarded. Returns
 * the record.
 * @throws `no-credentials`, `pending`, `in-doubt`
 */
export function checkRemoval(
  name: "delete" | "forget",
  uuid: string,
  record: VaultRecord | null | undefined,
  discardPending: boolean,
): VaultRecord {
  if (!record || record.generations.length === 0) throw noCredentials(uuid);
  if (record.open === null || discardPending) return record;
  const { open } = record;
  const doubt = open.state === "in-doubt";
  const finishing = doubt
    ? command`vault get ${uuid}`
    : command`vault ack ${uuid} ${isUnread(open) ? ["--unread"] : []}`;
  const found = doubt ? explainDoubt : `an exchange of this vault is ${open.state}`;
  const [done, risk] =
    name === "delete" ? ["deleted", ""] : ["forgotten", "; forgetting the vault now could lose it"];
  throw new VaultError(doubt ? "in-doubt" : "pending", `not ${done}: ${found}${risk}`, {
    uuid,
    exchange: summarize(open),
    next: [
      { ...finishing, note: "finishes it" },
      {
        ...command`vault ${name} ${uuid} --discard-pending`,
        note: `${name}s the vault anyway`,
      },
    ],
  });
}

/** After an end call either pair can be the valid one: presents such an exchange as in doubt, so that both are candidates. */
function inDoubtIfEnding(record: VaultRecord): VaultRecord {
  if (record.open?.state !== "ending") return record;
  const open: OpenExchange = { ...record.open, state: "in-doubt" };
  return { ...record, open };
}

async function sendDelete(
  context: ExchangeContext,
  kind: Kind,
  pair: ChosenPair,
  request: DeleteRequest,
): Promise<Deleted> {
  const { session } = context;
  const { uuid } = session;
  const { generation, sole, credentials, device } = pair;
  for (let attempt = 0; ; attempt += 1) {
    const record = await currentRecord(context);
    if (!request.force) guardStart(record, context);
    const exchangeId = context.ids.next(record.last?.id);
    const externalRef = request.externalRef ?? `vault-${exchangeId}`;
    const seen = await letOut(
      context,
      record,
      { exchangeId, operation: "delete", kind, externalRef, generation, sole },
      request.force,
    );
    const call: DeleteCall = { step: "delete", uuid, kind, externalRef, credentials, device };
    const reply = await context.service.call(call, context.signal);
    const outcome = outcomeOf(reply, call, acceptedBy(reply));
    await noteStart(context.breaker, seen, reply, outcome);
    if (outcome.type === "accepted") {
      await session.recordDeleted(exchangeId);
      return { kind, externalRef, generation };
    }
    if (outcome.type === "no-answer") throw await unanswered(context, exchangeId, outcome);
    if (outcome.type === "refused") await throwIfMissing(context, record, exchangeId, outcome);
    const sent = { exchangeId, pair, attempt };
    const { cause, waitMs } =
      outcome.type === "not-sent"
        ? await notSent(context, sent, outcome)
        : await refused(context, sent, outcome, "delete");
    context.emit({ type: "retrying", step: "delete", cause, waitMs });
    await pause(context, waitMs);
  }
}

async function unanswered(
  context: ExchangeContext,
  exchangeId: string,
  reply: Reply & { type: "no-answer" },
): Promise<VaultError> {
  const { uuid } = context.session;
  const code = reply.tooLarge ? "service" : "network";
  await context.session.noteUnanswered(exchangeId, note(context, code, reply.cause));
  const facts = {
    uuid,
    retry: "after-status" as const,
    service: reply.answer && serviceDetails(reply.answer),
    next: [{ ...command`vault info ${uuid}`, note: "is the vault still there? then run it again" }],
  };
  const what = "the vault may have been deleted; its credentials are kept";
  return context.signal.aborted
    ? new VaultError("interrupted", `interrupted while the delete was in progress; ${what}`, facts)
    : new VaultError(code, `the delete was sent, but ${whatCame(reply)}; ${what}`, facts);
}

/**
 * @throws `service` if an earlier, unanswered delete may have taken effect. This endpoint is an extended one: only a read says
 * for certain whether the vault is there
 */
async function throwIfMissing(
  context: ExchangeContext,
  { last }: VaultRecord,
  exchangeId: string,
  { is, what, answer }: Refused,
): Promise<void> {
  const earlier = last?.operation === "delete" && last.state === "intent";
  if (!earlier || is !== "missing") return;
  const { uuid } = context.session;
  const said = wording(answer);
  await context.session.revertIntent(exchangeId, note(context, "service", said));
  throw new VaultError(
    "service",
    `${what} (${said}); an earlier delete without a response may have taken effect`,
    {
      uuid,
      service: serviceDetails(answer),
      next: [{ ...command`vault get ${uuid}`, note: "reads the vault if it is still there" }],
    },
  );
}
