import * as z from "zod/mini";
import type { Endpoint, Kind } from "./endpoints.ts";
import { isOnline } from "./endpoints.ts";
import { base64, creditCard, device, externalRef, opaque, uuid } from "./fields.ts";

/** Section 2.1. The key has the format of an identifier. */
export const application = z.object({ apiKey: uuid, uuid });
export type Application = z.infer<typeof application>;

/** Section 2.4, the pair of an offline vault. */
export const offlineCredentials = z.object({ encryptedData: opaque, payload: opaque });

/** Section 2.4, with the optional hashedPin of an online vault. */
export const onlineCredentials = z.object({ encryptedData: opaque, payload: opaque, hashedPin: z.optional(base64) });

/** A credential pair and, for an online vault, the hashedPin that goes with it. */
export type Credentials = z.infer<typeof onlineCredentials>;

const onlineGetStart = z.object({
  application,
  device,
  externalRef: z.optional(externalRef),
  vault: z.object({ credentials: onlineCredentials }),
});

const offlineGetStart = z.object({
  application,
  externalRef: z.optional(externalRef),
  vault: z.object({ credentials: offlineCredentials }),
});

const updateStart = z.object({
  application,
  externalRef: z.optional(externalRef),
  newVault: z.object({ creditCard }),
  vault: z.object({ credentials: offlineCredentials }),
});

/** Section 4.4: the body of every end call. */
export const endRequest = z.object({ token: opaque });

/** The schema of an endpoint's request body (sections 4.1 to 4.4). */
export function requestSchema(endpoint: Endpoint) {
  if (endpoint.step === "end") return endRequest;
  if (endpoint.operation === "update") return updateStart;
  return isOnline(endpoint.kind) ? onlineGetStart : offlineGetStart;
}

/** The credentials that a vault of this kind takes. */
export const credentialsSchema = (kind: Kind) => (isOnline(kind) ? onlineCredentials : offlineCredentials);
