import { object, type Answer } from "./answers.ts";

/**
 * What an error is about. No codes, messages or HTTP statuses are documented (docs/interface.md, Errors), so the first rule that
 * matches decides: by HTTP status, by the property that the service names, then by wording.
 */
export type ErrorClass =
  | "rate"
  | "server"
  | "application"
  | "credentials"
  | "token"
  | "locked"
  | "gone"
  | "missing"
  | "validation"
  | "service";

interface ErrorRule {
  is: ErrorClass;
  /** Every condition that is given must match. */
  http?: readonly number[];
  property?: RegExp;
  wording?: RegExp;
}

/**
 * Matches text that says that a lock is in force. A warning of a future lock ("will be locked after 2 more attempts") is a refusal
 * of credentials, and has to be counted as such.
 */
const locked = new RegExp(
  String.raw`^(?!.*\b(?:will|would|may|might|not|before|until)\b[^.;:,]*\block(?:ed)?\b)` +
    String.raw`(?!.*(?<!\bno )\b(?:attempts?|tries)\s+(?:left|remain)).*\block(?:ed)?\b`,
  "is",
);

/** Text that says that something is unknown or deleted, and speaks of nothing but the vault itself. */
const absent =
  String.raw`(?!.*(?:credential|\bpin\b|payload|encryptedData|\b(?:kind|type|operation|field)\b))` +
  String.raw`.*(?:deleted|expired|\bgone\b|not.?found|\bno such\b|unknown|not exist)`;

const errorRules: readonly ErrorRule[] = [
  // By HTTP status, if it is unambiguous.
  { is: "rate", http: [429] },
  { is: "locked", http: [423] },
  // An address is not there. Before all that speaks of vaults: the path names one too.
  {
    is: "missing",
    wording:
      /\b(endpoint|path|resource|route|ur[il])\b.*(not.?found|no such|unknown|not exist|not supported)/is,
  },
  {
    is: "missing",
    wording: /\b(no|unknown|unsupported) (such |static )?(endpoint|path|resource|route|ur[il])\b/i,
  },
  { is: "missing", http: [405] },
  // By property. Only wording tells a lock, whatever property it is attached to.
  { is: "locked", property: /vault|credentials|encryptedData|payload|uuid/i, wording: locked },
  {
    is: "application",
    property: /^application\b|api-?key|x-application-uuid|\bjwt\b|authorization/i,
  },
  { is: "token", property: /token/i },
  {
    is: "gone",
    property: /^(vault|vaultUuid|uuid|vault\.uuid)$/i,
    wording: new RegExp(`^${absent}`, "is"),
  },
  { is: "validation", property: /^(newVault|externalRef|vaultUuid)\b/i, http: [400, 422] },
  { is: "validation", property: /^device\b/i, http: [400, 422] },
  { is: "credentials", property: /credentials|encryptedData|payload|hashedPin|^device\b|^vault$/i },
  { is: "validation", property: /^(newVault|externalRef|creditCard)\b/i },
  // By wording.
  { is: "rate", wording: /rate.?limit|too many requests/i },
  { is: "locked", wording: locked },
  // A bearer token belongs to the application.
  { is: "application", wording: /\bjwt\b|\b(bearer|access)\b.?token/i },
  { is: "token", wording: /\btoken\b/i },
  { is: "application", wording: /api.?key|\bapplication\b|white.?list|ip address/i },
  {
    is: "credentials",
    wording:
      /credential|\bpin\b|hashed.?pin|encryptedData|payload|device|attempts? (left|remain)|remaining attempt/i,
  },
  { is: "gone", wording: new RegExp(String.raw`^(?=.*\bvault\b)${absent}`, "is") },
  // By HTTP status alone.
  { is: "application", http: [401, 403] },
  // Nothing says which vault, or that it is one.
  { is: "missing", http: [404, 410] },
  // A 400 without details may be about the credentials, so it stays unknown and counts. One about a format does not.
  { is: "validation", http: [400, 422], property: /./ },
  {
    is: "validation",
    http: [400, 422],
    wording:
      /\b(must|required|missing|malformed|blank|null|length|size|format|json|schema|too (long|short))\b/i,
  },
];

/** Rules for an answer without `responseStatus`, which every answer of the service has: a proxy wrote it, or another server. */
const foreignRules: readonly ErrorRule[] = [
  { is: "rate", http: [429] },
  { is: "application", http: [401, 403] },
  { is: "missing", http: [404, 405] },
];

/** The class of an ERROR answer; `service` if no rule matches. */
export function classify({ body, httpStatus }: Answer): ErrorClass {
  const { code, message, details } = errorStatus(body);
  const told = details.map(({ property, message: said, reasons }) => ({
    property,
    wording: withoutPaths([said, ...reasons].join(" ")),
  }));
  // Code and message of the status are matched too, also in an answer without details.
  const status = withoutPaths(`${code} ${message}`).replaceAll(/[-_]/g, " ");
  const all = [...told, { property: "", wording: status }];
  const table = object(body["responseStatus"]) === undefined ? foreignRules : errorRules;
  const rule = table.find(
    ({ http, property, wording }) =>
      (http?.includes(httpStatus) ?? true) &&
      all.some((d) => (property?.test(d.property) ?? true) && (wording?.test(d.wording) ?? true)),
  );
  const is = rule?.is ?? "service";
  // A 5xx says that something broke, unless the service's own words refuse the credentials.
  return httpStatus >= 500 && is !== "credentials" ? "server" : is;
}

/** What `responseStatus` says of an error; whatever is not a text is empty. */
export function errorStatus(body: Record<string, unknown>) {
  const { code, message, detailedErrors } = object(body["responseStatus"]) ?? {};
  const details = list(detailedErrors).map((entry) => {
    const detail = object(entry) ?? {};
    const reasons = list(detail["errorReasons"]).map(text);
    return { property: text(detail["property"]), message: text(detail["message"]), reasons };
  });
  return { code: text(code), message: text(message), details };
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** The text with each path of an endpoint, which has the word vault in it, as the word path. */
const withoutPaths = (words: string): string => words.replaceAll(/\S*\/vault\/\S*/gi, "path");
