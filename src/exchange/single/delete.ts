import { VaultError } from "../../errors.ts";
import { isSuccess } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { singleEndpoint } from "../../protocol/endpoints.ts";
import { inDoubtError } from "../end/acknowledge.ts";
import type { ChosenPair } from "../start/choose-pair.ts";
import { choosePairs } from "../start/choose-pair.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, note, pause, summarize } from "../context.ts";
import { dispositionOf, refusesCredentials } from "../dispositions.ts";
import { withErrorFacts } from "../error-facts.ts";
import { guardStart } from "../guard.ts";
import { circumstances } from "../ways.ts";
import type { Reply } from "../ports.ts";
import type { Start } from "../start/start.ts";
import { noCredentials } from "../start/start.ts";
import type { OpenExchange, VaultRecord } from "../records.ts";
import { letOut, noteStart } from "../start/breaker-gate.ts";
import { notSent } from "../start/send.ts";
import { serviceDetails, wording } from "../service-errors.ts";
import { refusedBy } from "../start/refused.ts";

interface DeleteRequest extends Pick<Start, "device" | "force"> {
  externalRef?: string | undefined;
  /** Delete it although an exchange is open or in doubt. */
  discardPending: boolean;
}

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
  return await withErrorFacts(context, async (watched) => {
    const record = checkDelete(
      context.session.uuid,
      await watched.session.read(),
      request.discardPending,
    );
    const pairs = await choosePairs(watched, inDoubtIfEnding(record), record.kind, {
      device: request.device,
      force: request.force,
    });
    for (const [index, pair] of pairs.entries()) {
      try {
        return await sendDelete(watched, record.kind, pair, request);
      } catch (error) {
        const another =
          index + 1 < pairs.length && error instanceof VaultError && error.code === "rejected";
        if (!another) throw error;
      }
    }
    throw new VaultError("internal", "no pair was tried");
  });
}

/**
 * The part of `deleteVault` that needs no lock. Returns the record.
 * @throws `no-credentials`, `pending`, `in-doubt`
 */
export function checkDelete(
  uuid: string,
  record: VaultRecord | null,
  discardPending: boolean,
): VaultRecord {
  if (record === null || record.generations.length === 0) throw noCredentials(uuid);
  if (record.open === null || discardPending) return record;
  const { open } = record;
  const doubt = open.state === "in-doubt";
  const found = doubt
    ? inDoubtError({ session: { uuid } }, open).message
    : `an exchange of this vault is ${open.state}`;
  throw new VaultError(doubt ? "in-doubt" : "pending", `not deleted: ${found}`, {
    uuid,
    exchange: summarize(open),
    hint: `vault ${doubt ? "get" : "ack"} ${uuid} (finishes it); vault delete ${uuid} --discard-pending (deletes the vault anyway)`,
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
    if (!request.force) guardStart(record, circumstances(context));
    const exchangeId = context.ids.next(record.last?.id);
    const externalRef = request.externalRef ?? `vault-${exchangeId}`;
    const intent = {
      exchangeId,
      operation: "delete",
      kind,
      externalRef,
      generation,
      sole,
    } as const;
    const passing = { force: request.force, endpoint: { kind } };
    const seen = await letOut(
      context,
      record,
      passing,
      async (seen) => await session.recordIntent({ ...intent, seen }),
    );
    const call = { step: "delete" as const, uuid, kind, externalRef, credentials, device };
    const reply = await context.service.call(call, context.signal);
    await noteStart(context.breaker, seen, reply, { extended: true });
    if (reply.type === "answer" && isSuccess(reply.answer)) {
      await session.recordDeleted(exchangeId);
      return { kind, externalRef, generation };
    }
    const endpoint = singleEndpoint(kind, "delete");
    if (reply.type === "no-answer" && !refusesCredentials(reply, endpoint))
      throw await unanswered(context, exchangeId, reply);
    if (reply.type === "answer") await throwIfMissing(context, record, exchangeId, reply);
    const repeat =
      reply.type === "not-sent"
        ? await notSent(context, exchangeId, reply, attempt)
        : await refusedBy(
            context,
            exchangeId,
            { ...pair, endpoint, what: "delete" },
            reply.answer,
            attempt,
          );
    context.emit({ type: "retrying", step: "delete", cause: repeat.cause, waitMs: repeat.waitMs });
    await pause(context, repeat.waitMs);
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
    hint: `vault info ${uuid} (is the vault still there? then run it again)`,
  };
  const what = "the vault may have been deleted; its credentials are kept";
  return context.signal.aborted
    ? new VaultError("interrupted", `interrupted while the delete was in progress; ${what}`, facts)
    : new VaultError(
        code,
        `the delete was sent, but no complete response came back (${reply.cause}); ${what}`,
        facts,
      );
}

/**
 * @throws `service` if an earlier, unanswered delete may have taken effect. This endpoint is an extended one: only a read says
 * for certain whether the vault is there
 */
async function throwIfMissing(
  context: ExchangeContext,
  { last }: VaultRecord,
  exchangeId: string,
  { answer }: Reply & { type: "answer" },
): Promise<void> {
  const earlier = last?.operation === "delete" && last.state === "intent";
  const { is, what } = dispositionOf(answer, { extended: true });
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
      hint: `vault get ${uuid} (reads the vault if it is still there)`,
    },
  );
}
