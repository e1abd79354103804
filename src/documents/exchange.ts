import * as z from "zod/mini";
import {
  actor,
  count,
  credentials,
  fingerprint,
  kind,
  limits,
  maybeText,
  maybeTime,
  ofService,
  operation,
  read,
  settled,
  state,
  text,
  updated,
  vault,
} from "./parts.ts";
import { errorBody } from "./parts.ts";
import { plan } from "./many.ts";

export const got = z.object({ ...read, settled });

export const receipt = z.object({ ...updated, settled });

const oneMore = z.object({ unackedStarts: count, failedAttempts: count });

/** What --dry-run prints. */
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
  counts: z.object({
    before: oneMore,
    afterAnUnansweredStart: oneMore,
    afterARefusal: oneMore,
    limits,
  }),
  guard: text,
});

/** With many vaults, a line is an event, and --dry-run prints a plan. */
export const get = z.union([got, dryRun, plan]);
export const update = z.union([receipt, dryRun, plan]);

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
});

export const ack = z.union([acknowledgedAll, plan]);

/** Of a service whose response holds no credentials that can be read, `answer` is all that there is. */
export const create = z.union([
  z.object({
    ...vault,
    vault: ofService,
    kind,
    created: z.object({ generation: count, fingerprint }),
  }),
  z.object({ ...vault, vault: z.looseObject({ credentials }), kind }),
  z.object({ answer: z.unknown() }),
]);

const deleted = z.object({ ...vault, kind, externalRef: text });

/** What `vault delete` prints. */
export const deletion = z.object({ deleted: z.array(deleted) });

export const info = z.object({ ...vault, kind, info: ofService });

export type GetDocument = z.infer<typeof got>;
export type UpdateDocument = z.infer<typeof receipt>;
export type DryRunDocument = z.infer<typeof dryRun>;
export type Acknowledged = z.infer<typeof acknowledged>;
export type AckDocument = z.infer<typeof acknowledgedAll>;
export type CreateDocument = z.infer<typeof create>;
export type DeleteDocument = z.infer<typeof deletion>;
export type InfoDocument = z.infer<typeof info>;
