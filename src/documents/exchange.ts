import * as z from "zod/mini";
import { exchangeStates } from "../exchange/states.ts";
import { kinds, operations } from "../protocol/endpoints.ts";
import { errorKinds, retries, type ErrorKind } from "../error-kinds.ts";

// What several documents have in common: one name for one thing.

export const count = z.int().check(z.nonnegative());
export const text = z.string();
export const maybeText = z.nullable(text);

/** ISO 8601 in UTC. */
export const time = z.string().check(z.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/));
export const maybeTime = z.nullable(time);

/** SHA-256 over the parts of the credentials: names them without revealing them. */
export const fingerprint = z.string().check(z.regex(/^sha256:[0-9a-f]{64}$/));

/** Stands at the top of whatever is about one vault. */
export const vault = { uuid: z.string().check(z.length(36)), label: maybeText };
export const kind = z.enum(kinds);

export const limits = z.object({ unackedStarts: count, failedAttempts: count });

/** Attempts counted toward lockout, with what locks the vault. */
export const counters = {
  unackedStarts: count,
  unansweredStarts: count,
  failedAttempts: count,
  possiblyFailed: count,
  limits,
};

/** Next commands, best and harmless first; `fill` lists the words that a person replaces. */
export const next = z.array(
  z.object({ argv: z.array(text), note: z.optional(text), fill: z.optional(z.array(text)) }),
);

export const operation = z.enum(operations);
const state = z.enum(exchangeStates);

/** Who does something: a process of a user on a machine. `role`: of the database, in a shared state. */
export const actor = z.object({ host: text, user: text, role: z.optional(text), pid: count });

const begunExchange = {
  id: text,
  operation,
  externalRef: text,
  startedAt: time,
  by: z.nullable(actor),
};

/** An exchange that is being delivered: its state is not known yet. `generation` is that of the new credentials. */
const startedExchange = { ...begunExchange, tokenExpiry: maybeTime, generation: count };

/** An exchange of the state; without new credentials it has no generation. */
export const storedExchange = {
  ...startedExchange,
  operation: z.enum([...operations, "delete"]),
  state,
  generation: z.nullable(count),
};

/**
 * Exchanges that an earlier run had left, and what became of them: `acknowledged` for a read, `applied` for an update, `not-applied` if
 * the old pair stays current.
 */
const settled = z.readonly(
  z.array(
    z.object({
      exchange: z.object(begunExchange),
      operation,
      outcome: z.enum(["applied", "not-applied", "acknowledged", "in-doubt"]),
    }),
  ),
);

export const credentials = z.object({
  encryptedData: text,
  payload: text,
  hashedPin: z.optional(text),
});

/** The service's own object, unchanged. */
const ofService = z.looseObject({});

export const device = z.looseObject({});

const read = { ...vault, vault: ofService, kind, exchange: z.object(startedExchange) };
const updated = {
  ...read,
  exchange: z.object({ ...startedExchange, state, acknowledgedAt: maybeTime }),
};

const codes = Object.keys(errorKinds) as ErrorKind[];

export const errorBody = z.object({
  code: z.enum(codes),
  message: text,
  /** What helps beside a command, one sentence. */
  hint: z.optional(text),
  next,
  exitCode: count,
  retry: z.enum(retries),
  /** The vault that the error is about. Its label is added where errors are shown. */
  uuid: z.optional(vault.uuid),
  label: z.optional(vault.label),
  /** The exchange that a failed command leaves open. */
  exchange: z.optional(z.object(storedExchange)),
  /** Attempts counted toward lockout once a command has sent something, and their limits. */
  spent: z.optional(z.object({ unackedStarts: count, failedAttempts: count, limits })),
  /** Who is using the vault, or made its last start. */
  by: z.optional(actor),
  since: z.optional(time),
  /** What an earlier run had left and this one settled, before it failed. */
  settled: z.optional(settled),
  /** What the service answered; `responseStatus` is as it was received. */
  service: z.optional(
    z.object({
      httpStatus: count,
      responseStatus: z.optional(z.unknown()),
      errorUuid: z.optional(text),
    }),
  ),
});

/** The last line of stderr if a command fails. */
export const error = z.object({ error: errorBody });

export const got = z.object({ ...read, settled });

export const receipt = z.object({ ...updated, settled });

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
  counts: z.object({ before: limits, atMostAfter: limits, limits }),
});

/** Why nothing is sent for a vault. */
const skipReason = z.enum(["held", "locked", "guard", "limited"]);

const seconds = z.number().check(z.nonnegative());

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
    ...storedExchange,
    id: maybeText,
    operation,
    externalRef: maybeText,
    startedAt: maybeTime,
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

export type Actor = z.infer<typeof actor>;
export type SkipReason = z.infer<typeof skipReason>;
export type ErrorBody = z.infer<typeof errorBody>;
export type GetDocument = z.infer<typeof got>;
export type UpdateDocument = z.infer<typeof receipt>;
export type DryRunDocument = z.infer<typeof dryRun>;
export type Acknowledged = z.infer<typeof acknowledged>;
export type AckDocument = z.infer<typeof acknowledgedAll>;
export type ManyEvent = z.infer<typeof manyEvent>;
export type PlanDocument = z.infer<typeof plan>;
export type RecoveryFile = z.infer<typeof recovery>;
