import * as z from "zod/mini";
import type { Answer, AnsweredFacts, Pair } from "./answers.ts";
import { brokenRules, factsOf, isSuccess, nonEmpty, object, responseStatus } from "./answers.ts";
import { dateTime, metadata, positiveLong } from "./fields.ts";
import { isUuid } from "./limits.ts";

/** Any JSON object: the answers of extended operations are not documented, so they are read leniently. */
type Json = Record<string, unknown>;

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
  const pair = search(body, ["vault", "credentials"], pairIn);
  const uuid = search(body, ["vault"], uuidIn);
  if (pair === undefined || uuid === undefined) return undefined;
  const vault = object(body["vault"]) ?? body;
  const usesRemaining = vault["usesRemaining"] ?? body["usesRemaining"] ?? vault["maxUsage"];
  return { vault, uuid, pair, ...factsOf({ ...vault, ...body, usesRemaining }) };
}

function pairIn(value: Json): Pair | undefined {
  const encryptedData = nonEmpty(value["encryptedData"]);
  const payload = nonEmpty(value["payload"]);
  return encryptedData === null || payload === null ? undefined : { encryptedData, payload };
}

const uuidIn = (value: Json): string | undefined =>
  ["uuid", "vaultUuid", "vaultUUID", "vaultId", "id"]
    .map((name) => value[name])
    .find((text): text is string => typeof text === "string" && isUuid(text));

/** Depth to which answers are searched. */
const deepest = 4;

/** What is found first in an object or those in it; never in the application, the transaction or an error. */
function search<T>(
  value: Json,
  preferred: readonly string[],
  find: (one: Json) => T | undefined,
  depth = 0,
): T | undefined {
  const found = find(value);
  if (found !== undefined || depth === deepest) return found;
  for (const one of inner(value, preferred)) {
    const deeper = search(one, preferred, find, depth + 1);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
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

export interface InfoSuccess extends AnsweredFacts {
  /** The service's own fields, without its status. */
  info: Json;
  metadata: Readonly<Record<string, string>> | null;
  /** Deviations from the documentation, a sentence each. */
  warnings: string[];
}

/** Reads an info response: any SUCCESS, with fields at the top level or under `vault`. Undefined for anything else. */
export function readInfo(answer: Answer): InfoSuccess | undefined {
  if (!isSuccess(answer)) return undefined;
  const { responseStatus: _status, ...info } = answer.body;
  const all: Json = { ...object(info["vault"]), ...info };
  const found = all["metadata"];
  const pairs = Object.entries(object(found) ?? {}).filter(
    (pair): pair is [string, string] => typeof pair[1] === "string",
  );
  return {
    info,
    ...factsOf(all),
    metadata: object(found) === undefined ? null : Object.fromEntries(pairs),
    warnings: brokenRules(infoSchema, answer),
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
