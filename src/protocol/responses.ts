import * as z from "zod/mini";
import type { Endpoint } from "./endpoints.ts";
import { isCreditCard, isOnline } from "./endpoints.ts";
import {
  anyInteger,
  creditCard,
  dateTime,
  metadata,
  opaque,
  positiveLong,
  uuid,
} from "./fields.ts";

const code = z
  .string()
  .check(z.regex(/^[A-Za-z0-9-]+$/, { error: "must be letters, digits and dashes" }));

const detailedError = z.looseObject({
  errorReasons: z.optional(z.array(z.string())),
  property: z.optional(z.string()),
  message: z.optional(z.string()),
});

/** Section 2.5a. */
export const responseStatus = z.looseObject({
  status: z.enum(["ERROR", "SUCCESS"]),
  code: z.optional(code),
  detailedErrors: z.optional(z.array(detailedError)),
});

/** Section 2.5. Only `expiry` is used, since `timeToExpire` has no documented unit. */
export const transactionToken = z.looseObject({
  expiry: dateTime,
  timeToExpire: anyInteger,
  token: opaque,
});

const everyVault = {
  credentials: z.looseObject({ encryptedData: opaque, payload: opaque }),
  uuid,
  autoLockDate: z.optional(dateTime),
  dateCreated: z.optional(dateTime),
  lastModified: z.optional(dateTime),
};
const offlineVault = {
  ...everyVault,
  usesRemaining: z.optional(positiveLong),
  expiryDate: z.optional(dateTime),
};

/** Section 2.6, with the fields that sections 4.1 to 4.3 list for the endpoint. */
export function responseVault({ kind, operation }: Pick<Endpoint, "kind" | "operation">) {
  const fields = isOnline(kind) ? everyVault : offlineVault;
  if (operation === "update") return z.looseObject(fields);
  if (isCreditCard(kind)) return z.looseObject({ ...fields, creditCard });
  return z.looseObject({ ...fields, content: z.string() });
}

/** The schema of an endpoint's SUCCESS response (sections 4.1 to 4.4); unknown fields are allowed. */
export function responseSchema(endpoint: Pick<Endpoint, "kind" | "operation" | "step">) {
  if (endpoint.step === "end") return z.looseObject({ responseStatus });
  return z.looseObject({ responseStatus, transactionToken, vault: responseVault(endpoint) });
}

/** Extended (service-facts: online-vault/credit-card/info): every field is optional, and at the top level. */
export const infoSchema = z.looseObject({
  responseStatus,
  autoLockDate: z.optional(dateTime),
  dateCreated: z.optional(dateTime),
  lastModified: z.optional(dateTime),
  metadata: z.optional(metadata),
  usesRemaining: z.optional(positiveLong),
  expiryDate: z.optional(dateTime),
});
