import type { Io } from "../../parts/io.ts";
import type { ServicePart } from "../../parts/service.ts";
import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { summarize } from "../../exchange/context.ts";
import {
  dispositionOf,
  refusal,
  serviceDetails,
  whatCame,
  wording,
} from "../../exchange/dispositions.ts";
import type { EndCall } from "../../exchange/ports.ts";
import { sendSingle } from "../../exchange/single/call.ts";
import { isSuccess } from "../../protocol/answers.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import type { Acknowledged } from "../../documents/exchange.ts";
import { command } from "../../way.ts";

/** A token from another machine, as --token gives it, and the exchange that it ends. */
export type ForeignToken = Omit<EndCall, "step">;

/**
 * `ack --token`: one acknowledgement for an exchange that this machine did not start. Its credentials are not here, so
 * nothing is recorded; the vault is locked all the same.
 */
export async function acknowledgeToken(
  { io, service }: { io: Io; service: ServicePart },
  { uuid, kind, operation, token: given }: ForeignToken,
): Promise<Acknowledged> {
  const token = await io.secretOption(given, "--token");
  const label = await service.withVault(uuid, async (context) => {
    try {
      const record = await context.session.read();
      await refuseOwnToken(context, record, token);
      await sendToken(context, { step: "end", uuid, kind, operation, token });
      return record?.label ?? null;
    } catch (error) {
      if (!context.signal.aborted) throw error;
      throw new VaultError("interrupted", "interrupted; the acknowledgement is outstanding", {
        uuid,
        hint: "run it again",
      });
    }
  });
  return {
    uuid,
    label,
    operation,
    exchange: {
      id: null,
      operation,
      state: "acknowledged",
      externalRef: null,
      startedAt: null,
      tokenExpiry: null,
      generation: null,
      by: null,
      acknowledgedAt: new Date(io.host.now()).toISOString(),
    },
  };
}

/** Sends the acknowledgement until it is answered or no time is left. */
async function sendToken(context: ExchangeContext, call: EndCall): Promise<void> {
  const { uuid } = call;
  const reply = await sendSingle(context, call, Number.POSITIVE_INFINITY);
  if (reply.type !== "answer") {
    context.signal.throwIfAborted();
    const what =
      reply.type === "not-sent"
        ? `no connection to the service: ${reply.cause}`
        : `the acknowledgement was sent, but ${whatCame(reply)}`;
    throw new VaultError("network", what, { uuid, retry: "safe", hint: "run it again" });
  }
  const { answer } = reply;
  if (isSuccess(answer)) return;
  context.signal.throwIfAborted();
  const said = dispositionOf(answer, call);
  if (said.end !== "refused") throw refusal(said, { uuid });
  throw new VaultError("service", `the service did not accept the token (${wording(answer)})`, {
    uuid,
    service: serviceDetails(answer),
    hint: "if the token expired, the old credentials are still valid: start again with them",
  });
}

/** Refuses the token of this machine's own exchange: `vault ack UUID` records the acknowledgement. */
async function refuseOwnToken(
  { session }: ExchangeContext,
  record: VaultRecord | null,
  token: string,
): Promise<void> {
  const open = record?.open;
  if (open === null || open === undefined || (await session.token(open.id)) !== token) return;
  throw new VaultError(
    "usage",
    `--token: this is the token of exchange ${open.id} of this machine; nothing was sent`,
    {
      uuid: session.uuid,
      exchange: summarize(open),
      next: [command`vault ack ${session.uuid}`],
    },
  );
}
