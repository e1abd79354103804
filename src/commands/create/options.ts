import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { isOnline, kindList } from "../../protocol/endpoints.ts";
import type { Metadata } from "../../protocol/fields.ts";
import {
  instant,
  metadata as metadataField,
  metadataKey,
  metadataValue,
} from "../../protocol/fields.ts";
import { validate } from "../../protocol/validate.ts";
import { checkContentsOptions } from "../../input/contents.ts";
import type { CreateOptions } from "../create.ts";

/**
 * Refuses what does not belong to the kind.
 * @throws `usage`, and `invalid-input` for an expiry date that has passed
 */
export function checkCreateOptions(options: CreateOptions, chosen: Kind, now: number): void {
  checkContentsOptions(options, chosen);
  const offlineOnly = (["maxUsage", "expiryDate"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (isOnline(chosen) && offlineOnly !== undefined) {
    const flag = offlineOnly === "maxUsage" ? "--max-usage" : "--expiry-date";
    throw new VaultError("usage", `${flag} is for offline vaults only; nothing was sent`, {
      hint: `leave it out, or choose another --kind: ${kindList}`,
    });
  }
  if (!isOnline(chosen) && options.hashedPin !== undefined) {
    throw new VaultError("usage", "--hashed-pin is for online vaults only; nothing was sent", {
      hint: `leave it out, or choose another --kind: ${kindList}`,
    });
  }
  const expiry = options.expiryDate === undefined ? undefined : instant(options.expiryDate);
  if (expiry === null)
    throw new VaultError(
      "invalid-input",
      "--expiry-date: must be an ISO 8601 date-time, such as 2029-04-30T00:00:00Z; nothing was sent",
    );
  if (expiry !== undefined && expiry <= now) {
    throw new VaultError(
      "invalid-input",
      `--expiry-date: ${options.expiryDate} has passed, and the service would delete the vault immediately`,
      {
        hint: "nothing was sent; use a future date, such as 2029-04-30T00:00:00Z",
      },
    );
  }
}

/** @throws `invalid-input` naming the pair by its key */
export function readMetadata(given: readonly string[] | undefined): Metadata | undefined {
  if (given === undefined) return undefined;
  const fail = (what: string): never => {
    throw new VaultError("invalid-input", `--metadata: ${what}`, {
      hint: "nothing was sent; a valid entry: --metadata 'cost-center=EU-West 7'",
    });
  };
  const pairs: Record<string, string> = {};
  for (const pair of given) {
    const at = pair.indexOf("=");
    if (at === -1) return fail(`${JSON.stringify(pair)} must be KEY=VALUE`);
    const key = pair.slice(0, at);
    if (Object.hasOwn(pairs, key)) return fail(`${key} is given twice`);
    for (const checked of [
      validate(metadataKey, key),
      validate(metadataValue, pair.slice(at + 1)),
    ]) {
      if (!checked.ok) return fail(`${JSON.stringify(key)} ${checked.violations[0]?.rule}`);
    }
    pairs[key] = pair.slice(at + 1);
  }
  const all = validate(metadataField, pairs);
  return all.ok ? all.value : fail(all.violations[0]?.rule ?? "does not fit");
}
