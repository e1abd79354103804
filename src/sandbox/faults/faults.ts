import { VaultError } from "../../errors.ts";
import type { AnyEndpoint, Step } from "../../protocol/endpoints.ts";
import { operations, singleOperations } from "../../protocol/endpoints.ts";

/** Requests that a fault applies to; an absent property matches all. */
export interface FaultMatch {
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

export type FaultAction =
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
  /** Number of matching requests to let through first; default 0. */
  skip?: number;
  /** Number of times to fire after that; default 1. */
  times?: number | "all";
}

/** The rules that are set. The first one that matches and is due fires; later rules do not see the request. */
export class Faults {
  #armed: { rule: FaultRule; skip: number; times: number }[] = [];

  add(rules: readonly FaultRule[]): void {
    for (const rule of rules) {
      const times = rule.times === "all" ? Number.POSITIVE_INFINITY : (rule.times ?? 1);
      this.#armed.push({ rule, skip: rule.skip ?? 0, times });
    }
  }

  clear(): void {
    this.#armed = [];
  }

  /** Number of rules that can still fire. */
  get armed(): number {
    return this.#armed.length;
  }

  /** Returns the fault for a request, if any, and counts it as fired. */
  take(
    request: Pick<AnyEndpoint, "operation" | "step"> & { uuid: string },
  ): FaultAction | undefined {
    for (const armed of this.#armed) {
      if (!matches(armed.rule.match, request)) continue;
      if (armed.skip > 0) {
        armed.skip -= 1;
        continue;
      }
      armed.times -= 1;
      if (armed.times <= 0) this.#armed = this.#armed.filter((other) => other !== armed);
      return armed.rule.action;
    }
    return undefined;
  }
}

function matches(
  match: FaultMatch,
  request: Pick<AnyEndpoint, "operation" | "step"> & { uuid: string },
): boolean {
  if (match.operation !== undefined && match.operation !== request.operation) return false;
  if (match.step !== undefined && match.step !== request.step) return false;
  return match.uuid === undefined || match.uuid.toLowerCase() === request.uuid.toLowerCase();
}

/**
 * Checks a rule given as JSON.
 * @throws `invalid-input` naming the field
 */
export function checkFaultRule(given: unknown): FaultRule {
  const rule = fields(given, "fault", ["match", "action", "skip", "times"]);
  const match = fields(rule["match"] ?? {}, "fault.match", ["operation", "step", "uuid"]);
  const oneOf = (value: unknown, values: readonly string[]) =>
    value === undefined || values.includes(value as string);
  const known = [...operations, ...singleOperations];
  if (!oneOf(match["operation"], known)) fail(`match.operation must be one of ${known.join(", ")}`);
  if (!oneOf(match["step"], ["start", "end"])) fail("match.step must be start or end");
  if (match["uuid"] !== undefined && typeof match["uuid"] !== "string")
    fail("match.uuid must be a vault UUID");
  if (rule["skip"] !== undefined && !isCount(rule["skip"], 0))
    fail("skip must be a whole number, such as 2");
  if (rule["times"] !== undefined && rule["times"] !== "all" && !isCount(rule["times"], 1))
    fail('times must be "all" or a whole number, such as 2');
  checkAction(rule["action"]);
  return { ...(given as FaultRule), match };
}

/** Longest delay that a timer supports, in milliseconds. */
const longestDelay = 2 ** 31 - 1;

function checkAction(action: unknown): void {
  if (plainActions.some((plain) => plain === action)) return;
  const given = fields(action, "fault.action", ["delayMs", "status", "retryAfter", "errorAfter"]);
  const kinds = ["delayMs", "status", "errorAfter"].filter((name) => given[name] !== undefined);
  if (kinds.length !== 1)
    fail(
      `action must be one of ${plainActions.join(", ")}, or have one of delayMs, status, errorAfter`,
    );
  const isStatus = (value: unknown, least: number) => isCount(value, least) && value <= 599;
  if (
    given["delayMs"] !== undefined &&
    !(isCount(given["delayMs"], 0) && given["delayMs"] <= longestDelay)
  )
    fail("delayMs must be milliseconds, such as 500");
  if (given["status"] !== undefined && !isStatus(given["status"], 400))
    fail("status must be an HTTP status of 400 to 599, such as 503");
  if (given["errorAfter"] !== undefined && !isStatus(given["errorAfter"], 400))
    fail("errorAfter must be an HTTP status of 400 to 599, such as 502");
  if (given["retryAfter"] === undefined) return;
  if (given["status"] === undefined || !isCount(given["retryAfter"], 0))
    fail("retryAfter must be whole seconds, beside a status");
}

const isCount = (value: unknown, least: number): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= least;

function fields(value: unknown, where: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return fail(`${where} must be an object`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined)
    fail(`${where}.${unknown} is not known; known fields: ${known.join(", ")}`);
  return value as Record<string, unknown>;
}

function fail(rule: string): never {
  throw new VaultError("invalid-input", `fault rule: ${rule}`);
}
