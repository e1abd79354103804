import type { ServiceDetails } from "../errors.ts";
import type { Answer } from "../protocol/answers.ts";
import { object } from "../protocol/answers.ts";
import { findErrorUuid } from "../protocol/classify.ts";

/** What an answer that an extended endpoint is not there may mean. */
export const unsupported = "your service may not support this extended operation";

/** The details of an answer that an error shows: HTTP status, `responseStatus` as received, the error uuid. */
export function serviceDetails(answer: Answer): ServiceDetails {
  const errorUuid = findErrorUuid(answer.body);
  const responseStatus = answer.body["responseStatus"];
  return {
    httpStatus: answer.httpStatus,
    responseStatus,
    errorUuid,
  };
}

/** The service's own words on one line, with the property it names and the error uuid (section 7). */
export function wording(answer: Answer): string {
  const status = object(answer.body["responseStatus"]);
  const details = Array.isArray(status?.["detailedErrors"])
    ? (status["detailedErrors"] as unknown[])
    : [];
  const sentences = details.map((entry) => {
    const { property, message, errorReasons } = object(entry) ?? {};
    const reasons = Array.isArray(errorReasons)
      ? errorReasons.filter((r) => typeof r === "string").join(", ")
      : "";
    const said = [message, reasons]
      .filter((t): t is string => typeof t === "string" && t !== "")
      .join(": ");
    return typeof property === "string" && property !== "" ? `${said} (${property})`.trim() : said;
  });
  const code = typeof status?.["code"] === "string" ? status["code"] : "";
  const words = sentences.filter((s) => s !== "").join("; ") || code || "no reason given";
  const errorUuid = findErrorUuid(answer.body);
  return `service: "${words}", HTTP ${answer.httpStatus}${errorUuid === undefined ? "" : `, error ${errorUuid}`}`;
}
