import type { Answer } from "./answers.ts";
import { object } from "./answers.ts";

/**
 * What an error is about. The specification gives no codes, messages or HTTP statuses (section 7), so this one table
 * decides, in its order: by HTTP status, by the property that the service names, then by wording.
 */
export type ErrorClass = "rate" | "server" | "application" | "credentials" | "token" | "locked" | "gone" | "validation" | "service";

export interface ErrorRule {
  is: ErrorClass;
  /** All that are given must match. */
  http?: readonly number[];
  property?: RegExp;
  wording?: RegExp;
}

export const errorRules: readonly ErrorRule[] = [
  // By HTTP status, where it leaves no doubt.
  { is: "rate", http: [429] },
  { is: "locked", http: [423] },
  { is: "gone", http: [410] },
  // By property. A lock is told in wording, whatever property it is pinned on.
  { is: "locked", property: /vault|credentials|encryptedData|payload|uuid/i, wording: /\block(ed)?\b/i },
  { is: "application", property: /^application\b|api-?key|x-application-uuid|\bjwt\b|authorization/i },
  { is: "token", property: /token/i },
  { is: "validation", property: /^(newVault|externalRef|vaultUuid)\b/i, http: [400, 422] },
  { is: "validation", property: /^device\b/i, http: [400, 422] },
  { is: "credentials", property: /credentials|encryptedData|payload|hashedPin|^device\b/i },
  { is: "validation", property: /^(newVault|externalRef|creditCard)\b/i },
  // By wording.
  { is: "rate", wording: /rate.?limit|too many requests/i },
  { is: "locked", wording: /\block(ed)?\b/i },
  { is: "token", wording: /\btoken\b/i },
  { is: "application", wording: /api.?key|\bapplication\b|\bjwt\b|white.?list|ip address/i },
  { is: "credentials", wording: /credential|hashed.?pin|encryptedData|payload|device/i },
  { is: "gone", wording: /deleted|expired|not.?found|no such vault|unknown vault|does not exist/i },
  // What is left, by HTTP status alone.
  { is: "application", http: [401, 403] },
  { is: "gone", http: [404] },
  { is: "validation", http: [400, 422] },
];

/** One entry of `responseStatus.detailedErrors`, as it is matched. */
interface Detail {
  property: string;
  wording: string;
}

/** The class of an ERROR answer; rules of a profile go in front of the table. What no rule knows is `service`. */
export function classify(answer: Answer, before: readonly ErrorRule[] = []): ErrorClass {
  if (answer.httpStatus >= 500) return "server";
  const details = readDetails(answer.body);
  const rule = [...before, ...errorRules].find((candidate) => matches(candidate, answer.httpStatus, details));
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
 * identifier under a name with "error" and an id in it, then under any name with "uuid" outside the vault.
 */
export function findErrorUuid(value: unknown): string | undefined {
  return search(value, /err.*(uu)?id$|(uu)?id.*err/i, 0) ?? search(value, /(uu)?id$/i, 0);
}

function search(value: unknown, name: RegExp, depth: number): string | undefined {
  if (typeof value !== "object" || value === null || depth > 4) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "vault" || key === "application") continue;
    if (typeof inner === "string" && name.test(key) && /^[0-9a-fA-F-]{32,36}$/.test(inner)) return inner;
    const found = search(inner, name, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
