import * as z from "zod/mini";
import { optionTypes } from "../cli/option-types.ts";
import type { ErrorKind } from "../errors.ts";
import { VaultError } from "../errors.ts";
import { device, uuid } from "../protocol/fields.ts";

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

/** The error with its place in the file before it. */
export const placed = (
  where: string,
  error: VaultError,
  code: ErrorKind = error.code,
): VaultError => new VaultError(code, `${where}: ${error.message}`, error.facts);
