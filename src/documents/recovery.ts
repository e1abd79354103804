import * as z from "zod/mini";
import {
  count,
  credentials,
  device,
  kind,
  maybeText,
  maybeTime,
  operation,
  text,
  vault,
} from "./parts.ts";

const pending = z.object({
  format: z.literal(2),
  ...vault,
  kind,
  /** What the document does not say is null. */
  exchange: z.object({
    id: text,
    operation,
    externalRef: maybeText,
    startedAt: maybeTime,
    tokenExpiry: maybeTime,
    generation: z.nullable(count),
  }),
  status: z.literal("pending"),
  old: credentials,
  new: credentials,
  token: text,
  device: z.optional(device),
  /** A read of a limited vault whose contents may not have been delivered. */
  unread: z.optional(z.literal(true)),
});

const acknowledged = z.object({
  format: z.literal(2),
  ...vault,
  kind,
  credentials,
  device: z.optional(device),
});

/** What --credentials-out, --save-cmd and `vault export` write of an exchange, before and after its acknowledgement. */
export const recovery = z.union([pending, acknowledged]);

export type RecoveryFile = z.infer<typeof recovery>;
