import * as z from "zod/mini";
import { device } from "../protocol/fields.ts";
import { count, credentials, kind, maybeText, operation } from "./parts.ts";
import { maybeTime, text, time, vault } from "./parts.ts";

const listed = { ...vault, label: text, kind };
const known = { ...listed, credentials, device: z.optional(z.looseObject(device.shape)) };

export const start = z.object({
  baseUrl: text,
  application: z.object({ uuid: text, apiKey: text }),
  vaults: z.array(z.object(known)),
});

export const env = z.object({ env: z.record(text, text) });

export const status = z.union([
  z.object({ running: z.literal(false) }),
  z.object({
    running: z.literal(true),
    baseUrl: text,
    application: z.object({ uuid: text }),
    readyFile: text,
    vaults: z.array(z.object(listed)),
  }),
]);

export const stop = z.object({ stopped: text });

/** The number of vaults. */
export const reset = z.object({ vaults: count });

/** A vault as the service has it. */
export const lock = z.object({
  ...vault,
  kind,
  status: z.enum(["active", "locked", "deleted"]),
  lockReason: maybeText,
  exchange: z.nullable(z.object({ operation, externalRef: maybeText, tokenExpiry: time })),
  unackedStarts: count,
  failedAttempts: count,
  usesRemaining: z.nullable(count),
  expiryDate: maybeTime,
  autoLockDate: time,
  dateCreated: time,
  lastModified: time,
});

export const fault = z.object({ armed: count });

const item = z.object({
  id: text,
  time,
  action: text,
  outcome: text,
  description: text,
  vaultUuid: maybeText,
  applicationUuid: maybeText,
  externalRef: maybeText,
  ipAddress: maybeText,
  endpoint: maybeText,
});

/** With --export, the number of items; with -o ndjson, an item a line. */
export const audit = z.union([
  z.object({ items: z.array(item) }),
  z.object({ items: count, file: text }),
  item,
]);

const scenario = z.object({
  call: z.object({ n: count, method: text, endpoint: text }),
  failure: z.enum(["lost-before", "lost-after", "killed-before", "killed-after"]),
  outcome: z.enum(["fine", "locked", "lost"]),
  /** Exit code of --check. */
  check: count,
});

export const rehearse = z.object({ scenarios: z.array(scenario), warnings: z.array(text) });

export type AuditItem = z.infer<typeof item>;
export type StartDocument = z.infer<typeof start>;
export type StatusDocument = z.infer<typeof status>;
export type StopDocument = z.infer<typeof stop>;
export type ResetDocument = z.infer<typeof reset>;
export type LockDocument = z.infer<typeof lock>;
export type FaultDocument = z.infer<typeof fault>;
export type AuditDocument = { items: AuditItem[] };
export type Scenario = z.infer<typeof scenario>;
