import { randomUUID } from "node:crypto";
import { defined } from "../defined.ts";
import { VaultError, type ErrorKind } from "../errors.ts";
import type { Violation } from "../protocol/validate.ts";

export interface SandboxRequest {
  method: string;
  /** Path as sent, with the query. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  body: string;
  remoteAddress: string;
}

/** A response of the service, and how the server sends it. */
export interface Outcome {
  status: number;
  headers: Record<string, string>;
  /** JSON, or the text of a page. */
  body: Record<string, unknown> | string;
  /** Milliseconds between processing and responding. */
  delayMs?: number;
  /** `drop`: close the connection; `cut`: close after half of the body; `hang`: never respond. */
  transport?: "drop" | "cut" | "hang";
  /** Called when all of it has been sent. */
  afterwards?: () => void;
}

export const success = (body: Record<string, unknown> = {}): Outcome => ({
  status: 200,
  headers: {},
  body: { responseStatus: { status: "SUCCESS" }, ...body },
});

/** Returns an error (docs/interface.md, Errors). Details never quote the request. */
export const refusal = (
  status: number,
  code: string,
  details: { property?: string; message: string; errorReasons?: string[] }[],
  { headers = {}, ...more }: { headers?: Record<string, string>; [name: string]: unknown } = {},
): Outcome => ({
  status,
  headers,
  body: {
    responseStatus: { status: "ERROR", code, detailedErrors: details },
    errorUuid: randomUUID(),
    ...more,
  },
});

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
  why: keyof typeof refusals,
  property: string | undefined,
  message: string,
): never {
  const [status, code] = refusals[why];
  const errorReasons = [code.toLowerCase().replaceAll("-", " ")];
  throw new Refusal(refusal(status, code, [{ ...defined({ property }), message, errorReasons }]));
}

/** @throws Refusal */
export function refuseInvalid(violations: readonly Violation[]): never {
  const details = violations.map(({ path, rule }) => {
    const property = path === "" ? "body" : path;
    return { property, message: `${property} ${rule}`, errorReasons: [rule] };
  });
  throw new Refusal(refusal(400, "VALIDATION", details));
}

/** Returns a 429 with `Retry-After` and `retryAfter` in seconds (docs/interface.md, Limits). */
export function rateLimited(retryAfter: number): Outcome {
  const detail = { message: "rate limit exceeded", errorReasons: ["too many requests"] };
  const headers = { "retry-after": String(retryAfter) };
  return refusal(429, "RATE-LIMIT", [detail], { headers, retryAfter });
}

/** Returns an error that does not say whether the request was processed. */
export const serverError = (status: number, more?: Parameters<typeof refusal>[3]): Outcome =>
  refusal(status, `HTTP-${status}`, [{ message: "the service could not answer" }], more);

/**
 * Does what the file system may refuse.
 * @throws an error of this kind, with the message and the system's code; what is no error of the system as it is
 */
export function trying<T>(work: () => T, message: string, kind: ErrorKind = "state"): T {
  try {
    return work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof VaultError || code === undefined) throw cause;
    throw new VaultError(kind, `${message} (${code})`, { cause });
  }
}
