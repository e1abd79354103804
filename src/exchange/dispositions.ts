import type { ErrorKind } from "../errors.ts";
import type { Answer } from "../protocol/answers.ts";
import type { AnyEndpoint } from "../protocol/endpoints.ts";
import type { ErrorClass } from "../protocol/classify.ts";
import type { Reply } from "./ports.ts";
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
  /**
   * For an end call: send it again; it stays outstanding, and the token may be valid; the service refuses the token; or it says
   * nothing about the call, as if there were no answer.
   */
  end: "again" | "outstanding" | "refused" | "nothing";
}

const unknown = {
  code: "service",
  what: "the service responded with an unknown error",
  start: "unknown",
  end: "refused",
} as const satisfies Disposition;

const table: Readonly<Record<ErrorClass, Disposition>> = {
  rate: {
    code: "rate-limited",
    what: "still rate limited by the service",
    start: "not-counted",
    end: "again",
  },
  application: {
    code: "unauthorized",
    what: "the service refused the application",
    start: "not-counted",
    end: "outstanding",
  },
  validation: {
    code: "service",
    what: "the service rejected the request as invalid",
    start: "not-counted",
    end: "refused",
  },
  credentials: {
    code: "rejected",
    what: "the service refused the credentials",
    start: "failed-attempt",
    end: "refused",
  },
  locked: { code: "locked", what: "the vault is locked", start: "no-starts", end: "outstanding" },
  gone: { code: "locked", what: "the vault is gone", start: "no-starts", end: "refused" },
  missing: {
    code: "service",
    what: "the service has no such endpoint: the base URL, the prefix or the service's version is wrong",
    start: "not-counted",
    end: "nothing",
  },
  token: unknown,
  server: unknown,
  service: unknown,
};

/**
 * What an answer of this endpoint means. An extended one may not exist: there, what sounds like a vault that is gone is about the
 * endpoint.
 */
export function dispositionOf(
  answer: Answer,
  { extended }: Pick<AnyEndpoint, "extended">,
): Disposition & { is: ErrorClass } {
  const said = classify(answer);
  const is = said === "gone" && extended ? "missing" : said;
  if (is === "missing" && extended)
    return { is, ...table[is], what: "the service has no such endpoint, or no such vault" };
  return { is, ...table[is] };
}

/** A 5xx in which the service's own words refuse the credentials: it counts as a refusal, whatever else broke. */
export const refusesCredentials = (
  reply: Reply & { type: "no-answer" },
  endpoint: Pick<AnyEndpoint, "extended">,
): reply is Reply & { type: "no-answer"; answer: Answer } =>
  reply.answer !== undefined && dispositionOf(reply.answer, endpoint).is === "credentials";
