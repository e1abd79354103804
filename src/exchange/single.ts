import { defined } from "../defined.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { isSuccess, readCreateSuccess, type CreateSuccess } from "../protocol/answers.ts";
import type { Device, Metadata } from "../protocol/fields.ts";
import type { Credentials } from "../protocol/requests.ts";
import { command, noted } from "../way.ts";
import { BreakerChanged, type Seen } from "./breaker.ts";
import { meaningOf, refusal, serviceDetails, unansweredError } from "./dispositions.ts";
import type { ExchangeContext, EndCall, Reply, SingleCall, Store } from "./ports.ts";
import { interruptedBefore, nextTry } from "./context.ts";
import type { Creation } from "./records.ts";
import { acceptedBy, giveBack, letOut, noteStart } from "./start/breaker-gate.ts";

export type SingleContext = Pick<
  ExchangeContext,
  "clock" | "deadline" | "emit" | "service" | "signal"
>;

/**
 * Sends a call outside an exchange; an end call only if its exchange is not known here. Repeats it until the
 * deadline if it surely did not arrive or came too early (429), and an end call if it got no answer. Returns the last reply.
 * @throws `interrupted`, only while nothing is under way, and what `admit` throws
 */
export async function sendSingle(
  context: SingleContext,
  call: SingleCall | EndCall,
): Promise<Reply> {
  const { service, clock, signal, deadline } = context;
  const next = { kind: call.kind, isEnd: call.step === "end" };
  const untilInterrupted = async (wait: Promise<void>): Promise<void> =>
    await wait.catch((error: unknown) => {
      throw signal.aborted ? interruptedBefore(uuidOf(call)) : error;
    });
  for (let attempt = 0; ; attempt += 1) {
    await untilInterrupted(service.admit(next, signal, deadline));
    const reply = await service.call(call, signal);
    const { is, cause } = meaningOf(reply, call);
    if (reply.type === "answer" && is !== "rate") return reply;
    if (reply.type === "no-answer" && (call.step !== "end" || signal.aborted)) return reply;
    const { waitMs, inTime } = nextTry(context, attempt, reply);
    if (!inTime) return reply;
    context.emit({ type: "retrying", step: call.step, cause, waitMs });
    await untilInterrupted(clock.sleep(waitMs, signal));
  }
}

const uuidOf = (call: SingleCall | EndCall): string | undefined =>
  call.step === "create" ? undefined : call.uuid;

/** The error for a call that was not accepted: it was not sent, got no answer, which a repetition would not worsen, or was refused. */
export function refusedSingle(
  context: Pick<SingleContext, "signal">,
  reply: Reply,
  call: SingleCall | EndCall,
): VaultError {
  const uuid = uuidOf(call);
  if (reply.type !== "no-answer") return refusal(meaningOf(reply, call), uuid);
  const step = call.step === "end" ? "acknowledgement" : call.step;
  const hint = "run it again (it does not count toward lockout)";
  return unansweredError(context, step, reply, { uuid, retry: "safe", hint });
}

interface CreateContext extends SingleContext, Pick<ExchangeContext, "breaker" | "learnSecret"> {
  store: Pick<Store, "beginCreation" | "completeCreation">;
  /** Prints what of a vault that was created exists nowhere else. */
  rescue(document: object): Promise<void>;
}

interface CreateRequest {
  /** The caller keeps its id locked throughout. */
  creation: Creation;
  /** `vault` of the request: card or content, hashedPin, maxUsage, expiryDate. */
  vault: Record<string, unknown> & { hashedPin?: string; maxUsage?: number };
  device?: Device | undefined;
  metadata?: Metadata | undefined;
  label?: string | undefined;
}

interface Created {
  success: CreateSuccess;
  credentials: Credentials;
  generation: number;
}

/**
 * Creates a vault (extended). Its external reference is durable before the call, its credentials before this resolves. A call
 * that may have arrived is never repeated: it could create a second vault.
 * @throws `network` (with `after-status` if it may have arrived), `rate-limited`, `unauthorized`, `interrupted`; after `rescue`
 * `service` for a SUCCESS without recognizable credentials or uuid, and `state` if they could not be stored
 */
export async function createVault(
  context: CreateContext,
  request: CreateRequest,
): Promise<Created> {
  const { breaker, store } = context;
  const { creation, vault, device, metadata } = request;
  const { kind, externalRef } = creation;
  await breaker.read();
  const record = async ({ breaker: before, claim }: Seen): Promise<void> => {
    if (claim !== null && !(await breaker.replace(before, claim))) throw new BreakerChanged();
  };
  const seen = await letOut(context, null, { force: false, record });
  await store.beginCreation(creation);
  const call: SingleCall = { step: "create", kind, externalRef, vault, device, metadata };
  const reply = await sendSingle(context, call).catch(async (error: unknown) => {
    await giveBack(breaker, seen);
    throw error;
  });
  const meaning = acceptedBy(reply) === undefined ? meaningOf(reply, call) : undefined;
  await noteStart(breaker, seen, reply, meaning);
  const { answer } = reply;
  const success = answer && readCreateSuccess(answer);
  if (success !== undefined) return await keep(context, request, success);
  const findIt = `look for the external reference ${externalRef} among the audit items in the service's console, delete the vault there, and run it again`;
  if (answer !== undefined && isSuccess(answer)) {
    await context.rescue({ answer: answer.body });
    const message =
      "the service responded SUCCESS without credentials and a UUID that can be recognized; a vault was created";
    throw new VaultError("service", message, {
      hint: `the whole response was printed, and the credentials may be in it; else ${findIt}`,
      service: serviceDetails(answer),
    });
  }
  if (reply.type !== "no-answer") throw refusedSingle(context, reply, call);
  const so = "a vault may exist whose credentials nobody has";
  throw unansweredError(context, "create", reply, { hint: findIt }, so);
}

async function keep(
  context: CreateContext,
  { creation, vault, device, label }: CreateRequest,
  success: CreateSuccess,
): Promise<Created> {
  const { uuid } = success;
  const { kind } = creation;
  const credentials = { ...success.pair, ...defined({ hashedPin: vault.hashedPin }) };
  for (const secret of Object.values(credentials)) context.learnSecret(secret);
  try {
    const generation = await context.store.completeCreation(creation, {
      ...success,
      credentials,
      device,
      label,
      usesRemaining: success.usesRemaining ?? vault.maxUsage ?? null,
      limited: success.usesRemaining !== null || vault.maxUsage !== undefined,
    });
    return { success, credentials, generation };
  } catch (error) {
    const shown = { ...success.vault, uuid, credentials };
    await context.rescue({ uuid, label: label ?? null, vault: shown, kind });
    const message = `vault ${uuid} was created, but its credentials could not be stored (${asVaultError(error).message}); they were printed, and exist nowhere else`;
    const keeps = command`vault import ${uuid} --kind ${kind} --credentials @FILE`;
    throw new VaultError("state", message, {
      uuid,
      retry: "never",
      hint: "keep them",
      next: [noted(keeps, "once the state can be written")],
    });
  }
}
