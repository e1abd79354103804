import type { InputReport, ItemReference, Rules } from "../../documents/audit.ts";
import { counted } from "../../terminal/count.ts";
import { lasting } from "../../terminal/time.ts";
import type { EventKind } from "../fold/events.ts";
import type { Verdict } from "../explain/severity.ts";

// Words of reports, for people.

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
  refused: "refused, reason not known",
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

/** A verdict for people: `at risk`. */
export const verdictWords = (verdict: Verdict): string => verdict.replace("-", " ");

/** Describes the format of an input: `NDJSON, gzip, newest first`. */
export const formatOf = ({ format, gzip, order }: InputReport): string =>
  [
    format === "journal" ? "journal of this machine" : format.toUpperCase(),
    ...(gzip ? ["gzip"] : []),
    ...(order === "newest-first" ? ["newest first"] : []),
  ].join(", ");

/** Formats an ISO 8601 time as `2026-11-20 14:02:11`, in UTC, with its milliseconds if there are any; leaves other text. */
export const timeText = (at: string): string =>
  /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(at) ? at.replace("T", " ").replace(/(?:\.0+)?Z$/, "") : at;

/** Describes the rules, a sentence each. */
export const ruleSentences = ({ limits, ...rules }: Rules): string[] => [
  `locked after ${counted(limits.failedAttempts, "failed attempt")} or ${counted(limits.unackedStarts, "unacknowledged start")} in a row`,
  `assumed token lifetime ${lasting(rules.tokenLifetimeMs)}; auto-lock after ${Math.round(rules.autoLockAfterMs / 86_400_000)} days without a start`,
  `release ${rules.release}${rules.failure === null ? "" : `; failed attempts match ${rules.failure}`}`,
  ...Object.entries(rules.actions ?? {}).map(([from, to]) => `action ${from} means ${to}`),
  ...Object.entries(rules.outcomes ?? {}).map(([from, to]) => `outcome ${from} means ${to}`),
];

/** Describes this machine's exchange that an item belongs to. */
export function ownWords({ own }: Pick<ItemReference, "own">): string | undefined {
  if (own === undefined) return undefined;
  const superseded = own.supersededAt && `, superseded ${timeText(own.supersededAt)}`;
  return `exchange ${own.id} (${own.operation}, ${own.state}; generation ${own.generation}${superseded ?? ""})`;
}
