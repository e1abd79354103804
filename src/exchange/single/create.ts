import { VaultError } from "../../errors.ts";
import type { Answer } from "../../protocol/answers.ts";
import { isSuccess } from "../../protocol/answers.ts";
import type { CreateSuccess } from "../../protocol/extended-answers.ts";
import { readCreateSuccess } from "../../protocol/extended-answers.ts";
import type { Device, Metadata } from "../../protocol/fields.ts";
import type { Reply, SingleCall, Store } from "../ports.ts";
import type { Creation } from "../records.ts";
import type { Credentials } from "../../protocol/requests.ts";
import { acceptedBy, outcomeOf, serviceDetails, unansweredError } from "../dispositions.ts";
import type { ExchangeContext } from "../context.ts";
import { claimIfTrial, noteStart, withdraw } from "../start/breaker-gate.ts";
import type { SingleContext } from "./call.ts";
import { refusedSingle, sendSingle } from "./call.ts";
import { defined } from "../../defined.ts";

interface CreateContext
  extends SingleContext, Pick<ExchangeContext, "breaker" | "learnSecret" | "redact"> {
  store: Pick<Store, "beginCreation" | "completeCreation" | "failCreation">;
}

export interface CreateRequest {
  /** The caller keeps its id locked throughout. */
  creation: Creation;
  /** `vault` of the request: card or content, hashedPin, maxUsage, expiryDate. */
  vault: Record<string, unknown> & { hashedPin?: string; maxUsage?: number };
  device?: Device | undefined;
  metadata?: Metadata | undefined;
  label?: string | undefined;
}

export type CreateOutcome =
  | {
      type: "created";
      success: CreateSuccess;
      credentials: Credentials;
      generation: number;
      fingerprint: string;
    }
  /** The vault exists, but its credentials could not be stored: they are here and nowhere else. */
  | { type: "unstored"; success: CreateSuccess; credentials: Credentials; error: VaultError }
  /** SUCCESS without recognizable credentials or uuid: if they exist, they are in this answer. */
  | { type: "unreadable"; answer: Answer; error: VaultError };

/**
 * Creates a vault (extended). Its external reference is durable before the call, its credentials before this resolves. A call
 * that may have arrived is never repeated: it could create a second vault.
 * @throws `network` (with `after-status` if it may have arrived), `rate-limited`, `unauthorized`, `service`, `state`,
 * `interrupted`
 */
export async function createVault(
  context: CreateContext,
  request: CreateRequest,
): Promise<CreateOutcome> {
  const { store } = context;
  const { creation, vault, device, metadata } = request;
  const { kind, externalRef } = creation;
  const seen = await claimIfTrial(context);
  await store.beginCreation(creation);
  const call: SingleCall = { step: "create", kind, externalRef, vault, device, metadata };
  const reply = await sendSingle(context, call).catch(async (error: unknown) => {
    const code = error instanceof VaultError ? error.code : "internal";
    await store.failCreation(creation, "create-refused", { code, message: "nothing was sent" });
    await withdraw(context.breaker, seen);
    throw error;
  });
  await noteStart(context.breaker, seen, reply, outcomeOf(reply, call, acceptedBy(reply)));
  const answer = reply.type === "not-sent" ? undefined : reply.answer;
  const success = answer && readCreateSuccess(answer);
  if (success !== undefined) return await keep(context, request, success);
  if (answer !== undefined && isSuccess(answer)) return await unreadable(context, creation, answer);
  if (reply.type === "no-answer") throw await unanswered(context, creation, reply);
  const error = refusedSingle(context, reply, call);
  await store.failCreation(creation, "create-refused", {
    code: error.code,
    message: context.redact(error.message),
  });
  throw error;
}

async function keep(
  context: CreateContext,
  { creation, vault, device, label }: CreateRequest,
  success: CreateSuccess,
): Promise<CreateOutcome> {
  const credentials = { ...success.pair, ...defined({ hashedPin: vault.hashedPin }) };
  for (const secret of Object.values(credentials)) context.learnSecret(secret);
  const { uuid, expiryDate, autoLockDate, dateCreated, lastModified } = success;
  const facts = { uuid, expiryDate, autoLockDate, dateCreated, lastModified };
  try {
    const stored = await context.store.completeCreation(creation, {
      ...facts,
      credentials,
      device,
      label,
      usesRemaining: success.usesRemaining ?? vault.maxUsage ?? null,
      limited: success.usesRemaining !== null || vault.maxUsage !== undefined,
    });
    return { type: "created", success, credentials, ...stored };
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    return { type: "unstored", success, credentials, error };
  }
}

async function unreadable(
  { store }: CreateContext,
  creation: Creation,
  answer: Answer,
): Promise<CreateOutcome> {
  const message =
    "the service responded SUCCESS without credentials and a UUID that can be recognized";
  await store.failCreation(creation, "create-unanswered", { code: "service", message });
  const error = new VaultError("service", `${message}; a vault was created`, {
    hint: `the whole response was printed, and the credentials may be in it; else ${findIt(creation)}`,
    service: serviceDetails(answer),
  });
  return { type: "unreadable", answer, error };
}

async function unanswered(
  context: CreateContext,
  creation: Creation,
  reply: Reply & { type: "no-answer" },
): Promise<VaultError> {
  await context.store.failCreation(creation, "create-unanswered", {
    code: "network",
    message: context.redact(reply.cause),
  });
  const what = "a vault may exist whose credentials nobody has";
  return unansweredError(context, "create", reply, what, { hint: findIt(creation) });
}

/** How to find a vault whose credentials nobody has: only by its external reference. */
export function findIt({ externalRef }: Pick<Creation, "externalRef">): string {
  return `look for the external reference ${externalRef} among the audit items in the service's console, delete the vault there, and run it again`;
}
