import * as z from "zod/mini";
import { isCreditCard, isOnline, type Endpoint, type Kind, type Operation } from "./endpoints.ts";
import { anyInteger, creditCard, dateTime, instant, opaque, positiveLong, uuid } from "./fields.ts";
import { isObject } from "./json.ts";
import { isUuid } from "./limits.ts";
import { offlineCredentials } from "./requests.ts";
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
const responseStatus = z.looseObject({
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

export type Pair = z.infer<typeof offlineCredentials>;

const everyVault = {
  credentials: z.looseObject(offlineCredentials.shape),
  uuid,
  autoLockDate: z.optional(dateTime),
  dateCreated: z.optional(dateTime),
  lastModified: z.optional(dateTime),
};
const ofOffline = { usesRemaining: z.optional(positiveLong), expiryDate: z.optional(dateTime) };

/** The vault of a start response, with the fields of the endpoint (docs/interface.md, Vault). */
export function responseVault({ kind, operation }: Pick<Endpoint, "kind" | "operation">) {
  const fields = isOnline(kind) ? everyVault : { ...everyVault, ...ofOffline };
  const contents = isCreditCard(kind) ? { creditCard } : { content: z.string() };
  return z.looseObject({ ...fields, ...(operation !== "update" && contents) });
}

/** The schema of an endpoint's SUCCESS response (docs/interface.md, Responses); unknown fields are allowed. */
export function responseSchema(endpoint: Pick<Endpoint, "kind" | "operation" | "step">) {
  if (endpoint.step === "end") return z.looseObject({ responseStatus });
  return z.looseObject({ responseStatus, transactionToken, vault: responseVault(endpoint) });
}

type Json = Record<string, unknown>;

/** A whole HTTP answer whose body is a JSON object. */
export interface Answer {
  httpStatus: number;
  body: Json;
  /** Seconds, from the `Retry-After` header (also a date) or `retryAfter` of the body. */
  retryAfter?: number | undefined;
}

/** What a response says of a vault, beside its contents; null if missing or unreadable. */
function factsOf(vault: Json) {
  const uses = vault["usesRemaining"];
  return {
    usesRemaining: typeof uses === "number" && Number.isSafeInteger(uses) ? uses : null,
    expiryDate: date(vault["expiryDate"]),
    autoLockDate: date(vault["autoLockDate"]),
    dateCreated: date(vault["dateCreated"]),
    lastModified: date(vault["lastModified"]),
  };
}

type AnsweredFacts = ReturnType<typeof factsOf>;

export type VaultDates = Omit<AnsweredFacts, "usesRemaining">;

/** All that is needed of a start response. */
const accepted = z.object({
  responseStatus: z.object({ status: z.literal("SUCCESS") }),
  transactionToken: z.object({ token: opaque, expiry: z.optional(z.unknown()) }),
  vault: z.object({ credentials: offlineCredentials, uuid: opaque }),
});

/** An accepted start response. `vault` is the service's own object, unchanged. */
export interface StartSuccess extends AnsweredFacts {
  vault: Json;
  pair: Pair;
  token: string;
  tokenExpiry: string | null;
  /** Deviations from the interface, a sentence each; never a reason to refuse new credentials. */
  warnings: string[];
}

/**
 * Reads a start response by the rule that keeps credentials safe: accepts a SUCCESS with both credential strings, a token and the
 * right uuid, whatever else is wrong with it. Returns undefined for anything less.
 */
export function readStartSuccess(
  call: { uuid: string; kind: Kind; operation: Operation },
  answer: Answer,
): StartSuccess | undefined {
  const { data } = accepted.safeParse(answer.body);
  if (data?.vault.uuid.toLowerCase() !== call.uuid.toLowerCase()) return undefined;
  const vault = answer.body["vault"] as Json;
  const warnings = validate(responseSchema({ ...call, step: "start" }), answer.body).violations.map(
    ({ path, rule }) => `the service's response: ${path || "body"} ${rule}`,
  );
  if (answer.httpStatus < 200 || answer.httpStatus > 299)
    warnings.push(`the service responded SUCCESS with HTTP ${answer.httpStatus}`);
  return {
    vault,
    pair: data.vault.credentials,
    token: data.transactionToken.token,
    tokenExpiry: date(data.transactionToken.expiry),
    ...factsOf(vault),
    warnings,
  };
}

/** Whether the answer says SUCCESS, which is all that an end call needs. */
export function isSuccess(answer: Answer): boolean {
  return object(answer.body["responseStatus"])?.["status"] === "SUCCESS";
}

export const object = (value: unknown): Json | undefined => (isObject(value) ? value : undefined);

/**
 * A date-time in a form that `Date.parse` reads correctly, or null if it cannot be read. Converts forms that `Date.parse` would
 * refuse or take for local time, or that have an offset, to UTC.
 */
export function date(value: unknown): string | null {
  const time = typeof value === "string" ? instant(value) : null;
  if (typeof value !== "string" || time === null) return null;
  return value.endsWith("Z") && Date.parse(value) === time ? value : new Date(time).toISOString();
}

/** An accepted create response. */
export interface CreateSuccess extends AnsweredFacts {
  /** The service's own object, unchanged: `vault`, or the answer without its status. */
  vault: Json;
  uuid: string;
  pair: Pair;
}

/**
 * Reads a create response: a SUCCESS with a credential pair and a uuid, under `vault`, at the top level or in another object; the
 * pair inside `credentials` or beside the uuid. Undefined for anything less.
 */
export function readCreateSuccess(answer: Answer): CreateSuccess | undefined {
  if (!isSuccess(answer)) return undefined;
  const { responseStatus: _status, ...body } = answer.body;
  const vault = object(body["vault"]) ?? body;
  // Never of the application, the transaction, an error, a list, or what a user has named.
  const inner = within(body, /^(?:application|transaction|err|device|metadata|\[)/i);
  const objects = [vault, ...inner.map(([, value]) => value).filter(isObject)];
  const pair = objects.map((one) => offlineCredentials.safeParse(one).data).find((one) => one);
  const uuid = objects.map(uuidIn).find((one) => one !== undefined);
  if (pair === undefined || uuid === undefined) return undefined;
  const usesRemaining = vault["usesRemaining"] ?? body["usesRemaining"] ?? vault["maxUsage"];
  return { vault, uuid, pair, ...factsOf({ ...vault, ...body, usesRemaining }) };
}

const uuidIn = (value: Json): string | undefined =>
  ["uuid", "vaultUuid", "vaultUUID", "vaultId", "id"]
    .map((name) => value[name])
    .find((text): text is string => typeof text === "string" && isUuid(text));

/**
 * A value and those within it, five levels deep, each after the names on the way to it: outer ones first, and a vault before all else
 * of its level. Fields with `passed` names are left out; those of a list are `[0]`, `[1]`.
 */
function within(value: unknown, passed: RegExp): [path: string, value: unknown][] {
  const isVault = ([path]: [string, unknown]): number => Number(path.endsWith(".vault"));
  let level: [string, unknown][] = [["", value]];
  let found = level;
  for (let levels = 5; levels > 0; levels -= 1) {
    level = level
      .flatMap(([path, outer]) =>
        Object.entries(typeof outer === "object" && outer !== null ? outer : {})
          .map(([key, inner]) => [Array.isArray(outer) ? `[${key}]` : key, inner] as const)
          .filter(([name]) => !passed.test(name))
          .map(([name, inner]): [string, unknown] => [`${path}.${name}`, inner]),
      )
      .toSorted((a, b) => isVault(b) - isVault(a));
    found = found.concat(level);
  }
  return found;
}

/**
 * Reads an info response (docs/interface.md, Extended operations): any SUCCESS, with each field optional, at the top level or under
 * `vault`. `info` is the service's own object without its status. Undefined for anything else.
 */
export function readInfo(answer: Answer) {
  if (!isSuccess(answer)) return undefined;
  const { responseStatus: _status, ...info } = answer.body;
  const all: Json = { ...object(info["vault"]), ...info };
  const pairs = Object.entries(object(all["metadata"]) ?? {});
  const texts = pairs.filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return { info, ...factsOf(all), metadata: Object.fromEntries(texts) };
}

/** Whether an answer names another vault than this one. */
export function isOtherVault(answer: Answer, uuid: string): boolean {
  const named = [
    answer.body["uuid"],
    answer.body["vaultUuid"],
    object(answer.body["vault"])?.["uuid"],
  ];
  return named.some((one) => typeof one === "string" && one.toLowerCase() !== uuid.toLowerCase());
}

/**
 * The error uuid, whose field is not documented: the first identifier in a field with "err" and "id" in its name, else in its path, else
 * in any "id" field that is not about the vault, the application or the transaction.
 */
export function findErrorUuid(body: unknown): string | undefined {
  const ids = within(body, /^(?:vault|application|transaction)/i).filter(
    (one): one is [string, string] =>
      typeof one[1] === "string" && /^[0-9a-fA-F-]{32,36}$/.test(one[1]),
  );
  return [/\.[^.]*(err[^.]*id|id[^.]*err[^.]*)$/i, /err.*id$|id.*err/i, /id$/i]
    .map((form) => ids.find(([path]) => form.test(path))?.[1])
    .find((id) => id !== undefined);
}
