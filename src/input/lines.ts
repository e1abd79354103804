import * as z from "zod/mini";
import { optionTypes } from "../cli/option-types.ts";
import type { ErrorKind } from "../errors.ts";
import { VaultError } from "../errors.ts";
import { device, uuid } from "../protocol/fields.ts";
import { validate } from "../protocol/validate.ts";

/** Given or stored credentials, or a recovery document; `parseCredentials` checks which. */
export const givenCredentials = z.looseObject(
  {},
  { error: 'must be an object, such as {"encryptedData":"…","payload":"…"}' },
);

/** Properties of one vault in a file of many. */
export const vaultProperties = {
  uuid,
  kind: z.optional(optionTypes.kind),
  credentials: z.optional(givenCredentials),
  device: z.optional(device),
  label: z.optional(z.nullable(optionTypes.label)),
};

/**
 * Checks one vault of such a file, or another document; `where` names its place.
 * @throws `invalid-input`, which names the property and the rule and never shows a value
 */
export function checkObject<T>(
  value: unknown,
  schema: z.core.$ZodType<T>,
  where: string,
  hint: string,
): T {
  const checked = validate(schema, value);
  if (checked.ok) return checked.value;
  const [first] = checked.violations;
  throw new VaultError(
    "invalid-input",
    `${where}: ${[first?.path, first?.rule].filter(Boolean).join(" ")}`,
    { hint },
  );
}

/** The error with its place in the file before it. */
export const placed = (
  where: string,
  error: VaultError,
  code: ErrorKind = error.code,
): VaultError => new VaultError(code, `${where}: ${error.message}`, error.facts);
