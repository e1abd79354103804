import fs from "node:fs";
import { BlockList, isIPv4 } from "node:net";
import { VaultError } from "../../errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { defaults } from "../../protocol/limits.ts";
import type { JwtPolicy } from "./jwt.ts";
import { jwtPolicyFault } from "./jwt.ts";

/** Limits of the emulated service, and choices that the specification leaves open. */
export interface Policy {
  /** Consecutive failed attempts that lock a vault. */
  failedAttempts: number;
  /** Consecutive starts without an acknowledgement that lock a vault; the start that reaches the limit is refused. */
  unackedStarts: number;
  /** Lifetime of a transaction token. */
  tokenTtlMs: number;
  /** Requests per application in any window of one second; 0 is no limit. */
  rate: number;
  /** Time from an accepted start to the autoLockDate. */
  autoLockAfterMs: number;
  /** Whether a repeated end call succeeds after the first one did; otherwise it is an error. */
  idempotentEnd: boolean;
  /** JWT that offline vault endpoints require (section 5.4); null for none. */
  jwt: JwtPolicy | null;
  /** IPv4 addresses and CIDR ranges that may call (section 5.5); an empty list allows all. */
  whitelist: string[];
}

/** Service-facts: FAQ and reference/rate-limit. */
export const defaultPolicy: Policy = {
  failedAttempts: defaults.failedAttempts,
  unackedStarts: defaults.unackedStarts,
  tokenTtlMs: defaults.tokenLifetimeMs,
  rate: defaults.rate,
  autoLockAfterMs: defaults.autoLockAfterMs,
  idempotentEnd: false,
  jwt: null,
  whitelist: [],
};

const minimum: Record<Exclude<keyof Policy, "idempotentEnd" | "jwt" | "whitelist">, number> = {
  failedAttempts: 1,
  unackedStarts: 1,
  tokenTtlMs: 1,
  rate: 0,
  autoLockAfterMs: 1,
};

/**
 * Checks a partial policy and completes it with the defaults.
 * @throws `invalid-input` naming the setting
 */
export function completePolicy(given: unknown, where = "policy"): Policy {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new VaultError(
      "invalid-input",
      `${where}: must be an object, such as {"failedAttempts":3,"tokenTtlMs":300000}`,
    );
  }
  const entries = Object.entries(given as Record<string, unknown>).filter(
    ([, value]) => value !== undefined,
  );
  for (const [name, value] of entries) checkSetting(name, value, where);
  return { ...defaultPolicy, ...(Object.fromEntries(entries) as Partial<Policy>) };
}

function checkSetting(name: string, value: unknown, where: string): void {
  if (!Object.hasOwn(defaultPolicy, name)) {
    const hint = `known settings: ${Object.keys(defaultPolicy).join(", ")}`;
    throw new VaultError("invalid-input", `${where}: ${name} is not a setting`, { hint });
  }
  if (name === "idempotentEnd") {
    if (typeof value !== "boolean")
      throw new VaultError("invalid-input", `${where}: idempotentEnd must be true or false`);
    return;
  }
  if (name === "jwt") {
    const fault = value === null ? undefined : jwtPolicyFault(value);
    if (fault !== undefined) throw new VaultError("invalid-input", `${where}: ${fault}`);
    return;
  }
  if (name === "whitelist") {
    if (Array.isArray(value) && value.every(isWhitelistEntry)) return;
    throw new VaultError(
      "invalid-input",
      `${where}: whitelist must be a list of IPv4 addresses or ranges, like ["10.1.0.0/16"]`,
    );
  }
  const least = minimum[name as keyof typeof minimum];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least) {
    throw new VaultError(
      "invalid-input",
      `${where}: ${name} must be a whole number of at least ${least}, like ${defaultPolicy[name as keyof typeof minimum]}`,
    );
  }
}

/**
 * Reads the policy of `--policy FILE`.
 * @throws `invalid-input` if the file cannot be read, is not JSON or is invalid
 */
export function readPolicy(file: string): Partial<Policy> {
  let given: unknown;
  try {
    given = parseJson(fs.readFileSync(file, "utf8"));
  } catch (cause) {
    throw new VaultError("invalid-input", `--policy ${file}: cannot be read as JSON`, {
      hint: 'for example {"failedAttempts":3}',
      cause,
    });
  }
  completePolicy(given, `--policy ${file}`);
  return given as Partial<Policy>;
}

/** Section 5.5: whether an entry is an IPv4 address or a CIDR range, like `10.1.0.0/16`. */
function isWhitelistEntry(entry: unknown): entry is string {
  if (typeof entry !== "string") return false;
  const [address = "", bits = "32", ...more] = entry.split("/");
  return isIPv4(address) && /^\d{1,2}$/.test(bits) && Number(bits) <= 32 && more.length === 0;
}

/** Whether an address is in one of the ranges. An empty list allows every address. */
export function isWhitelisted(remoteAddress: string, entries: readonly string[]): boolean {
  if (entries.length === 0) return true;
  const address = remoteAddress.replace(/^::ffff:/i, "");
  const ranges = new BlockList();
  for (const entry of entries) {
    const [network = "", bits = "32"] = entry.split("/");
    ranges.addSubnet(network, Number(bits), "ipv4");
  }
  return isIPv4(address) && ranges.check(address, "ipv4");
}
