import { VaultError } from "../../errors.ts";
import { isCreditCard, isOnline, kinds } from "../../protocol/endpoints.ts";
import {
  base64,
  creditCard,
  dateTime,
  device,
  metadata,
  positiveLong,
  uuid,
} from "../../protocol/fields.ts";
import { offlineCredentials } from "../../protocol/requests.ts";
import { validate } from "../../protocol/validate.ts";
import type { VaultInput } from "../model/state.ts";

/** Fields with a schema of the interface, in the order of the checks. */
const schemas: Partial<Record<keyof VaultInput, Parameters<typeof validate>[0]>> = {
  uuid,
  creditCard,
  maxUsage: positiveLong,
  expiryDate: dateTime,
  hashedPin: base64,
  device,
  metadata,
  credentials: offlineCredentials,
};
const known = ["kind", "label", "content", ...Object.keys(schemas)];

/**
 * Checks a vault of a seed. Unknown fields are errors.
 * @throws `invalid-input` naming the vault and the field
 */
export function checkVaultInput(given: unknown, where: string): VaultInput {
  const fail = (field: string, rule: string): never => {
    throw new VaultError("invalid-input", `${where}: ${field} ${rule}`);
  };
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return fail("the vault", "must be an object");
  const input = given as Record<string, unknown>;
  for (const name of Object.keys(input))
    if (!known.includes(name)) fail(name, `is not a field; known fields: ${known.join(", ")}`);
  const kind = kinds.find((k) => k === input["kind"]);
  if (kind === undefined) return fail("kind", `must be one of ${kinds.join(", ")}`);
  for (const name of ["label", "content"]) {
    if (input[name] !== undefined && typeof input[name] !== "string") fail(name, "must be text");
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const checked = input[name] === undefined ? undefined : validate(schema, input[name]);
    if (checked?.ok === false)
      for (const v of checked.violations) fail([name, v.path].filter(Boolean).join("."), v.rule);
  }
  if (typeof input["expiryDate"] === "string" && Number.isNaN(Date.parse(input["expiryDate"])))
    fail("expiryDate", "is not a valid date");
  const needs = (name: string, wanted: boolean) => {
    if (wanted && input[name] === undefined) fail(name, `is missing: a ${kind} vault needs it`);
  };
  const allows = (name: string, allowed: boolean) => {
    if (!allowed && input[name] !== undefined) fail(name, `does not belong to a ${kind} vault`);
  };
  needs("creditCard", isCreditCard(kind));
  needs("content", !isCreditCard(kind));
  allows("creditCard", isCreditCard(kind));
  allows("content", !isCreditCard(kind));
  for (const name of ["maxUsage", "expiryDate"]) allows(name, !isOnline(kind));
  for (const name of ["hashedPin", "device"]) allows(name, isOnline(kind));
  return given as VaultInput;
}
