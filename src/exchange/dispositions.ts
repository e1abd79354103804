import { formatDuration } from "../duration.ts";
import type { ErrorFacts, ErrorKind, Retry, ServiceDetails } from "../errors.ts";
import { VaultError } from "../errors.ts";
import {
  findErrorUuid,
  isOtherVault,
  isSuccess,
  object,
  type Answer,
} from "../protocol/answers.ts";
import { findEndpoint, type Endpoint, type Kind, type Step } from "../protocol/endpoints.ts";
import { command, noted, type Way } from "../way.ts";
import type { StartOutcome } from "./counting.ts";
import type { Call, Reply } from "./ports.ts";
import { importOf, unlockedOf } from "./records.ts";
import { classify, errorStatus, type ErrorClass } from "../protocol/classify.ts";

/** What an answer that an extended endpoint is not there may mean. */
export const unsupported = "your service may not support this extended operation";

/** What an answer that does not accept a call means for it, by its class (`classify`). */
interface Disposition {
  code: ErrorKind;
  /** What happened; the service's own words follow. */
  what: string;
  /** What a start or a delete counts; `none` leaves our own count as it is. */
  start: StartOutcome;
  /**
   * For an end call: send it again; it stays outstanding, and the token may be valid; the service refuses the token; or it says
   * nothing about the call, as if there were no answer.
   */
  end: "again" | "outstanding" | "refused" | "nothing";
  /** What follows from it, behind the service's own words. */
  meaning?: string | undefined;
  /** What to do about it. */
  fix?: string | undefined;
  /** Commands that lead on; without them, the same one again. */
  next?: ((uuid: string) => Way[]) | undefined;
  retry?: Retry;
}

const unknown = {
  code: "service",
  what: "the service responded with an unknown error",
  start: "none",
  end: "refused",
  fix: "it may count toward lockout, so it is counted",
  next: (uuid: string) => [command`vault status ${uuid}`],
} as const satisfies Disposition;

const table: Readonly<Record<ErrorClass | "unusable", Disposition>> = {
  unusable: {
    code: "service",
    what: "the service responded SUCCESS without credentials, a token and the UUID of this vault; nothing was stored",
    start: "success",
    end: "refused",
    fix: "the stored credentials are still valid, and it counts as a start",
    next: (uuid) => [command`vault status ${uuid}`],
  },
  rate: {
    code: "rate-limited",
    what: "still rate limited by the service",
    start: "free",
    end: "again",
    meaning: "waiting longer would exceed --max-wait",
    fix: "lower --rate, or raise --max-wait",
  },
  application: {
    code: "unauthorized",
    what: "the service refused the application",
    start: "free",
    end: "outstanding",
    fix: "check --app-uuid, --api-key and --jwt, and that this address is allowed",
  },
  validation: {
    code: "service",
    what: "the service rejected the request as invalid",
    start: "free",
    end: "refused",
    fix: "fix what it names",
    retry: "after-fix",
  },
  credentials: {
    code: "rejected",
    what: "the service refused the credentials",
    start: "refused",
    end: "refused",
    meaning: "they will not be sent again",
    next: (uuid) => [importOf(uuid), command`vault status ${uuid} --history`],
  },
  locked: {
    code: "locked",
    what: "the vault is locked",
    start: "no-starts",
    end: "outstanding",
    meaning: "an administrator can unlock it in the console",
    next: (uuid) => [
      noted(command`vault audit-replay FILE`, "explains it, from an audit export"),
      unlockedOf(uuid),
    ],
  },
  gone: {
    code: "locked",
    what: "the vault is gone",
    start: "no-starts",
    end: "refused",
    fix: "check the UUID, --kind and --base-url",
    next: (uuid) => [command`vault status ${uuid}`],
  },
  missing: {
    code: "service",
    what: "the service has no such endpoint: the base URL, the prefix or the service's version is wrong",
    start: "free",
    end: "nothing",
    meaning: "nothing was counted",
    fix: "check --base-url and --api-prefix",
    next: () => [command`vault doctor`],
    retry: "after-fix",
  },
  token: unknown,
  server: unknown,
  service: unknown,
};

/** What a missing endpoint may mean as well, if it is an extended one. */
const missingExtended = {
  what: "the service has no such endpoint, or no such vault",
  fix: `check the UUID, --kind, --base-url and --api-prefix; ${unsupported}`,
};

/** What an answer to a call that counts nothing means, if it is not clear. */
const uncounted = {
  code: "service",
  what: "the service refused",
  meaning: undefined,
  fix: `${unsupported}; --debug shows the whole response`,
  next: undefined,
} as const satisfies Partial<Disposition>;

/** An answer that does not accept a call, with what it means. */
export interface Refused extends Disposition {
  type: "refused";
  answer: Answer;
  is: keyof typeof table;
}

/** What an answer is for. */
export type Called =
  | { step: Step; uuid: string; kind: Kind; operation: Endpoint["operation"] }
  | { step: Exclude<Call["step"], Step> };

/**
 * What an answer to this call means. The endpoint of an extended one may not exist: there, what sounds like a vault that is gone is
 * about the endpoint. A SUCCESS that names another vault says nothing of this one.
 */
export function dispositionOf(answer: Answer, call: Called): Refused {
  const counts = "operation" in call;
  const extended =
    !counts || findEndpoint(call.kind, call.operation, call.step)?.extended !== false;
  const said = isSuccess(answer) ? "unusable" : classify(answer);
  const is = said === "gone" && extended ? "missing" : said;
  const { start } = table[is];
  const isUnclear = start === "none" || start === "refused";
  const more: Partial<Disposition> =
    is === "missing" && extended
      ? missingExtended
      : is === "unusable" && counts && isOtherVault(answer, call.uuid)
        ? { start: "none" }
        : isUnclear && !counts
          ? uncounted
          : {};
  return { type: "refused", answer, is, ...table[is], ...more };
}

/** The error of a call that was not sent, or refused; `generation` is that of the credentials that were sent. */
export function refusal(
  outcome: Refused | (Reply & { type: "not-sent" }),
  uuid?: string,
  generation?: number,
): VaultError {
  if (outcome.type === "not-sent")
    return new VaultError("network", `no connection to the service: ${outcome.cause}`, {
      uuid,
      hint: outcome.hint ?? "nothing was sent; run it again when the service is available",
    });
  const { answer, is, code, what, meaning, fix, next, retry, start } = outcome;
  const whose =
    is === "credentials" && generation !== undefined ? ` of generation ${generation}` : "";
  const seconds = is === "rate" ? answer.retryAfter : undefined;
  const wait = seconds === undefined ? "" : ` by ${formatDuration(seconds * 1000)}`;
  const again = start === "free" && next === undefined ? ", then run it again" : "";
  const said = is === "unusable" ? "" : ` (${wording(answer)})`;
  return new VaultError(
    code,
    `${what}${whose}${said}${meaning === undefined ? "" : `; ${meaning}`}`,
    {
      uuid,
      service: serviceDetails(answer),
      retry,
      hint: fix && `${fix}${wait}${again}`,
      next: next?.(uuid ?? "VAULT"),
    },
  );
}

/** The details of an answer that an error shows: HTTP status, `responseStatus` as received, the error uuid. */
export function serviceDetails(answer: Answer): ServiceDetails {
  const { body, httpStatus } = answer;
  return { httpStatus, responseStatus: body["responseStatus"], errorUuid: findErrorUuid(body) };
}

/** The error of a call that may have arrived; `so` is what that means. */
export function unansweredError(
  { signal }: { signal: AbortSignal },
  step: string,
  reply: Reply & { type: "no-answer" },
  facts: ErrorFacts,
  so?: string,
): VaultError {
  const code = signal.aborted ? "interrupted" : "network";
  const message = `the ${step} was sent, but ${whatCame(reply)}${so === undefined ? "" : `; ${so}`}`;
  return new VaultError(code, message, {
    retry: "after-status",
    service: reply.answer && serviceDetails(reply.answer),
    ...facts,
  });
}

/** What came back in place of an answer to a call that was sent. */
function whatCame({ cause, isWhole, answer }: Reply & { type: "no-answer" }): string {
  if (answer !== undefined && object(answer.body["responseStatus"]) !== undefined)
    return `the service failed (${wording(answer)})`;
  return isWhole === true
    ? `the response is not the service's own: ${cause}`
    : `no complete response came back: ${cause}`;
}

/** The service's own words on one line, with the property it names and the error uuid. */
export function wording({ body, httpStatus }: Answer): string {
  const filled = (parts: string[], between: string): string =>
    parts.filter((part) => part !== "").join(between);
  const { code, details } = errorStatus(body);
  const sentences = details.map(({ property, message, reasons }) => {
    const said = filled([message, filled(reasons, ", ")], ": ");
    return filled([said, property && `(${property})`], " ");
  });
  const words = filled(sentences, "; ") || code || "no reason given";
  const errorUuid = findErrorUuid(body);
  return `service: "${words}", HTTP ${httpStatus}${errorUuid === undefined ? "" : `, error ${errorUuid}`}`;
}
