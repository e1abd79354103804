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
  const objects = [...objectsIn(body["vault"]), ...objectsIn(body)];
  const pair = objects.map(pairIn).find((one) => one !== undefined);
  const uuid = objects.map(uuidIn).find((one) => one !== undefined);
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

/** An object and those in it, outer ones first; never the application, the transaction or an error. */
function* objectsIn(value: unknown, levels = 4): Generator<Json> {
  const one = object(value);
  if (one === undefined || levels < 0) return;
  yield one;
  for (const [name, inner] of Object.entries(one))
    if (!/^(application|transaction|err|device)/i.test(name)) yield* objectsIn(inner, levels - 1);
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
