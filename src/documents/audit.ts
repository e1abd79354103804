import * as z from "zod/mini";
import { eventKinds } from "../audit/fold/events.ts";
import { roles } from "../audit/read/item.ts";
import { verdicts } from "../audit/report/report.ts";
import { count, limits, maybeText, maybeTime, operation, text, time } from "./parts.ts";

/** An item of the log. Its texts are those of the export. */
const item = z.object({
  input: text,
  line: count,
  at: time,
  event: z.enum(eventKinds),
  action: text,
  outcome: z.optional(text),
  description: z.optional(text),
  id: z.optional(text),
  address: z.optional(text),
  externalRef: z.optional(text),
  endpoint: z.optional(text),
  application: z.optional(text),
  /** The exchange of this machine that it belongs to. */
  own: z.optional(
    z.object({
      id: text,
      operation: text,
      generation: count,
      state: text,
      startedAt: time,
      supersededAt: z.optional(time),
    }),
  ),
});

const certainty = z.enum(["certain", "likely", "unknown"]);
const state = z.enum(["active", "exchange-open", "locked", "deleted"]);
const rule = z.enum([
  "failed-attempts",
  "unacknowledged-starts",
  "expired-invalid-start",
  "auto-lock",
  "administrator",
  "unseen",
]);
const tally = z.array(z.object({ value: text, count }));

/** Credentials that were refused before a lock. */
const refused = z.object({
  replacedBy: z.optional(z.object({ start: z.optional(item), acknowledgement: item })),
  lastAccepted: z.optional(item),
  text,
});

const vault = z.object({
  uuid: text,
  label: maybeText,
  verdict: z.enum(verdicts),
  certainty,
  reason: text,
  state,
  since: z.optional(time),
  lockedAt: z.optional(time),
  cause: z.optional(
    z.object({
      rule,
      item: z.optional(item),
      chain: z.array(item),
      certainty,
      reason: text,
      text,
      refused: z.optional(refused),
    }),
  ),
  exchange: z.optional(
    z.object({
      operation,
      externalRef: maybeText,
      startedAt: time,
      tokenExpiry: time,
      expired: z.boolean(),
      item,
    }),
  ),
  unackedStarts: count,
  failedAttempts: count,
  items: count,
  firstAt: time,
  lastAt: time,
  who: z.object({ addresses: tally, externalRefs: tally, endpoints: tally, applications: tally }),
  counting: z.array(item),
  contradictions: z.array(z.object({ at: time, kind: text, text, item })),
  moreContradictions: count,
  advice: z.object({ support: text, developer: text }),
  /** With --timeline. */
  timeline: z.optional(
    z.array(
      z.object({
        item,
        unackedStarts: count,
        failedAttempts: count,
        state,
        isCause: z.boolean(),
        locks: z.boolean(),
      }),
    ),
  ),
  timelineOmitted: z.optional(count),
});

const origin = z.object({
  vaults: count,
  rule: z.optional(rule),
  externalRef: z.optional(text),
  address: z.optional(text),
  application: z.optional(text),
});

const column = z.optional(z.object({ name: text, by: z.enum(["name", "value", "--map"]) }));
const columns = z.object(
  Object.fromEntries(roles.map((role) => [role, column])) as Record<
    (typeof roles)[number],
    typeof column
  >,
);

const input = z.object({
  name: text,
  format: z.enum(["ndjson", "json", "csv", "tsv", "journal"]),
  gzip: z.boolean(),
  order: z.enum(["oldest-first", "newest-first"]),
  items: count,
  columns,
});

const summary = {
  found: z.object({ text, by: z.array(origin) }),
  /** With --where. */
  selected: z.optional(z.object({ where: z.array(text), vaults: count, of: count })),
  items: count,
  asOf: maybeTime,
  inputs: z.array(input),
  rules: z.object({
    limits,
    tokenLifetimeMs: count,
    autoLockAfterMs: count,
    release: text,
    failure: maybeText,
  }),
  /** Of the first input. */
  columns,
  vaultCount: count,
  verdicts: z.record(z.enum(verdicts), count),
};

const whatIf = z.object({
  change: text,
  vaults: z.array(z.object({ uuid: text, before: vault, after: vault })),
  unchanged: count,
  moreChanged: count,
  touched: z.optional(count),
  notes: z.array(text),
});

const difference = z.object({
  uuid: text,
  replayed: text,
  emulated: text,
  at: z.optional(time),
  line: z.optional(count),
  text,
});

const rest = {
  whatIf: z.optional(whatIf),
  reenactment: z.optional(
    z.object({
      vaults: count,
      agree: count,
      notPerformed: z.array(z.object({ uuid: text, reason: text })),
      differences: z.array(difference),
    }),
  ),
  skippedLines: count,
  skipped: z.array(z.object({ input: text, line: count, reason: text })),
  otherActions: tally,
  applicationItems: count,
  withoutVault: count,
  duplicates: count,
  reordered: count,
  late: count,
  notes: z.array(text),
};

const document = z.object({ ...summary, vaults: z.array(vault), ...rest });

/** With -o ndjson, a vault a line; the last line is an event. */
export const auditReplay = z.union([document, vault]);

export const auditSummary = z.object({ event: z.literal("summary"), ...summary, ...rest });

export type AuditVault = z.infer<typeof vault>;
/** The parts of the document before and after its vaults. */
export type AuditSummary = { [Name in keyof typeof summary]: z.infer<(typeof summary)[Name]> };
export type AuditRest = Omit<z.infer<typeof auditSummary>, keyof AuditSummary | "event">;
