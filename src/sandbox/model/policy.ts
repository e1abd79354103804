import { BlockList, isIPv4 } from "node:net";
import * as z from "zod/mini";
import { parseGivenJson } from "../../protocol/json.ts";
import { checkGiven } from "../../protocol/validate.ts";
import { defaults } from "../../protocol/limits.ts";
import { objectOf } from "../seeds/object-of.ts";
import { jwtPolicy } from "./jwt.ts";

const whole = (least: number, standard: number) => {
  const error = `must be a whole number of at least ${least}, like ${standard}`;
  return z._default(z.int({ error }).check(z.gte(least, { error })), standard);
};

/** Whether an entry is an IPv4 address or a CIDR range, such as `10.1.0.0/16`. */
function isWhitelistEntry(entry: string): boolean {
  const [address = "", bits = "32", ...more] = entry.split("/");
  return isIPv4(address) && /^\d{1,2}$/.test(bits) && Number(bits) <= 32 && more.length === 0;
}

const whitelistRule = 'must be a list of IPv4 addresses or ranges, like ["10.1.0.0/16"]';

/** Limits of the emulated service, and choices that the interface leaves open (docs/interface.md, Unknown). */
const policy = objectOf(
  {
    /** Consecutive failed attempts that lock a vault. */
    failedAttempts: whole(1, defaults.failedAttempts),
    /** Consecutive starts without an acknowledgement that lock a vault; the start that reaches the limit is refused. */
    unackedStarts: whole(1, defaults.unackedStarts),
    /** Lifetime of a transaction token. */
    tokenTtlMs: whole(1, defaults.tokenLifetimeMs),
    /** Requests per application in any window of one second; 0 is no limit. */
    rate: whole(0, defaults.rate),
    /** Time from an accepted start to the autoLockDate. */
    autoLockAfterMs: whole(1, defaults.autoLockAfterMs),
    /** Whether a repeated end call succeeds after the first one did; otherwise it is an error. */
    idempotentEnd: z._default(z.boolean({ error: "must be true or false" }), false),
    /** JWT that offline vault endpoints require; null for none. */
    jwt: z._default(z.nullable(jwtPolicy), null),
    /** IPv4 addresses and CIDR ranges that may call; an empty list allows all. */
    whitelist: z._default(
      z
        .array(z.string(), { error: whitelistRule })
        .check(z.refine((list) => list.every(isWhitelistEntry), { error: whitelistRule })),
      [],
    ),
  },
  "setting",
  'must be an object, such as {"failedAttempts":3,"tokenTtlMs":300000}',
);
export type Policy = z.infer<typeof policy>;

export const defaultPolicy: Policy = policy.parse({});

/**
 * Checks a partial policy and completes it with the defaults.
 * @throws `invalid-input` naming the setting
 */
export const completePolicy = (given: unknown, where = "policy"): Policy =>
  checkGiven(policy, given, where, undefined, "place");

/**
 * Parses a policy, as `--policy FILE` has it.
 * @throws `invalid-input` naming the setting
 */
export const parsePolicy = (text: string, source: string): Policy =>
  completePolicy(parseGivenJson(text, source, 'for example {"failedAttempts":3}'), source);

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
