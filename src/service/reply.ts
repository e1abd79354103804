import type { Reply } from "../exchange/ports.ts";
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
export function replyOf(response: WholeResponse, host: string): Reply {
  const { httpStatus, headers } = response;
  const contentType = first(headers["content-type"])?.split(";")[0]?.trim().toLowerCase();
  const body = readJson(response.body) ?? ([404, 405, 429].includes(httpStatus) ? {} : undefined);
  const retryAfter = seconds(retryAfterIn(headers)) ?? seconds(body?.["retryAfter"]);
  const answer = body === undefined ? undefined : { httpStatus, body, retryAfter };
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

/** `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date, by the clock of whoever sent it, or else from now. */
function retryAfterIn(headers: WholeResponse["headers"]): unknown {
  const value = first(headers["retry-after"]);
  const wait = httpDate(value) - (httpDate(first(headers["date"])) || Date.now());
  return Number.isNaN(wait) ? value : Math.max(0, Math.ceil(wait / 1000));
}

/** Of the form with a weekday alone: `Date.parse` takes "tomorrow 5", too. */
const httpDate = (value = ""): number => (/^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) : NaN);

/** Checks a number of seconds, from a header or the body. */
function seconds(value: unknown): number | undefined {
  const given = typeof value === "string" && /^ *\d+ *$/.test(value) ? Number(value) : value;
  return typeof given === "number" && Number.isSafeInteger(given) && given >= 0 ? given : undefined;
}

const first = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
