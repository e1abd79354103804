import * as z from "zod/mini";
import type { AnyEndpoint, Kind } from "./endpoints.ts";
import { isCreditCard, isOnline } from "./endpoints.ts";
import {
  base64,
  creditCard,
  dateTime,
  device,
  externalRef,
  metadata,
  opaque,
  positiveLong,
  uuid,
} from "./fields.ts";

/** Section 2.1. The key has the format of a uuid. */
export const application = z.object({ apiKey: uuid, uuid });
export type Application = z.infer<typeof application>;

/** Section 2.4, the pair of an offline vault. */
export const offlineCredentials = z.object({ encryptedData: opaque, payload: opaque });

/** Section 2.4, with the optional hashedPin of an online vault. */
export const onlineCredentials = z.object({
  encryptedData: opaque,
  payload: opaque,
  hashedPin: z.optional(base64),
});

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

/** The text of a generic vault; its length has no documented limit (section 2.8). */
const content = z.string({ error: "must be text" });

/** The contents of a vault of this kind: a card (section 2.7) or a text. */
const contentsSchema = (kind: Kind) =>
  isCreditCard(kind) ? z.object({ creditCard }) : z.object({ content });

/** Section 4.3. Extended for a generic vault, with `newVault.content` (service-facts: offline-vault/generic/update). */
const updateStart = (kind: Kind) =>
  z.object({
    application,
    externalRef: z.optional(externalRef),
    newVault: contentsSchema(kind),
    vault: z.object({ credentials: offlineCredentials }),
  });

/** Extended (service-facts: create). `hashedPin` is for online vaults, `maxUsage` and `expiryDate` for offline ones. */
const create = (kind: Kind) => {
  const { shape } = contentsSchema(kind);
  const every = {
    application,
    externalRef: z.optional(externalRef),
    metadata: z.optional(metadata),
  };
  return isOnline(kind)
    ? z.object({ ...every, device, vault: z.object({ ...shape, hashedPin: z.optional(base64) }) })
    : z.object({
        ...every,
        vault: z.object({
          ...shape,
          maxUsage: z.optional(positiveLong),
          expiryDate: z.optional(dateTime),
        }),
      });
};

/** Extended (service-facts: delete): like a start of this kind. */
const deletion = (kind: Kind) => (isOnline(kind) ? onlineGetStart : offlineGetStart);

/** Section 4.4: the body of every end call. */
const endRequest = z.object({ token: opaque });

/** The schema of an endpoint's request body (sections 4.1 to 4.4). An info has no body. */
export function requestSchema({ kind, operation, step }: AnyEndpoint) {
  if (step === "end") return endRequest;
  switch (operation) {
    case "info":
      return z.unknown();
    case "create":
      return create(kind);
    case "delete":
      return deletion(kind);
    case "update":
      return updateStart(kind);
    case "get":
      return isOnline(kind) ? onlineGetStart : offlineGetStart;
  }
}
