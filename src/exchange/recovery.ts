import * as z from "zod/mini";
import { VaultError } from "../errors.ts";
import { kinds, operations } from "../interface/endpoints.ts";
import { device, opaque, uuid } from "../interface/fields.ts";
import { parseJson } from "../interface/json.ts";
import { onlineCredentials } from "../interface/requests.ts";
import { validate } from "../interface/validate.ts";

const pending = z.object({
  uuid,
  kind: z.enum(kinds, { error: `must be one of ${kinds.join(", ")}` }),
  exchangeId: opaque,
  state: z.literal("pending", { error: 'must be "pending"' }),
  /** A document without it is one of a read. */
  operation: z.optional(z.enum(operations)),
  old: onlineCredentials,
  new: onlineCredentials,
  token: opaque,
  tokenExpiry: z.nullable(z.string()),
  device: z.optional(device),
  /** A read of a limited vault whose contents nobody is known to have seen: to be acknowledged by a decision only. */
  unread: z.optional(z.literal(true, { error: "must be true, or left out" })),
});

/**
 * The recovery document that --credentials-out and --save-cmd receive before the end call: with it, another machine can
 * finish the exchange (DESIGN, Ephemeral use).
 */
export type RecoveryDocument = z.infer<typeof pending>;

export type GivenCredentials =
  { type: "pair"; credentials: z.infer<typeof onlineCredentials> } | { type: "recovery"; document: RecoveryDocument };

/**
 * Reads what --credentials takes: a pair, or a recovery document. Raises `invalid-input` naming the field, never
 * showing a value.
 */
export function parseCredentials(text: string, flag: string): GivenCredentials {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new VaultError("invalid-input", `${flag}: not valid JSON`, { hint: `a right value: {"encryptedData":"…","payload":"…"}` });
  }
  const isRecovery = typeof value === "object" && value !== null && "state" in value;
  const checked = isRecovery ? validate(pending, value) : validate(onlineCredentials, value);
  if (!checked.ok) {
    const [first] = checked.violations;
    const field = first?.path === "" || first === undefined ? "" : `.${first.path}`;
    throw new VaultError("invalid-input", `${flag}${field}: ${first?.rule ?? "does not fit"}`, {
      hint: `a right value: {"encryptedData":"…","payload":"…"}, or a recovery document as --credentials-out writes it`,
    });
  }
  return isRecovery
    ? { type: "recovery", document: checked.value as RecoveryDocument }
    : { type: "pair", credentials: checked.value as z.infer<typeof onlineCredentials> };
}
