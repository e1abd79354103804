import * as z from "zod/mini";
import {
  actor,
  count,
  credentials,
  device,
  errorBody,
  fingerprint,
  kind,
  limits,
  maybeText,
  next,
  maybeTime,
  ofService,
  operation,
  read,
  settled,
  state,
  storedExchange,
  text,
  updated,
  vault,
} from "./parts.ts";

export const got = z.object({ ...read, settled });

export const receipt = z.object({ ...updated, settled });

const counters = z.object({ unackedStarts: count, failedAttempts: count });

/** What --dry-run prints of one vault. */
export const dryRun = z.object({
  dryRun: z.literal(true),
  ...vault,
  kind,
  operation,
  settlesFirst: maybeText,
  request: z.object({
    method: text,
    url: text,
    body: z.looseObject({}),
    generation: z.union([count, text]),
  }),
  counts: z.object({ before: counters, atMostAfter: counters, limits }),
});

const skipReason = z.enum(["held", "locked", "guard", "limited"]);

const seconds = z.number().check(z.nonnegative());

/** What --dry-run prints of many vaults. */
const plan = z.object({
  plan: z.object({
    vaults: count,
    calls: count,
    seconds,
    skipped: z.array(z.object({ uuid: vault.uuid, reason: skipReason })),
  }),
});

/** With `ack --token`, what this machine does not know of the exchange is null. */
const acknowledged = z.object({
  ...vault,
  operation,
  /** Nothing was pending. */
  earlier: z.optional(z.literal(true)),
  exchange: z.object({
    id: maybeText,
    operation,
    state,
    externalRef: maybeText,
    startedAt: maybeTime,
    tokenExpiry: maybeTime,
    generation: z.nullable(count),
    by: z.nullable(actor),
    acknowledgedAt: maybeTime,
  }),
});

const acknowledgedAll = z.object({
  acknowledged: z.array(acknowledged),
  failed: z.array(z.object({ ...vault, error: errorBody })),
  /** Of one vault of which nothing was pending, if its last exchange has ended otherwise. */
  last: z.optional(z.object(storedExchange)),
});

/** Without readable credentials in the service's response, `answer` is all that there is. */
const created = z.union([
  z.object({
    ...vault,
    vault: ofService,
    kind,
    created: z.object({ generation: count, fingerprint }),
  }),
  z.object({ ...vault, vault: z.looseObject({ credentials }), kind }),
  z.object({ answer: z.unknown() }),
]);

// With many vaults, a line is printed for each event.

const ofVault = { event: z.literal("outcome"), ...vault };

/** The last line about a vault. `earlier`: acknowledged by an earlier command of the same run. */
const outcome = z.union([
  z.object({ ...ofVault, ok: z.literal(true), earlier: z.optional(z.literal(true)) }),
  z.object({ ...ofVault, ok: z.literal(false), error: errorBody }),
  z.object({
    ...ofVault,
    ok: z.literal(false),
    skipped: z.union([skipReason, z.literal("stopped")]),
  }),
]);

/** `done` includes what was done earlier, `skipped` what was not begun. */
const summary = z.object({
  event: z.literal("summary"),
  run: text,
  done: count,
  earlier: count,
  failed: count,
  skipped: count,
  seconds,
  calls: count,
  next,
});

/** `settled` is there if there is something in it. */
export const manyEvent = z.union([
  /** Before a vault's end call. */
  z.object({ event: z.literal("contents"), ...read, settled: z.optional(settled) }),
  /** After the acknowledgement of an update. */
  z.object({ event: z.literal("receipt"), ...updated, settled: z.optional(settled) }),
  outcome,
  summary,
]);

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

/** What --credentials-out, --save-cmd and `vault export` write before and after acknowledgement. */
export const recovery = z.union([
  pending,
  z.object({ format: z.literal(2), ...vault, kind, credentials, device: z.optional(device) }),
]);

/** What commands print that call the service; of many vaults, event lines or (--dry-run) a plan. */
export const exchange = {
  get: z.union([got, dryRun, plan]),
  update: z.union([receipt, dryRun, plan]),
  run: dryRun,
  ack: z.union([acknowledgedAll, plan]),
  create: created,
  delete: z.object({ deleted: z.array(z.object({ ...vault, kind, externalRef: text })) }),
  info: z.object({ ...vault, kind, info: ofService }),
};

export type GetDocument = z.infer<typeof got>;
export type UpdateDocument = z.infer<typeof receipt>;
export type DryRunDocument = z.infer<typeof dryRun>;
export type Acknowledged = z.infer<typeof acknowledged>;
export type AckDocument = z.infer<typeof acknowledgedAll>;
export type ManyEvent = z.infer<typeof manyEvent>;
export type PlanDocument = z.infer<typeof plan>;
export type RecoveryFile = z.infer<typeof recovery>;
