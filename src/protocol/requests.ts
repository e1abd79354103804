import * as z from "zod/mini";
import { isCreditCard, isOnline, type Endpoint, type Kind } from "./endpoints.ts";
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
export const onlineCredentials = z.extend(offlineCredentials, { hashedPin: z.optional(base64) });

/** A credential pair and, for an online vault, the hashedPin that goes with it. */
export type Credentials = z.infer<typeof onlineCredentials>;

/** The text of a generic vault; its length has no documented limit. */
const content = z.string({ error: "must be text" });

/** The contents of a vault of this kind: a card or a text. */
const contentsSchema = (kind: Kind) =>
  isCreditCard(kind) ? z.object({ creditCard }) : z.object({ content });

/** What begins every request with the application in its body. */
const every = { application, externalRef: z.optional(externalRef) };

/** Of a read, and extended, of a delete. */
const access = (kind: Kind) =>
  isOnline(kind)
    ? z.object({ ...every, device, vault: z.object({ credentials: onlineCredentials }) })
    : z.object({ ...every, vault: z.object({ credentials: offlineCredentials }) });

/** Extended. `hashedPin` is for online vaults, `maxUsage` and `expiryDate` for offline ones. */
const create = (kind: Kind) => {
  const { shape } = contentsSchema(kind);
  const created = { ...every, metadata: z.optional(metadata) };
  if (isOnline(kind)) {
    const vault = z.object({ ...shape, hashedPin: z.optional(base64) });
    return z.object({ ...created, device, vault });
  }
  const limited = { maxUsage: z.optional(positiveLong), expiryDate: z.optional(dateTime) };
  return z.object({ ...created, vault: z.object({ ...shape, ...limited }) });
};

/** The schema of an endpoint's request body (docs/interface.md, Requests). An info has no body. */
export function requestSchema({ kind, operation, step }: Endpoint) {
  if (step === "end") return z.object({ token: opaque });
  switch (operation) {
    case "info":
      return z.unknown();
    case "create":
      return create(kind);
    case "update":
      // Extended for a generic vault (docs/interface.md, Extended operations).
      return z.object({
        ...every,
        newVault: contentsSchema(kind),
        vault: z.object({ credentials: offlineCredentials }),
      });
    case "get":
    case "delete":
      return access(kind);
  }
}
