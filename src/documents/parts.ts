import * as z from "zod/mini";
import { exchangeStates } from "../exchange/states.ts";
import { kinds, operations } from "../protocol/endpoints.ts";
import { errorKinds, type ErrorKind } from "../errors.ts";

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
export const state = z.enum(exchangeStates);

export const actor = z.object({ host: text, user: text, role: z.optional(text), pid: count });

/** An exchange that is being delivered: its state is not known yet. */
const startedExchange = {
  id: text,
  operation,
  externalRef: text,
  startedAt: time,
  tokenExpiry: maybeTime,
  /** Of the new credentials. */
  generation: count,
  by: z.nullable(actor),
};

/** An exchange of the state; without new credentials it has no generation. */
export const storedExchange = {
  ...startedExchange,
  operation: z.enum([...operations, "delete"]),
  state,
  generation: z.nullable(count),
};

/** Exchanges that an earlier run had left, and what became of them. */
export const settled = z.readonly(
  z.array(
    z.object({
      exchange: z.object({
        id: text,
        operation,
        externalRef: text,
        startedAt: time,
        by: z.nullable(actor),
      }),
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
export const ofService = z.looseObject({});

export const device = z.looseObject({});

export const read = { ...vault, vault: ofService, kind, exchange: z.object(startedExchange) };
export const updated = {
  ...read,
  exchange: z.object({ ...startedExchange, state, acknowledgedAt: maybeTime }),
};

const codes = Object.keys(errorKinds) as ErrorKind[];

export const errorBody = z.object({
  code: z.enum(codes),
  message: text,
  hint: z.optional(text),
  next,
  exitCode: count,
  retry: z.enum(["safe", "after-fix", "after-status", "never"]),
  uuid: z.optional(vault.uuid),
  label: z.optional(vault.label),
  exchange: z.optional(z.object(storedExchange)),
  spent: z.optional(z.object({ unackedStarts: count, failedAttempts: count, limits })),
  /** Who is using the vault, or made its last start. */
  by: z.optional(actor),
  since: z.optional(time),
  settled: z.optional(settled),
  /** `responseStatus` is as it was received. */
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
