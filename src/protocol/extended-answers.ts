import * as z from "zod/mini";
import type { Answer, Pair } from "./answers.ts";
import { date, isSuccess, nonEmpty, object, responseStatus } from "./answers.ts";
import { dateTime, metadata, positiveLong } from "./fields.ts";
import { validate } from "./validate.ts";

/** Any JSON object: the answers of extended operations are not documented, so they are read leniently. */
type Json = Record<string, unknown>;

/** The dates of a vault; null if missing or unreadable. */
export interface VaultDates {
  expiryDate: string | null;
  autoLockDate: string | null;
  dateCreated: string | null;
  lastModified: string | null;
}

/** An accepted create response. */
export interface CreateSuccess extends VaultDates {
  /** The service's own object, unchanged: `vault`, or the answer without its status. */
  vault: Json;
  uuid: string;
  pair: Pair;
  usesRemaining: number | null;
}

/**
 * Reads a create response: a SUCCESS with a credential pair and a uuid, under `vault`, at the top level or in another object; the
 * pair inside `credentials` or beside the uuid. Undefined for anything less.
 */
export function readCreateSuccess(answer: Answer): CreateSuccess | undefined {
  if (!isSuccess(answer)) return undefined;
  const { responseStatus: _status, ...body } = answer.body;
  const pair = findPair(body, 0);
  const uuid = findUuid(body);
  if (pair === undefined || uuid === undefined) return undefined;
  const vault = object(body["vault"]) ?? body;
  const uses = vault["usesRemaining"] ?? body["usesRemaining"] ?? vault["maxUsage"];
  return {
    vault,
    uuid,
    pair,
    usesRemaining: typeof uses === "number" && Number.isSafeInteger(uses) ? uses : null,
    ...datesOf(body),
  };
}

/** Depth to which answers are searched. */
const deepest = 4;

function findPair(value: Json, depth: number): Pair | undefined {
  const encryptedData = nonEmpty(value["encryptedData"]);
  const payload = nonEmpty(value["payload"]);
  if (encryptedData !== null && payload !== null) return { encryptedData, payload };
  return depth === deepest
    ? undefined
    : first(inner(value, ["vault", "credentials"]), (one) => findPair(one, depth + 1));
}

/** The uuid of the vault, never that of the application, the transaction or an error. */
function findUuid(body: Json): string | undefined {
  const own = (value: Json): string | undefined =>
    ["uuid", "vaultUuid", "vaultUUID", "vaultId", "id"]
      .map((name) => value[name])
      .find((text): text is string => typeof text === "string" && /^[0-9a-fA-F-]{36}$/.test(text));
  const search = (value: Json, depth: number): string | undefined =>
    own(value) ??
    (depth === deepest
      ? undefined
      : first(inner(value, ["vault"]), (one) => search(one, depth + 1)));
  return search(body, 0);
}

/** The objects in an object, those with preferred names first. */
function inner(value: Json, preferred: readonly string[]): Json[] {
  const names = Object.keys(value).filter(
    (name) => !/^(application|transaction|err|device)/i.test(name),
  );
  const rank = (name: string): number => (preferred.includes(name) ? 0 : 1);
  return names
    .toSorted((a, b) => rank(a) - rank(b))
    .map((name) => object(value[name]))
    .filter((one) => one !== undefined);
}

function first<T>(objects: readonly Json[], find: (one: Json) => T | undefined): T | undefined {
  for (const one of objects) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Every field is optional, and at the top level (docs/interface.md, Extended operations). */
const infoSchema = z.looseObject({
  responseStatus,
  autoLockDate: z.optional(dateTime),
  dateCreated: z.optional(dateTime),
  lastModified: z.optional(dateTime),
  metadata: z.optional(metadata),
  usesRemaining: z.optional(positiveLong),
  expiryDate: z.optional(dateTime),
});

export interface InfoSuccess extends VaultDates {
  /** The service's own fields, without its status. */
  info: Json;
  usesRemaining: number | null;
  metadata: Readonly<Record<string, string>> | null;
  /** Deviations from the documentation, a sentence each. */
  warnings: string[];
}

/** Reads an info response: any SUCCESS, with fields at the top level or under `vault`. Undefined for anything else. */
export function readInfo(answer: Answer): InfoSuccess | undefined {
  if (!isSuccess(answer)) return undefined;
  const { responseStatus: _status, ...info } = answer.body;
  const { usesRemaining: uses, metadata: found } = { ...object(info["vault"]), ...info };
  const pairs = Object.entries(object(found) ?? {}).filter(
    (pair): pair is [string, string] => typeof pair[1] === "string",
  );
  const checked = validate(infoSchema, answer.body);
  return {
    info,
    ...datesOf(info),
    usesRemaining: typeof uses === "number" && Number.isSafeInteger(uses) ? uses : null,
    metadata: object(found) === undefined ? null : Object.fromEntries(pairs),
    warnings: checked.ok
      ? []
      : checked.violations.map((v) => `the service's response: ${v.path || "body"} ${v.rule}`),
  };
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

function datesOf(body: Json): VaultDates {
  const all = { ...object(body["vault"]), ...body };
  return {
    expiryDate: date(all["expiryDate"]),
    autoLockDate: date(all["autoLockDate"]),
    dateCreated: date(all["dateCreated"]),
    lastModified: date(all["lastModified"]),
  };
}
