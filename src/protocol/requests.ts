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

/** The key has the format of a uuid (docs/interface.md, Application key). */
export const application = z.object({ apiKey: uuid, uuid });
export type Application = z.infer<typeof application>;

/** The pair of an offline vault (docs/interface.md, Credentials). */
export const offlineCredentials = z.object({ encryptedData: opaque, payload: opaque });

/** The pair of an online vault, with its optional hashedPin. */
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

/** The text of a generic vault; its length has no documented limit. */
const content = z.string({ error: "must be text" });

/** The contents of a vault of this kind: a card or a text. */
const contentsSchema = (kind: Kind) =>
  isCreditCard(kind) ? z.object({ creditCard }) : z.object({ content });

/** Extended for a generic vault, with `newVault.content` (docs/interface.md, Extended operations). */
const updateStart = (kind: Kind) =>
  z.object({
    application,
    externalRef: z.optional(externalRef),
    newVault: contentsSchema(kind),
    vault: z.object({ credentials: offlineCredentials }),
  });

/** Extended. `hashedPin` is for online vaults, `maxUsage` and `expiryDate` for offline ones. */
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

/** Extended: like a start of a read of this kind. */
const deletion = (kind: Kind) => (isOnline(kind) ? onlineGetStart : offlineGetStart);

/** The body of every end call. */
const endRequest = z.object({ token: opaque });

/** The schema of an endpoint's request body (docs/interface.md, Requests). An info has no body. */
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
