import type { Io } from "../../parts/io.ts";
import type { ServicePart } from "../../parts/service.ts";
import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { summarize } from "../../exchange/context.ts";
import { dispositionOf, serviceDetails, whatCame, wording } from "../../exchange/dispositions.ts";
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
  const unknown = {
    id: null,
    externalRef: null,
    startedAt: null,
    tokenExpiry: null,
    generation: null,
    by: null,
  };
  const acknowledgedAt = new Date(io.host.now()).toISOString();
  return {
    uuid,
    label,
    operation,
    exchange: { ...unknown, operation, state: "acknowledged", acknowledgedAt },
  };
}

/** Sends the acknowledgement until it is answered or no time is left. */
async function sendToken(context: ExchangeContext, call: EndCall): Promise<void> {
  const reply = await sendSingle(context, call, Number.POSITIVE_INFINITY);
  if (reply.type === "answer" && isSuccess(reply.answer)) return;
  context.signal.throwIfAborted();
  const limited = reply.type === "answer" && dispositionOf(reply.answer, call).end === "again";
  if (reply.type === "answer" && !limited) throw refused(call, reply.answer);
  const { uuid } = call;
  const facts = { uuid, retry: "safe", hint: "run it again" } as const;
  if (reply.type === "answer")
    throw new VaultError("rate-limited", `still rate limited (${wording(reply.answer)})`, facts);
  const what =
    reply.type === "not-sent"
      ? `no connection to the service: ${reply.cause}`
      : `the acknowledgement was sent, but ${whatCame(reply)}`;
  throw new VaultError("network", what, facts);
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

function refused(call: EndCall, answer: Parameters<typeof serviceDetails>[0]): VaultError {
  const { uuid } = call;
  const { code, what, end } = dispositionOf(answer, call);
  if (end === "nothing") {
    return new VaultError(code, `${what} (${wording(answer)})`, {
      uuid,
      retry: "after-fix",
      service: serviceDetails(answer),
      hint: "check --base-url and --api-prefix, and run it again while the token lives",
    });
  }
  return new VaultError(
    end === "outstanding" ? code : "service",
    `the service did not accept the token (${wording(answer)})`,
    {
      uuid,
      service: serviceDetails(answer),
      hint: "if the token expired, the old credentials are still valid: start again with them",
    },
  );
}
