import type { AnyEndpoint, Step } from "../../protocol/endpoints.ts";

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
