import * as z from "zod/mini";
import type { Endpoint, Kind, Operation } from "./endpoints.ts";
import { isCreditCard, isOnline } from "./endpoints.ts";
import { anyInteger, creditCard, dateTime, instant, opaque, positiveLong, uuid } from "./fields.ts";
import { isObject } from "./json.ts";
import { validate } from "./validate.ts";

const code = z
  .string()
  .check(z.regex(/^[A-Za-z0-9-]+$/, { error: "must be letters, digits and dashes" }));

const detailedError = z.looseObject({
  errorReasons: z.optional(z.array(z.string())),
  property: z.optional(z.string()),
  message: z.optional(z.string()),
});

/** See docs/interface.md, Response status. */
export const responseStatus = z.looseObject({
  status: z.enum(["ERROR", "SUCCESS"]),
  code: z.optional(code),
  detailedErrors: z.optional(z.array(detailedError)),
});

/** Only `expiry` is used, since `timeToExpire` has no documented unit (docs/interface.md, Token). */
const transactionToken = z.looseObject({
  expiry: dateTime,
  timeToExpire: anyInteger,
  token: opaque,
});

const everyVault = {
  credentials: z.looseObject({ encryptedData: opaque, payload: opaque }),
  uuid,
  autoLockDate: z.optional(dateTime),
  dateCreated: z.optional(dateTime),
  lastModified: z.optional(dateTime),
};
const offlineVault = {
  ...everyVault,
  usesRemaining: z.optional(positiveLong),
  expiryDate: z.optional(dateTime),
};

/** The vault of a start response, with the fields of the endpoint (docs/interface.md, Vault). */
export function responseVault({ kind, operation }: Pick<Endpoint, "kind" | "operation">) {
  const fields = isOnline(kind) ? everyVault : offlineVault;
  if (operation === "update") return z.looseObject(fields);
  if (isCreditCard(kind)) return z.looseObject({ ...fields, creditCard });
  return z.looseObject({ ...fields, content: z.string() });
}

/** The schema of an endpoint's SUCCESS response (docs/interface.md, Responses); unknown fields are allowed. */
export function responseSchema(endpoint: Pick<Endpoint, "kind" | "operation" | "step">) {
  if (endpoint.step === "end") return z.looseObject({ responseStatus });
  return z.looseObject({ responseStatus, transactionToken, vault: responseVault(endpoint) });
}

/** A whole HTTP answer whose body is a JSON object. */
export interface Answer {
  httpStatus: number;
  body: Record<string, unknown>;
  /** Seconds, from the `Retry-After` header (also a date) or `retryAfter` of the body. */
  retryAfter?: number | undefined;
}

export interface Pair {
  encryptedData: string;
  payload: string;
}

/** The dates of a vault; null if missing or unreadable. */
export interface VaultDates {
  expiryDate: string | null;
  autoLockDate: string | null;
  dateCreated: string | null;
  lastModified: string | null;
}

/** What a response says of a vault, beside its contents. */
export interface AnsweredFacts extends VaultDates {
  usesRemaining: number | null;
}

/** An accepted start response. `vault` is the service's own object, unchanged. */
export interface StartSuccess extends AnsweredFacts {
  vault: Record<string, unknown>;
  pair: Pair;
  token: string;
  tokenExpiry: string | null;
  /** Deviations from the interface, a sentence each; never a reason to refuse new credentials. */
  warnings: string[];
}

/** What a start response must fit to. */
interface StartedWith {
  uuid: string;
  kind: Kind;
  operation: Operation;
}

/**
 * Reads a start response by the rule that keeps credentials safe: accepts a SUCCESS with both credential strings, a token and the
 * right uuid, whatever else is wrong with it. Returns undefined for anything less.
 */
export function readStartSuccess(call: StartedWith, answer: Answer): StartSuccess | undefined {
  if (!isSuccess(answer)) return undefined;
  const vault = object(answer.body["vault"]);
  const credentials = object(vault?.["credentials"]);
  const transaction = object(answer.body["transactionToken"]);
  const encryptedData = nonEmpty(credentials?.["encryptedData"]);
  const payload = nonEmpty(credentials?.["payload"]);
  const token = nonEmpty(transaction?.["token"]);
  if (vault === undefined || encryptedData === null || payload === null || token === null)
    return undefined;
  if (nonEmpty(vault["uuid"])?.toLowerCase() !== call.uuid.toLowerCase()) return undefined;
  return {
    vault,
    pair: { encryptedData, payload },
    token,
    tokenExpiry: date(transaction?.["expiry"]),
    ...factsOf(vault),
    warnings: deviations(call, answer),
  };
}

/** Reads what is usable of these properties. */
export function factsOf(vault: Record<string, unknown>): AnsweredFacts {
  const uses = vault["usesRemaining"];
  return {
    usesRemaining: typeof uses === "number" && Number.isSafeInteger(uses) ? uses : null,
    expiryDate: date(vault["expiryDate"]),
    autoLockDate: date(vault["autoLockDate"]),
    dateCreated: date(vault["dateCreated"]),
    lastModified: date(vault["lastModified"]),
  };
}

/** Whether the answer says SUCCESS, which is all that an end call needs. */
export function isSuccess(answer: Answer): boolean {
  return object(answer.body["responseStatus"])?.["status"] === "SUCCESS";
}

function deviations(call: StartedWith, answer: Answer): string[] {
  const warnings = brokenRules(responseSchema({ ...call, step: "start" }), answer);
  if (answer.httpStatus < 200 || answer.httpStatus > 299)
    warnings.push(`the service responded SUCCESS with HTTP ${answer.httpStatus}`);
  return warnings;
}

/** The rules of a schema that an answer breaks, a sentence each. */
export function brokenRules(schema: z.core.$ZodType, { body }: Answer): string[] {
  const checked = validate(schema, body);
  return checked.ok
    ? []
    : checked.violations.map((v) => `the service's response: ${v.path || "body"} ${v.rule}`);
}

/** The value if it is a string that is not empty, else null. */
export const nonEmpty = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

export const object = (value: unknown): Record<string, unknown> | undefined =>
  isObject(value) ? value : undefined;

/**
 * A date-time in a form that `Date.parse` reads correctly, or null if it cannot be read. Converts forms that `Date.parse` would
 * refuse or take for local time, or that have an offset, to UTC.
 */
export function date(value: unknown): string | null {
  const time = typeof value === "string" ? instant(value) : null;
  if (typeof value !== "string" || time === null) return null;
  return value.endsWith("Z") && Date.parse(value) === time ? value : new Date(time).toISOString();
}
