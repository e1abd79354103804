import * as z from "zod/mini";
import type { Contradiction } from "../audit/read/item.ts";
import { contradictions, eventKinds, roles, verdicts } from "../audit/read/item.ts";
import { count, limits, maybeText, maybeTime, next, operation, text, time } from "./exchange.ts";

// The report of a replay, in memory and printed. Optional properties are absent, never undefined.

const optional = z.exactOptional;

/** An item of the log. Its texts are those of the export, and not safe on a terminal. */
const item = z.object({
  input: text,
  line: count,
  at: time,
  event: z.enum(eventKinds),
  /** As written. */
  action: text,
  outcome: optional(text),
  description: optional(text),
  id: optional(text),
  address: optional(text),
  externalRef: optional(text),
  endpoint: optional(text),
  application: optional(text),
});

/** Certainty of a verdict or a cause, which has a reason beside it. */
const certainty = z.enum(["certain", "likely", "unknown"]);
const state = z.enum(["active", "exchange-open", "locked", "deleted"]);
const rule = z.enum([
  /** `rules.limits.failedAttempts` consecutive failed attempts. */
  "failed-attempts",
  /** `rules.limits.unackedStarts` starts without acknowledgement. */
  "unacknowledged-starts",
  /** A start with invalid credentials whose transaction expired (releases up to 1.2.22). */
  "expired-invalid-start",
  /** No successful start for `rules.autoLockAfterMs`. */
  "auto-lock",
  /** A lock in the console, which an item records. */
  "administrator",
  /** A lock that the log does not show, but calls were refused because of it. */
  "unseen",
]);

const cause = z.object({
  rule,
  /** The item that locked the vault; absent for a lock by time or one not in the log. */
  item: optional(item),
  /** The shortest sequence of items that leads to the lock, oldest first; `item` is the last. */
  chain: z.array(item),
  certainty,
  reason: text,
  /** Description in a sentence, whose values come from the items. */
  text,
  /** The acknowledgement that replaced the refused credentials. */
  replacedBy: optional(item),
});

const kind = z.enum(Object.keys(contradictions) as Contradiction[]);

/** The open exchange, by the item of its start. */
const exchange = z.object({ operation, tokenExpiry: time, expired: z.boolean(), item });

const vault = z.object({
  uuid: text,
  /** On this machine. */
  label: maybeText,
  verdict: z.enum(verdicts),
  certainty,
  reason: text,
  state,
  lockedAt: optional(time),
  cause: optional(cause),
  exchange: optional(exchange),
  unackedStarts: count,
  failedAttempts: count,
  /** Number of items, and times of the first and the last one. */
  items: count,
  firstAt: time,
  lastAt: time,
  /** Items that count toward lockout, oldest first, if the vault is not locked. */
  counting: z.array(item),
  /** The first ones. */
  contradictions: z.array(z.object({ kind, text, item })),
  /** Sentences on what else the log shows, like refused acknowledgements, or calls since a lock. */
  explanation: z.array(text),
  /** What to do, without a command; `next` has the commands. */
  advice: z.object({ steps: z.array(text), next }),
  /** The newest events, with --timeline: each may be part of the cause of the lock, or be what locked. */
  timeline: optional(z.array(z.object({ item, isCause: z.boolean(), locks: z.boolean() }))),
  timelineOmitted: optional(count),
});

/** Origin of so many locks. `rule` (`auto-lock`, `administrator`, `unseen`) if it is no client. */
const origin = z.object({
  vaults: count,
  rule: optional(rule),
  externalRef: optional(text),
  address: optional(text),
  application: optional(text),
});

/** The column of a role, and how it was recognized. A nested name has dots (`vault.uuid`). */
const column = z.object({
  name: text,
  by: z.enum(["name", "value", "--map"]),
  /** Of an outcome: its "true" is a failure, as in `failed` or `rejected`. */
  inverted: optional(z.literal(true)),
  /** Of a time: the column with the time of day, which follows that of the date. */
  and: optional(text),
});
const columns = z.partialRecord(z.enum(roles), column);

const input = z.object({
  name: text,
  format: z.enum(["ndjson", "json", "csv", "tsv", "journal"]),
  order: z.enum(["oldest-first", "newest-first"]),
  items: count,
  columns,
  /** Line at which the input is cut off or becomes unreadable: items after it are missing. */
  cutAt: optional(count),
});

/** Rules for verdicts (docs/interface.md, Lockout). Options override each of them. */
const rules = z.object({
  /** Consecutive unacknowledged starts, and consecutive failed attempts, that lock a vault. */
  limits,
  /** An assumption, because it is not documented. */
  tokenLifetimeMs: count,
  /** Time without a successful start; generic vaults have no such limit. */
  autoLockAfterMs: count,
  /** The service's release, X.Y.Z (docs/interface.md, Releases). */
  release: text,
  /** Regular expression for failed attempts with unusual wording. */
  failure: maybeText,
  /** What actions with names of their own mean, by --action. */
  actions: optional(z.record(text, text)),
  /** What outcomes in words of their own mean, by --outcome. */
  outcomes: optional(z.record(text, z.enum(["success", "failure"]))),
});

/** Differences that other limits would make; `moreChanged` vaults differ and are not listed. */
const whatIf = z.object({
  change: text,
  vaults: z.array(z.object({ uuid: text, before: vault, after: vault })),
  unchanged: count,
  moreChanged: count,
});

const summary = {
  /** The answer, and the origins of the locks or, without any, of the risks; most vaults first. */
  found: z.object({ text, by: z.array(origin) }),
  /** What may make the rest wrong (columns guessed, zones assumed), each with its deciding flag. */
  warnings: z.array(text),
  items: count,
  /** Time of the verdicts: --until, else that of the last item. */
  asOf: maybeTime,
  inputs: z.array(input),
  rules,
  /** Columns of the first input; `inputs` has all. */
  columns,
  vaultCount: count,
  verdicts: z.record(z.enum(verdicts), count),
  whatIf: optional(whatIf),
  /** Lines that are not items: their number, and the first ones. */
  skippedLines: count,
  skipped: z.array(z.object({ input: text, line: count, reason: text })),
  /** Number of items about the application, and of items that name no vault. */
  applicationItems: count,
  withoutVault: count,
  duplicates: count,
};

/** With -o ndjson, a vault a line; the last line is an event. */
export const auditReplay = z.union([z.object({ ...summary, vaults: z.array(vault) }), vault]);

export const auditSummary = z.object({ event: z.literal("summary"), ...summary });

export type ItemReference = z.infer<typeof item>;
export type LockRule = z.infer<typeof rule>;
export type Cause = z.infer<typeof cause>;
export type VaultReport = z.infer<typeof vault>;
export type Origin = z.infer<typeof origin>;
export type Column = z.infer<typeof column>;
export type Columns = z.infer<typeof columns>;
export type InputReport = z.infer<typeof input>;
export type Rules = z.infer<typeof rules>;
export type WhatIfReport = z.infer<typeof whatIf>;
export type ReplaySummary = Omit<z.infer<typeof auditSummary>, "event">;
