import { VaultError } from "../errors.ts";
import { parseDuration } from "../duration.ts";
import type { AnyEndpoint, Step } from "../protocol/endpoints.ts";
import { operations, singleOperations } from "../protocol/endpoints.ts";
import { isUuid } from "../protocol/limits.ts";
import { rateLimited, serverError, write, type Outcome, type SandboxResponse } from "./outcome.ts";
import type { Random } from "./random.ts";

/** Requests that a fault applies to; an absent property matches all. */
interface FaultMatch {
  operation?: AnyEndpoint["operation"];
  step?: Step;
  uuid?: string;
}

/** Faults without parameters. */
export const plainActions = [
  /** Closes the connection without processing the request. */
  "drop-before",
  /** Processes the request, and closes the connection without a response. */
  "drop-after",
  /** Processes the request, sends half of the response, and closes the connection. */
  "cut",
  /** Processes the request and never responds. */
  "hang",
  /** Processes the request, and responds with HTTP 200 and HTML. */
  "garbage",
  /** Processes the request; the response to a start has the correct credentials and token, and other fields of wrong types. */
  "wrong-types",
  /** Processes the request; the response to a start has status SUCCESS but no credentials. */
  "no-credentials",
] as const;

type FaultAction =
  | (typeof plainActions)[number]
  /** Processes the request at once, and responds later. */
  | { delayMs: number }
  /** Responds with an error of this HTTP status without processing the request. */
  | { status: number; retryAfter?: number }
  /** Processes the request, and responds with an error of this HTTP status. */
  | { errorAfter: number };

export interface FaultRule {
  match: FaultMatch;
  action: FaultAction;
  /** Number of matching requests to let through first. */
  skip: number;
  /** Number of times to fire after that. */
  times: number;
}

type Fallible = Pick<AnyEndpoint, "operation" | "step"> & { uuid: string };

/** The rules that are set. The first one that matches and is due fires; later rules do not see the request. */
export class Faults {
  #armed: FaultRule[] = [];

  add(rules: readonly FaultRule[]): void {
    this.#armed.push(...rules.map((rule) => ({ ...rule })));
  }

  clear(): void {
    this.#armed = [];
  }

  /** Number of rules that can still fire. */
  get armed(): number {
    return this.#armed.length;
  }

  /** Returns the fault for a request, if any, and counts it as fired. */
  take(request: Fallible): FaultAction | undefined {
    const matching = this.#armed.filter(({ match }) => matches(match, request));
    const due = matching.findIndex(({ skip }) => skip === 0);
    for (const passed of due === -1 ? matching : matching.slice(0, due)) passed.skip -= 1;
    const fired = matching[due];
    if (fired === undefined) return undefined;
    fired.times -= 1;
    if (fired.times === 0) this.#armed = this.#armed.filter((other) => other !== fired);
    return fired.action;
  }
}

const matches = ({ operation, step, uuid }: FaultMatch, request: Fallible): boolean =>
  (operation ?? request.operation) === request.operation &&
  (step ?? request.step) === request.step &&
  (uuid ?? request.uuid).toLowerCase() === request.uuid.toLowerCase();

/** `any`, `get`, `start`, `get-start` and the like. */
const targets = new Map<string, FaultMatch>([
  ["any", {}],
  ...[...operations, ...singleOperations].map((operation) => [operation, { operation }] as const),
  ...(["start", "end"] as const).flatMap((step) => [
    [step, { step }] as const,
    ...operations.map((operation) => [`${operation}-${step}`, { operation, step }] as const),
  ]),
]);

/**
 * Parses one fault:
 *
 *     FAULT  = TARGET ":" ACTION ["@" SKIP] ["*" TIMES]
 *     TARGET = ("any" | "get" | "update" | "start" | "end" | "get-start" | "get-end" | "update-start" | "update-end"
 *            | "info" | "create" | "delete") ["/" UUID]
 *     ACTION = "drop-before" | "drop-after" | "cut" | "hang" | "garbage" | "wrong-types" | "no-credentials"
 *            | "delay=" DURATION | "status=" HTTP [",retry-after=" SECONDS] | "error-after=" HTTP
 *     SKIP   = number of matching requests to let through first (0)
 *     TIMES  = number of times to fire (1), or "all"
 *
 * `get-start:drop-after` · `end:delay=2s*3` · `get-end:status=503*2` · `any:status=429,retry-after=2` · `start:garbage@1`
 * @throws `invalid-input` naming the part that is wrong
 */
export function parseFault(text: string): FaultRule {
  const fail: Fail = (rule) => {
    throw new VaultError("invalid-input", `fault ${JSON.stringify(text)}: ${rule}`, {
      hint: "for example get-start:drop-after, end:delay=2s*3, get-end:status=503*2, start:garbage@1",
    });
  };
  const parts = /^([^:]+):([^@*]+)(?:@([^*]*))?(?:\*(.*))?$/s.exec(text);
  if (parts === null) return fail("must be TARGET:ACTION, optionally followed by @SKIP and *TIMES");
  const [, target = "", action = "", skip = "0", times = "1"] = parts;
  const [name = "", ...uuid] = target.split("/");
  const match =
    targets.get(name) ?? fail(`the target must be one of ${[...targets.keys()].join(", ")}`);
  if (uuid.length > 0 && !isUuid(uuid.join("/")))
    fail("/ must be followed by a vault UUID of 36 characters");
  const rule: FaultRule = {
    match: uuid[0] === undefined ? match : { ...match, uuid: uuid[0] },
    action: parseAction(action, fail),
    skip:
      number(skip) ??
      fail(`@${skip}: the number of requests to skip must be a whole number, such as @1`),
    times:
      (times === "all" ? Number.POSITIVE_INFINITY : number(times)) ??
      fail(`*${times}: the number of times must be a whole number or all, such as *2`),
  };
  return rule.times === 0 ? fail("*0: the number of times must be at least 1") : rule;
}

type Fail = (rule: string) => never;

function parseAction(action: string, fail: Fail): FaultAction {
  const plain = plainActions.find((known) => known === action);
  if (plain !== undefined) return plain;
  const [, name, value = ""] = /^(delay|status|error-after)=(.*)$/s.exec(action) ?? [];
  if (name === undefined)
    return fail(
      `the action must be one of ${plainActions.join(", ")}, delay=2s, status=503, error-after=502`,
    );
  if (name === "delay") {
    const delayMs = parseDuration(value, `fault ${action}`);
    return delayMs <= longestTimer ? { delayMs } : fail("the delay must be less than 24 days");
  }
  const [, http = "", seconds] = /^([^,]*)(?:,retry-after=(.*))?$/s.exec(value) ?? [];
  if (!/^[45]\d\d$/.test(http) || (name === "error-after" && seconds !== undefined))
    return fail(`${name} must be an HTTP status of 400 to 599, such as 503`);
  if (name === "error-after") return { errorAfter: Number(http) };
  if (seconds === undefined) return { status: Number(http) };
  const retryAfter = number(seconds) ?? fail("retry-after must be whole seconds, such as 2");
  return { status: Number(http), retryAfter };
}

/** What a timer of Node takes, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

const number = (text: string): number | undefined =>
  /^\d{1,9}$/.test(text) ? Number(text) : undefined;

/** Returns the response that a fault sends instead of processing the request; undefined if the request is processed. */
export function before(
  fault: FaultAction | undefined,
  random: Random,
): SandboxResponse | undefined {
  if (fault === "drop-before") return { status: 0, headers: {}, body: "", transport: "drop" };
  if (typeof fault !== "object" || !("status" in fault)) return undefined;
  if (fault.status === 429) return write(rateLimited(random, fault.retryAfter ?? 1));
  const headers: Record<string, string> =
    fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
  return write({ ...serverError(random, fault.status), headers });
}

/** Returns the response to a processed request, as a fault changes it. */
export function after(
  fault: FaultAction | undefined,
  outcome: Outcome,
  random: Random,
): SandboxResponse {
  const answer = write(outcome);
  if (fault === "drop-after") return { ...answer, transport: "drop" };
  if (fault === "cut" || fault === "hang") return { ...answer, transport: fault };
  if (fault === "garbage") {
    const body = "<html><body>It works!</body></html>\n";
    return { status: 200, headers: { "content-type": "text/html" }, body };
  }
  if (fault === "wrong-types") return write(withWrongTypes(outcome));
  if (fault === "no-credentials") return write(withoutCredentials(outcome));
  if (typeof fault !== "object") return answer;
  if ("delayMs" in fault) return { ...answer, delayMs: fault.delayMs };
  return "errorAfter" in fault ? write(serverError(random, fault.errorAfter)) : answer;
}

type Json = Record<string, unknown>;

/** Changes the types of all fields except those that an exchange needs: credentials, token, uuid and status. */
function withWrongTypes(outcome: Outcome): Outcome {
  const { responseStatus, transactionToken, vault } = outcome.body as Record<string, Json>;
  if (transactionToken === undefined || vault === undefined) return outcome;
  const body = {
    responseStatus: { ...responseStatus, detailedErrors: "none" },
    transactionToken: { ...transactionToken, expiry: 12, timeToExpire: "soon" },
    vault: {
      ...vault,
      usesRemaining: "three",
      expiryDate: false,
      autoLockDate: "next year",
      dateCreated: 0,
      lastModified: null,
    },
  };
  return { ...outcome, body };
}

function withoutCredentials(outcome: Outcome): Outcome {
  const { vault } = outcome.body as Record<string, Json>;
  if (vault === undefined) return outcome;
  const { credentials: _dropped, ...rest } = vault;
  return { ...outcome, body: { ...outcome.body, vault: rest } };
}
