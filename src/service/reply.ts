import type { Reply } from "../exchange/ports.ts";
import type { Answer } from "../protocol/answers.ts";
import { object } from "../protocol/answers.ts";
import { findErrorUuid } from "../protocol/classify.ts";
import { parseJson } from "../protocol/json.ts";

/** Status and headers of a final response. Header names are in lower case. */
export interface Head {
  httpStatus: number;
  headers: Record<string, string | string[] | undefined>;
}

export interface WholeResponse extends Head {
  body: Uint8Array;
}

/**
 * Classifies a whole response. A JSON object is an answer whatever its status, except that a 5xx
 * says nothing about what was done: a proxy may have sent it after the service processed the call.
 * A 429 is an answer without a JSON body too, because gateways send a page with it; so are a 404
 * and a 405, which whatever stands at a wrong address sends.
 */
export function replyOf(response: WholeResponse, host: string, now: number): Reply {
  const { httpStatus, headers } = response;
  const contentType = first(headers["content-type"])?.split(";")[0]?.trim().toLowerCase();
  const body = readJson(response.body) ?? ([404, 405, 429].includes(httpStatus) ? {} : undefined);
  const answer = body === undefined ? undefined : answerOf(httpStatus, headers, body, now);
  if (answer !== undefined && httpStatus < 500) return { type: "answer", answer };
  const cause = `HTTP ${httpStatus} from ${host}${whatIn(response, contentType, body)}`;
  return { type: "no-answer", cause, httpStatus, answer, isWhole: true };
}

/** What a response has in place of an answer. */
function whatIn(
  { httpStatus, body: bytes }: WholeResponse,
  contentType: string | undefined,
  body: Record<string, unknown> | undefined,
): string {
  const errorUuid = findErrorUuid(body);
  if (body !== undefined) return errorUuid === undefined ? "" : `, error ${errorUuid}`;
  if (httpStatus >= 300 && httpStatus < 400) return ", a redirect, which is not followed";
  if (bytes.length === 0) return ", empty";
  return contentType === "text/html" ? ", an HTML page" : ", not JSON";
}

function answerOf(
  httpStatus: number,
  headers: WholeResponse["headers"],
  body: Record<string, unknown>,
  now: number,
): Answer {
  const retryAfter = retryAfterHeader(headers, now) ?? seconds(body["retryAfter"]);
  return { httpStatus, body, retryAfter };
}

/**
 * Parses a JSON object in valid UTF-8 that is not nested too deeply; undefined for anything else.
 */
function readJson(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    return object(parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    return undefined;
  }
}

/**
 * `Retry-After` in seconds: a number, or a date relative to the service's own `Date`, so that a
 * wrong clock on either side does no harm.
 */
function retryAfterHeader(headers: WholeResponse["headers"], now: number): number | undefined {
  const value = first(headers["retry-after"])?.trim() ?? "";
  if (/^\d+$/.test(value)) return seconds(Number(value));
  const until = httpDate(value);
  if (until === undefined) return undefined;
  const from = httpDate(first(headers["date"])) ?? now;
  return Math.max(0, Math.ceil((until - from) / 1000));
}

/** Parses the form with a weekday name only: `Date.parse` alone accepts "tomorrow 5". */
function httpDate(value: string | undefined): number | undefined {
  const time =
    value !== undefined && /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? /.test(value)
      ? Date.parse(value)
      : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

const seconds = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

const first = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
