import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import { parseDuration } from "../duration.ts";
import type { Endpoint } from "../protocol/endpoints.ts";
import { rateLimited, serverError, type Outcome } from "./outcome.ts";

/** Faults without parameters; all but `drop-before` process the request. */
export const plainActions = [
  "drop-before",
  "drop-after",
  "cut",
  "hang",
  "garbage",
  "no-credentials",
] as const;

/** `delayMs` and `errorAfter` process the request, `status` does not. */
type FaultAction =
  | (typeof plainActions)[number]
  | { delayMs: number }
  | { status: number; retryAfter?: number }
  | { errorAfter: number };

type Fallible = Pick<Endpoint, "operation" | "step"> & { uuid: string };

export interface FaultRule {
  /** Requests that it applies to; an absent property matches all. */
  match: Partial<Fallible>;
  action: FaultAction;
  /** Number of matching requests to let through first. */
  skip: number;
  /** Number of times to fire after that. */
  times: number;
}

/** The rules set. The first that matches and is due fires; later ones do not see the request. */
export class Faults {
  #armed: FaultRule[] = [];

  constructor(rules: readonly FaultRule[] = []) {
    this.add(rules);
  }

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
    for (const rule of this.#armed.filter(({ match }) => matches(match, request))) {
      if (rule.skip > 0) {
        rule.skip -= 1;
        continue;
      }
      rule.times -= 1;
      if (rule.times === 0) this.#armed = this.#armed.filter((other) => other !== rule);
      return rule.action;
    }
    return undefined;
  }
}

const matches = ({ operation, step, uuid }: Partial<Fallible>, request: Fallible): boolean =>
  (operation ?? request.operation) === request.operation &&
  (step ?? request.step) === request.step &&
  (uuid ?? request.uuid).toLowerCase() === request.uuid.toLowerCase();

const form = new RegExp(
  String.raw`^(?:any|(?:(?<operation>get|update|info|create|delete)|(?<either>get|update)-(?<step>start|end)|(?<each>start|end)))` +
    String.raw`(?:/(?<uuid>[0-9a-fA-F-]{36}))?:` +
    String.raw`(?:(?<plain>${plainActions.join("|")})|delay=(?<delay>[^@*]*)` +
    String.raw`|status=(?<status>[45]\d\d)(?:,retry-after=(?<seconds>\d{1,9}))?|error-after=(?<after>[45]\d\d))` +
    String.raw`(?:@(?<skip>\d{1,9}))?(?:\*(?<times>[1-9]\d{0,8}|all))?$`,
);

/**
 * Parses one fault, in the form that the help of `vault sandbox fault` has: `get-start:drop-after`,
 * `end:delay=2s*3`, `any:status=429,retry-after=2`, `start:garbage@1`.
 * @throws `invalid-input`
 */
export function parseFault(text: string): FaultRule {
  const found = form.exec(text)?.groups;
  if (found === undefined)
    throw new VaultError(
      "invalid-input",
      `fault ${JSON.stringify(text)}: must be TARGET[/UUID]:ACTION[@SKIP][*TIMES]`,
      {
        hint: `TARGET is any, get, update, start, end, get-start and the like, info, create or delete; ACTION is ${plainActions.join(", ")}, delay=2s, status=503, status=429,retry-after=2 or error-after=502; TIMES is a number or all: for example end:delay=2s@1*3`,
      },
    );
  const { operation, either, step, each, uuid, skip = "0", times = "1" } = found;
  const { plain, delay, status, seconds, after } = found;
  const match = defined({ operation: operation ?? either, step: step ?? each, uuid });
  const action = defined({
    // Not longer than a timer of Node can be.
    delayMs: delay === undefined ? undefined : Math.min(parseDuration(delay, "delay"), 2 ** 31 - 1),
    status: status && Number(status),
    retryAfter: seconds && Number(seconds),
    errorAfter: after && Number(after),
  });
  return {
    match: match as Partial<Fallible>,
    action: (plain ?? action) as FaultAction,
    skip: Number(skip),
    times: times === "all" ? Number.POSITIVE_INFINITY : Number(times),
  };
}

/** Returns the response to a request on which a fault takes effect; `answer` processes it. */
export function answerWith(fault: FaultAction | undefined, answer: () => Outcome): Outcome {
  if (fault === "drop-before") return { status: 0, headers: {}, body: "", transport: "drop" };
  if (typeof fault === "object" && "status" in fault) {
    const { status, retryAfter } = fault;
    if (status === 429) return rateLimited(retryAfter ?? 1);
    const headers = defined({ "retry-after": retryAfter?.toString() });
    return serverError(status, { headers });
  }
  const outcome = answer();
  if (fault === undefined) return outcome;
  if (typeof fault === "object")
    return "delayMs" in fault ? { ...outcome, ...fault } : serverError(fault.errorAfter);
  if (fault === "garbage")
    return { status: 200, headers: {}, body: "<html><body>It works!</body></html>\n" };
  if (fault !== "no-credentials")
    return { ...outcome, transport: fault === "drop-after" ? "drop" : fault };
  const { vault, ...body } = outcome.body as Record<string, object>;
  if (vault === undefined) return outcome;
  return { ...outcome, body: { ...body, vault: { ...vault, credentials: undefined } } };
}
