import type { ErrorKind } from "../errors.ts";
import type { Answer } from "../protocol/answers.ts";
import type { ErrorClass } from "../protocol/classify.ts";
import { classify } from "../protocol/classify.ts";

/** What an ERROR answer means for the call it answers. The specification gives no codes (section 7), so this table does. */
interface Disposition {
  code: ErrorKind;
  /** What happened; the service's own words follow. */
  what: string;
  /**
   * For a start or a delete: the service counted nothing; it counted a failed attempt; the vault accepts no start at all; or
   * unknown, so that our own count stays.
   */
  start: "not-counted" | "failed-attempt" | "no-starts" | "unknown";
  /** For an end call: send it again; it stays outstanding, and the token may be valid; the service refuses the token. */
  end: "again" | "outstanding" | "refused";
}

const unknown = {
  code: "service",
  what: "the service responded with an unknown error",
  start: "unknown",
  end: "refused",
} as const satisfies Disposition;

const table: Readonly<Record<ErrorClass, Disposition>> = {
  rate: { code: "rate-limited", what: "still rate limited by the service", start: "not-counted", end: "again" },
  application: { code: "unauthorized", what: "the service refused the application", start: "not-counted", end: "outstanding" },
  validation: { code: "service", what: "the service rejected the request as invalid", start: "not-counted", end: "refused" },
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
