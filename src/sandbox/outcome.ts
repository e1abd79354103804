import { defined } from "../defined.ts";
import type { Violation } from "../protocol/validate.ts";
import { newUuid, type Random } from "./random.ts";
import type { World } from "./state.ts";

/** A request to the handler. */
export interface SandboxRequest {
  method: string;
  /** Path as sent, with the query. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  body: string;
  remoteAddress: string;
}

/** A response of the service before it is serialized. */
export interface Outcome {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** A response, and how the server sends it. */
export interface SandboxResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Milliseconds between processing and responding. */
  delayMs?: number;
  /** `drop`: close the connection; `cut`: send half of the body, then close it; `hang`: never respond. */
  transport?: "drop" | "cut" | "hang";
  /** Called when all of it has been sent. */
  afterwards?: () => void;
}

/** Serializes an outcome. */
export function write(outcome: Outcome): SandboxResponse {
  const headers = { "content-type": "application/json; charset=utf-8", ...outcome.headers };
  return { status: outcome.status, headers, body: JSON.stringify(outcome.body) };
}

interface DetailedError {
  /** The request property at fault. */
  property?: string;
  message: string;
  errorReasons?: string[];
}

export const success = (body: Record<string, unknown> = {}): Outcome => ({
  status: 200,
  headers: {},
  body: { responseStatus: { status: "SUCCESS" }, ...body },
});

/** Returns an error with responseStatus and error uuid (docs/interface.md, Errors). Details never quote the request. */
export function refusal(
  random: Random,
  status: number,
  code: string,
  details: DetailedError[],
): Outcome {
  return {
    status,
    headers: {},
    body: {
      responseStatus: { status: "ERROR", code, detailedErrors: details },
      errorUuid: newUuid(random),
    },
  };
}

/** HTTP status and code of each refusal that names one property. Neither is documented. */
const refusals = {
  application: [401, "APPLICATION-REFUSED"],
  jwt: [401, "JWT-REFUSED"],
  address: [403, "ADDRESS-REFUSED"],
  credentials: [403, "CREDENTIALS-REFUSED"],
  token: [400, "TOKEN-REFUSED"],
  unknown: [404, "VAULT-UNKNOWN"],
  deleted: [410, "VAULT-DELETED"],
  locked: [423, "VAULT-LOCKED"],
} as const;

/** Ends the processing of a call with the outcome of its refusal. */
export class Refusal extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super("refused");
    this.outcome = outcome;
  }
}

/** @throws Refusal */
export function refuse(
  { random }: World,
  why: keyof typeof refusals,
  property: string | undefined,
  message: string,
): never {
  const [status, code] = refusals[why];
  const errorReasons = [code.toLowerCase().replaceAll("-", " ")];
  const details = [{ ...defined({ property }), message, errorReasons }];
  throw new Refusal(refusal(random, status, code, details));
}

/** @throws Refusal */
export function refuseInvalid({ random }: World, violations: readonly Violation[]): never {
  const details = violations.map(({ path, rule }) => {
    const property = path === "" ? "body" : path;
    return { property, message: `${property} ${rule}`, errorReasons: [rule] };
  });
  throw new Refusal(refusal(random, 400, "VALIDATION", details));
}

/** Returns a 429 with `Retry-After` and, next to `responseStatus`, `retryAfter` in whole seconds (docs/interface.md, Limits). */
export function rateLimited(random: Random, retryAfter: number): Outcome {
  const detail = { message: "rate limit exceeded", errorReasons: ["too many requests"] };
  const { status, body } = refusal(random, 429, "RATE-LIMIT", [detail]);
  const headers = { "retry-after": String(retryAfter) };
  return { status, headers, body: { ...body, retryAfter } };
}

/** Returns an error that does not say whether the request was processed. */
export const serverError = (random: Random, status: number): Outcome =>
  refusal(random, status, `HTTP-${status}`, [{ message: "the service could not answer" }]);
