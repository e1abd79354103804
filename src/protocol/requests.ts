import * as z from "zod/mini";
import { isCreditCard, isOnline, type Endpoint } from "./endpoints.ts";
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

/** What begins every request with the application in its body. */
const every = { application, externalRef: z.optional(externalRef) };

/** The schema of an endpoint's request body (docs/interface.md, Requests). An info has no body. */
export function requestSchema({ kind, operation, step }: Endpoint) {
  if (step === "end") return z.object({ token: opaque });
  if (operation === "info") return z.unknown();
  const ofMode = isOnline(kind) ? { ...every, device } : every;
  // The text of a generic vault has no documented limit.
  const contents = isCreditCard(kind)
    ? { creditCard }
    : { content: z.string({ error: "must be text" }) };
  if (operation === "create") {
    const own = isOnline(kind)
      ? { hashedPin: z.optional(base64) }
      : { maxUsage: z.optional(positiveLong), expiryDate: z.optional(dateTime) };
    const vault = z.object({ ...contents, ...own });
    return z.object({ ...ofMode, metadata: z.optional(metadata), vault });
  }
  const credentials = isOnline(kind) ? onlineCredentials : offlineCredentials;
  const newVault = operation === "update" ? { newVault: z.object(contents) } : {};
  return z.object({ ...ofMode, ...newVault, vault: z.object({ credentials }) });
}
