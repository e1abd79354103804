import type {
  Certainty,
  Contradiction,
  InputReport,
  ItemReference,
  LockRule,
  Rules,
  VaultReport,
  VaultState,
} from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import type { EventKind } from "../fold/events.ts";
import type { Verdict } from "../report/severity.ts";

// Words for reports, on the terminal and in HTML.

export const eventWords: Record<EventKind, string> = {
  create: "created",
  read: "read started",
  update: "update started",
  "ack-read": "read acknowledged",
  "ack-update": "update acknowledged",
  delete: "deleted",
  "failed-read": "read refused: credentials",
  "failed-update": "update refused: credentials",
  "failed-delete": "delete refused: credentials",
  "failed-attempt": "access refused: credentials",
  "failed-device": "refused: device",
  "failed-pin": "refused: PIN",
  refused: "refused, reason not given",
  "locking-failure": "refused: credentials",
  "locking-start": "start refused: limit reached",
  "refused-locked": "call refused: locked",
  gone: "refused: no such vault",
  "failed-ack": "acknowledgement refused",
  lock: "locked by administrator",
  unlock: "unlocked by administrator",
  "lock-noted": "locked, as recorded",
  "not-performed": "not performed",
  unauthorized: "refused with status 401",
  application: "about the application",
  "unanswered-start": "start: no response",
  "unanswered-ack": "acknowledgement: no response",
  "unclear-start": "start: outcome unclear",
  "unclear-ack": "acknowledgement: unclear",
  other: "unknown action",
};

export const verdictWords: Record<Verdict, string> = {
  locked: "locked",
  "at-risk": "at risk",
  "open-exchange": "open exchange",
  unknown: "unknown",
  deleted: "deleted",
  ok: "ok",
};

export const ruleWords: Record<LockRule, string> = {
  "failed-attempts": "failed attempts",
  "unacknowledged-starts": "unacknowledged starts",
  "expired-invalid-start": "expired invalid start",
  "auto-lock": "auto-lock",
  administrator: "administrator",
  unseen: "cause not in the log",
};

export const stateWords: Record<VaultState, string> = {
  active: "active",
  "exchange-open": "exchange open",
  locked: "locked",
  deleted: "deleted",
};

export const contradictionWords: Record<Contradiction["kind"], string> = {
  "acknowledgement-without-start": "acknowledgement without a start",
  "acknowledgement-after-expiry": "acknowledgement after the token expired",
  "acknowledgement-of-other-operation": "acknowledgement of the other operation",
  "activity-after-deletion": "activity after deletion",
  "activity-while-locked": "activity while locked",
  "activity-before-creation": "activity before creation",
  "created-twice": "created twice",
  "refused-while-open": "refused as locked while open",
  "locked-at-another-moment": "locked at another moment",
};

const formats: Record<InputReport["format"], string> = {
  ndjson: "NDJSON",
  json: "JSON array",
  csv: "CSV",
  tsv: "TSV",
  journal: "journal of this machine",
};

/** Describes the format of an input: `NDJSON, gzip, newest first`. */
export function formatOf({ format, gzip, order }: InputReport): string {
  return [
    formats[format],
    ...(gzip ? ["gzip"] : []),
    ...(order === "newest-first" ? ["newest first"] : []),
  ].join(", ");
}

const units = [
  { name: "d", ms: 86_400_000, from: 2 },
  { name: "h", ms: 3_600_000, from: 2 },
  { name: "min", ms: 60_000, from: 2 },
  { name: "s", ms: 1000, from: 1 },
] as const;

/** Formats a duration, rounded down, in the largest suitable unit: `340 ms`, `2 s`, `5 min`, `3 h`, `12 d`. */
export function span(milliseconds: number): string {
  const unit = units.find(({ ms, from }) => milliseconds >= ms * from);
  return unit === undefined
    ? `${Math.max(0, Math.round(milliseconds))} ms`
    : `${grouped(Math.floor(milliseconds / unit.ms))} ${unit.name}`;
}

/** Matches times in texts of a report, which are in UTC. */
export const moment = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/g;

/** Whether a text is a valid time in ISO 8601. Date.parse alone accepts almost anything. */
export const isMoment = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.test(text) &&
  !Number.isNaN(Date.parse(text));

/** Describes the rules, with a line for each. */
export function ruleLines(rules: Rules): string[] {
  const failed = counted(rules.limits.failedAttempts, "failed attempt", "failed attempts in a row");
  const starts = counted(
    rules.limits.unackedStarts,
    "unacknowledged start",
    "unacknowledged starts in a row",
  );
  return [
    `locked after ${failed}, or ${starts}`,
    `assumed token lifetime ${span(rules.tokenLifetimeMs)}; auto-lock after ${counted(Math.round(rules.autoLockAfterMs / 86_400_000), "day")} without a start`,
    `release ${rules.release}${rules.failure === null ? "" : `; failed attempts match ${rules.failure}`}`,
    ...Object.entries(rules.actions ?? {}).map(([from, to]) => `action ${from} means ${to}`),
  ];
}

/** Describes this machine's exchange that an item belongs to. */
export function ownWords({ own }: Pick<ItemReference, "own">): string | undefined {
  if (own === undefined) return undefined;
  const superseded = own.supersededAt === undefined ? "" : `, superseded ${own.supersededAt}`;
  return `this machine's exchange ${own.id} (${own.operation}, ${own.state}; generation ${own.generation}${superseded})`;
}

/** Formats both counters with their limits: `2 of 5`. */
export function counters(
  { unackedStarts, failedAttempts }: Pick<VaultReport, "unackedStarts" | "failedAttempts">,
  rules: Rules,
) {
  return {
    starts: `${unackedStarts} of ${rules.limits.unackedStarts}`,
    failed: `${failedAttempts} of ${rules.limits.failedAttempts}`,
  };
}

/** A command about a vault, as advice names it. */
export const advisedCommand = /\bvault [a-z]+ [0-9a-f-]{36}(?: --[a-z]+(?: \d+)?)*/g;

/**
 * Part of a line. A string is the program's own; everything else may hold what somebody wrote into an item: the writer makes it safe, and
 * gives times its own form.
 */
type Part =
  | string
  | { value: string }
  /** Text of a report, with values from items and times in ISO 8601 in it. */
  | { sentence: string }
  /** ISO 8601, UTC. */
  | { time: string }
  | { place: Pick<ItemReference, "input" | "line"> }
  | { verdict: Verdict }
  | { certainty: Certainty };

export type Line = readonly Part[];

/** A list of which a writer shows only the first entries. */
export interface Few<T> {
  shown: readonly T[];
  /** Number of the others. */
  more: number;
}

const longest = 8;

/** Keeps the first three entries and the last ones; `gap` stands for the others. */
export function shortened<T>(all: readonly T[], gap: (left: number) => T): readonly T[] {
  const left = all.length - longest + 1;
  return left <= 1 ? all : [...all.slice(0, 3), gap(left), ...all.slice(3 + left)];
}

/** Takes the first entries of `all`, of which `unlisted` more were not kept. */
export const few = <T>(all: readonly T[], most: number, unlisted = 0): Few<T> => ({
  shown: all.slice(0, most),
  more: Math.max(0, all.length - most) + unlisted,
});
