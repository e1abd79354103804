import type { Answer } from "./answers.ts";
import { object } from "./answers.ts";

/**
 * What an error is about. The specification gives no codes, messages or HTTP statuses (section 7), so this one table
 * decides, in its order: by HTTP status, by the property that the service names, then by wording.
 */
export type ErrorClass = "rate" | "server" | "application" | "credentials" | "token" | "locked" | "gone" | "validation" | "service";

interface ErrorRule {
  is: ErrorClass;
  /** All that are given must match. */
  http?: readonly number[];
  property?: RegExp;
  wording?: RegExp;
}

/**
 * Says that a lock is in force. A warning of one to come ("will be locked after 2 more attempts") is a refusal of
 * credentials and has to be counted as such.
 */
const locked = new RegExp(
  String.raw`^(?!.*\b(?:will|would|may|might|not|before|until)\b[^.;:,]*\block(?:ed)?\b)` +
    String.raw`(?!.*(?<!\bno )\b(?:attempts?|tries)\s+(?:left|remain)).*\block(?:ed)?\b`,
  "is",
);

const errorRules: readonly ErrorRule[] = [
  // By HTTP status, where it leaves no doubt.
  { is: "rate", http: [429] },
  { is: "locked", http: [423] },
  { is: "gone", http: [410] },
  // By property. A lock is told in wording, whatever property it is pinned on.
  { is: "locked", property: /vault|credentials|encryptedData|payload|uuid/i, wording: locked },
  { is: "application", property: /^application\b|api-?key|x-application-uuid|\bjwt\b|authorization/i },
  { is: "token", property: /token/i },
  { is: "validation", property: /^(newVault|externalRef|vaultUuid)\b/i, http: [400, 422] },
  { is: "validation", property: /^device\b/i, http: [400, 422] },
  { is: "credentials", property: /credentials|encryptedData|payload|hashedPin|^device\b|^vault$/i },
  { is: "validation", property: /^(newVault|externalRef|creditCard)\b/i },
  // By wording.
  { is: "rate", wording: /rate.?limit|too many requests/i },
  { is: "locked", wording: locked },
  // A bearer token is the application's, whatever it is called.
  { is: "application", wording: /\bjwt\b|\b(bearer|access)\b.?token/i },
  { is: "token", wording: /\btoken\b/i },
  { is: "application", wording: /api.?key|\bapplication\b|white.?list|ip address/i },
  { is: "credentials", wording: /credential|\bpin\b|hashed.?pin|encryptedData|payload|device|attempts? (left|remain)|remaining attempt/i },
  { is: "gone", wording: /deleted|expired|not.?found|no such vault|unknown vault|does not exist/i },
  // What is left, by HTTP status alone.
  { is: "application", http: [401, 403] },
  { is: "gone", http: [404] },
  // A 400 that says nothing may be about the credentials: unknown, so that it is counted. One about a form is not.
  { is: "validation", http: [400, 422], property: /./ },
  {
    is: "validation",
    http: [400, 422],
    wording: /\b(must|required|missing|malformed|blank|null|length|size|format|json|schema|too (long|short))\b/i,
  },
];

/** For an answer without a `responseStatus`, which every answer of the service has (section 7): a proxy wrote it. */
const foreignRules: readonly ErrorRule[] = [
  { is: "rate", http: [429] },
  { is: "application", http: [401, 403] },
];

/** One entry of `responseStatus.detailedErrors`, as it is matched. */
interface Detail {
  property: string;
  wording: string;
}

/** The class of an ERROR answer. What no rule knows is `service`. */
export function classify(answer: Answer): ErrorClass {
  if (answer.httpStatus >= 500) return "server";
  const details = readDetails(answer.body);
  const table = object(answer.body["responseStatus"]) === undefined ? foreignRules : errorRules;
  const rule = table.find((candidate) => matches(candidate, answer.httpStatus, details));
  return rule?.is ?? "service";
}

function matches(rule: ErrorRule, httpStatus: number, details: readonly Detail[]): boolean {
  if (rule.http !== undefined && !rule.http.includes(httpStatus)) return false;
  return details.some((d) => (rule.property?.test(d.property) ?? true) && (rule.wording?.test(d.wording) ?? true));
}

function readDetails(body: Record<string, unknown>): Detail[] {
  const status = object(body["responseStatus"]);
  const details = list(status?.["detailedErrors"]).map((entry) => {
    const detail = object(entry) ?? {};
    const reasons = list(detail["errorReasons"]);
    return { property: text(detail["property"]), wording: [detail["message"], ...reasons].map(text).join(" ") };
  });
  // The code alone, and an answer without details, are matched too.
  return [...details, { property: "", wording: `${text(status?.["code"])} ${text(status?.["message"])}`.replaceAll(/[-_]/g, " ") }];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

/**
 * The error uuid, found wherever the service puts it (section 7: the name of the field is not shown): the first
 * identifier under a name that has both "err" and an id in it, then one inside an object of such a name, then under any
 * name of an id that is not the vault's, the application's or the transaction's.
 */
export function findErrorUuid(value: unknown): string | undefined {
  const named = (path: readonly string[]): boolean => /err.*id$|id.*err/i.test(path.at(-1) ?? "");
  const inside = (path: readonly string[]): boolean => named([path.join(".")]);
  const any = (path: readonly string[]): boolean => /id$/i.test(path.at(-1) ?? "");
  return search(value, named, []) ?? search(value, inside, []) ?? search(value, any, []);
}

function search(value: unknown, fits: (path: readonly string[]) => boolean, path: readonly string[]): string | undefined {
  if (typeof value !== "object" || value === null || path.length > 4) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (/^(vault|application|transaction)/i.test(key)) continue;
    const here = [...path, key];
    if (typeof inner === "string" && fits(here) && /^[0-9a-fA-F-]{32,36}$/.test(inner)) return inner;
    const found = search(inner, fits, here);
    if (found !== undefined) return found;
  }
  return undefined;
}
