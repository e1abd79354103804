import { VaultError } from "../../errors.ts";
import type { Answer } from "../../protocol/answers.ts";
import { isSuccess } from "../../protocol/answers.ts";
import type { CreateSuccess } from "../../protocol/extended-answers.ts";
import { readCreateSuccess } from "../../protocol/extended-answers.ts";
import type { Device, Metadata } from "../../protocol/fields.ts";
import type { SingleCall, Store } from "../ports.ts";
import type { Creation } from "../records.ts";
import type { Credentials } from "../../protocol/requests.ts";
import { acceptedBy, outcomeOf, serviceDetails, unansweredError } from "../dispositions.ts";
import type { ExchangeContext } from "../context.ts";
import { claimIfTrial, noteStart } from "../start/breaker-gate.ts";
import type { SingleContext } from "./call.ts";
import { refusedSingle, sendSingle } from "./call.ts";
import { defined } from "../../defined.ts";

interface CreateContext extends SingleContext, Pick<ExchangeContext, "breaker" | "learnSecret"> {
  store: Pick<Store, "beginCreation" | "completeCreation">;
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
  const reply = await sendSingle(context, call);
  await noteStart(context.breaker, seen, reply, outcomeOf(reply, call, acceptedBy(reply)));
  const answer = reply.type === "not-sent" ? undefined : reply.answer;
  const success = answer && readCreateSuccess(answer);
  if (success !== undefined) return await keep(context, request, success);
  const findIt = `look for the external reference ${externalRef} among the audit items in the service's console, delete the vault there, and run it again`;
  if (answer !== undefined && isSuccess(answer)) {
    const message =
      "the service responded SUCCESS without credentials and a UUID that can be recognized; a vault was created";
    const error = new VaultError("service", message, {
      hint: `the whole response was printed, and the credentials may be in it; else ${findIt}`,
      service: serviceDetails(answer),
    });
    return { type: "unreadable", answer, error };
  }
  if (reply.type !== "no-answer") throw refusedSingle(context, reply, call);
  const so = "a vault may exist whose credentials nobody has";
  throw unansweredError(context, "create", reply, so, { hint: findIt });
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
