import { formatDuration } from "../duration.ts";
import { VaultError, type ErrorFacts, type ErrorKind, type Retry } from "../errors.ts";
import {
  findErrorUuid,
  isOtherVault,
  isSuccess,
  object,
  type Answer,
} from "../protocol/answers.ts";
import { findEndpoint } from "../protocol/endpoints.ts";
import { command, noted, type Way } from "../way.ts";
import type { StartOutcome } from "./counting.ts";
import type { Call, Reply } from "./ports.ts";
import { importOf, unlockedOf } from "./records.ts";
import { classify, errorStatus, type ErrorClass } from "../protocol/classify.ts";

/** What a reply that does not accept its call means for it, by its class (`classify`) or its type. */
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

const table: Readonly<
  Record<ErrorClass | "unusable" | Exclude<Reply["type"], "answer">, Disposition>
> = {
  "not-sent": {
    code: "network",
    what: "no connection to the service",
    start: "free",
    end: "nothing",
    fix: "nothing was sent; run it again when the service is available",
  },
  "no-answer": { code: "network", what: "no answer", start: "none", end: "nothing" },
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
    fix: "its reads may be used up; else check the UUID, --kind and --base-url",
    next: (uuid) => [command`vault status ${uuid}`],
  },
  missing: {
    code: "service",
    what: "the service has no such endpoint, or no such vault: the base URL, the prefix or the service's version may be wrong",
    start: "free",
    end: "nothing",
    meaning: "nothing was counted",
    fix: "check the UUID, --kind, --base-url and --api-prefix; your service may not support extended operations",
    next: () => [command`vault doctor`],
    retry: "after-fix",
  },
  token: unknown,
  server: unknown,
  service: unknown,
};

/** What an answer to a call that counts nothing means, if it is not clear. */
const uncounted = {
  code: "service",
  what: "the service refused",
  meaning: undefined,
  fix: "your service may not support this extended operation; --debug shows the whole response",
  next: undefined,
} as const satisfies Partial<Disposition>;

/** What a reply that does not accept its call means for it. */
export interface Meaning extends Disposition {
  is: keyof typeof table;
  answer: Answer | undefined;
  /** What came back, in short. */
  cause: string;
}

/** What a reply that does not accept this call means. */
export function meaningOf(reply: Reply, call: Call): Meaning {
  if (reply.type === "answer") return meaningOfAnswer(reply.answer, call);
  const { type: is, answer, cause, hint } = reply;
  const said = answer && call.step === "start" ? meaningOfAnswer(answer, call) : undefined;
  // A 5xx in which the service's own words refuse the credentials counts as a refusal, whatever else broke.
  if (said?.is === "credentials") return said;
  return { ...table[is], ...(hint && { fix: hint }), is, answer, cause };
}

/**
 * The endpoint of an extended call may not exist: there, what sounds like a vault that is gone is about the endpoint. A SUCCESS that
 * names another vault says nothing of this one.
 */
function meaningOfAnswer(answer: Answer, call: Call): Meaning {
  const counts = "operation" in call;
  const extended =
    !counts || findEndpoint(call.kind, call.operation, call.step)?.extended !== false;
  const said = isSuccess(answer) ? "unusable" : classify(answer);
  const is = said === "gone" && extended ? "missing" : said;
  const { start, end, what } = table[is];
  const isUnclear = start === "none" || start === "refused";
  const more: Partial<Disposition> =
    is === "unusable" && counts && isOtherVault(answer, call.uuid)
      ? { start: "none" }
      : isUnclear && !counts
        ? uncounted
        : {};
  // With neither SUCCESS nor ERROR it settles nothing: a proxy may have written it after the service had processed the call.
  const status = object(answer.body["responseStatus"])?.["status"];
  const isNone =
    status !== "ERROR" && status !== "SUCCESS" && (end === "nothing" || end === "refused");
  const words =
    isNone && call.step === "end"
      ? `HTTP ${answer.httpStatus} with neither SUCCESS nor ERROR`
      : wording(answer);
  const cause = is === "unusable" ? what : words;
  return { ...table[is], ...more, end: isNone ? "nothing" : end, is, answer, cause };
}

/** The error of a call that was not sent, or refused; `generation` is that of the credentials that were sent. */
export function refusal(meaning: Meaning, uuid?: string, generation?: number): VaultError {
  const { answer, is, code, fix, next, retry, start } = meaning;
  const whose =
    is === "credentials" && generation !== undefined ? ` of generation ${generation}` : "";
  const seconds = is === "rate" ? answer?.retryAfter : undefined;
  const wait = seconds === undefined ? "" : ` by ${formatDuration(seconds * 1000)}`;
  const again = answer && start === "free" && next === undefined ? ", then run it again" : "";
  return new VaultError(code, sentence(meaning, whose), {
    uuid,
    service: answer && serviceDetails(answer),
    retry,
    hint: fix && `${fix}${wait}${again}`,
    next: next?.(uuid ?? "VAULT"),
  });
}

/** What happened, in the service's own words too, and what follows from it. */
export function sentence({ is, what, cause, meaning }: Meaning, whose = ""): string {
  const said = is === "unusable" ? "" : is === "not-sent" ? `: ${cause}` : ` (${cause})`;
  return `${what}${whose}${said}${meaning === undefined ? "" : `; ${meaning}`}`;
}

/** The details of an answer that an error shows: HTTP status, `responseStatus` as received, the error uuid. */
export function serviceDetails(answer: Answer): NonNullable<ErrorFacts["service"]> {
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
