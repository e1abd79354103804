import type { ErrorKind } from "../errors.ts";
import type { Answer } from "../protocol/answers.ts";
import type { ErrorClass } from "../protocol/classify.ts";
import { classify } from "../protocol/classify.ts";

/** What an ERROR answer means for what it answers: the one table, since the specification gives no codes (section 7). */
interface Disposition {
  code: ErrorKind;
  /** What happened; the service's own words follow. */
  what: string;
  /**
   * For a start or a delete: nothing was counted; a failed attempt was; the vault takes no start, whatever its credentials; or
   * nothing is known, so that what was counted stays.
   */
  start: "not-counted" | "failed-attempt" | "no-starts" | "unknown";
  /** For an end call: it is sent again; it is outstanding, whatever its token; the service does not take its token. */
  end: "again" | "outstanding" | "refused";
}

const unknown = {
  code: "service",
  what: "the service answered with an error that is not known",
  start: "unknown",
  end: "refused",
} as const satisfies Disposition;

const table: Readonly<Record<ErrorClass, Disposition>> = {
  rate: { code: "rate-limited", what: "still rate limited by the service", start: "not-counted", end: "again" },
  application: { code: "unauthorised", what: "the service refused the application", start: "not-counted", end: "outstanding" },
  validation: { code: "service", what: "the service found the request not valid", start: "not-counted", end: "refused" },
  credentials: { code: "rejected", what: "the service refused the credentials", start: "failed-attempt", end: "refused" },
  locked: { code: "locked", what: "the vault is locked", start: "no-starts", end: "outstanding" },
  gone: { code: "locked", what: "the vault is gone", start: "no-starts", end: "refused" },
  token: unknown,
  server: unknown,
  service: unknown,
};

export function dispositionOf(answer: Answer): Disposition & { is: ErrorClass } {
  const is = classify(answer);
  return { is, ...table[is] };
}
