import { VaultError } from "../../errors.ts";
import type { Operation, Step } from "../../protocol/endpoints.ts";
import { singleOperations } from "../../protocol/endpoints.ts";
import { uuid as uuidField } from "../../protocol/fields.ts";
import { validate } from "../../protocol/validate.ts";
import type { FaultAction, FaultMatch, FaultRule } from "./faults.ts";
import { plainActions } from "./faults.ts";
import { defined } from "../../defined.ts";
import { parseDuration } from "../../duration.ts";

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
  const fail = (rule: string): never => {
    throw new VaultError("invalid-input", `fault ${JSON.stringify(text)}: ${rule}`, {
      hint: `for example ${faultExamples.join(", ")}`,
    });
  };
  const parts = /^([^:]+):([^@*]+)(?:@([^*]*))?(?:\*(.*))?$/s.exec(text);
  if (parts === null) return fail("must be TARGET:ACTION, optionally followed by @SKIP and *TIMES");
  const [, target = "", action = "", skip, times] = parts;
  const rule: FaultRule = { match: parseTarget(target, fail), action: parseAction(action, fail) };
  if (skip !== undefined)
    rule.skip =
      number(skip) ??
      fail(`@${skip}: the number of requests to skip must be a whole number, such as @1`);
  if (times !== undefined) {
    rule.times =
      times === "all"
        ? "all"
        : (number(times) ??
          fail(`*${times}: the number of times must be a whole number or all, such as *2`));
    if (rule.times === 0) fail("*0: the number of times must be at least 1");
  }
  return rule;
}

const faultExamples = [
  "get-start:drop-after",
  "end:delay=2s*3",
  "get-end:status=503*2",
  "start:garbage@1",
] as const;

type Fail = (rule: string) => never;

function parseTarget(target: string, fail: Fail): FaultMatch {
  const [, name, uuid] = /^([^/]*)(?:\/(.*))?$/s.exec(target) ?? [];
  const single = singleOperations.find((operation) => operation === name);
  const parts =
    single === undefined ? /^(?:any|(get|update)?-?(start|end)?)$/.exec(name ?? "") : [];
  if (
    parts === null ||
    !name ||
    name.startsWith("-") ||
    name.endsWith("-") ||
    /(get|update)(start|end)/.test(name)
  ) {
    return fail(
      `the target must be any, get, update, start, end or two of them joined, like get-start; or ${singleOperations.join(", ")}`,
    );
  }
  if (uuid !== undefined && !validate(uuidField, uuid).ok)
    fail("/ must be followed by a vault UUID of 36 characters");
  return defined({
    operation: single ?? (parts[1] as Operation | undefined),
    step: parts[2] as Step | undefined,
    uuid,
  });
}

function parseAction(action: string, fail: Fail): FaultAction {
  const plain = plainActions.find((known) => known === action);
  if (plain !== undefined) return plain;
  const [, name, value = ""] = /^(delay|status|error-after)=(.*)$/s.exec(action) ?? [];
  if (name === "delay") {
    const delayMs = parseDuration(value, `fault ${action}`);
    return delayMs <= longestTimer ? { delayMs } : fail("the delay must be less than 24 days");
  }
  if (name === "error-after")
    return {
      errorAfter:
        status(value) ?? fail("error-after must be an HTTP status of 400 to 599, such as 502"),
    };
  if (name !== "status")
    return fail(
      `the action must be one of ${plainActions.join(", ")}, delay=2s, status=503, error-after=502`,
    );
  const [, http = "", seconds] = /^([^,]*)(?:,retry-after=(.*))?$/s.exec(value) ?? [];
  const code =
    status(http) ??
    fail("status must be an HTTP status of 400 to 599, such as 503 or 429,retry-after=2");
  if (seconds === undefined) return { status: code };
  return {
    status: code,
    retryAfter: number(seconds) ?? fail("retry-after must be whole seconds, such as 2"),
  };
}

/** What a timer of Node takes, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

const number = (text: string): number | undefined =>
  /^\d{1,9}$/.test(text) ? Number(text) : undefined;

const status = (text: string): number | undefined =>
  /^[45]\d\d$/.test(text) ? Number(text) : undefined;
