import * as z from "zod/mini";
import {
  actor,
  counters,
  count,
  credentials,
  device,
  errorBody,
  fingerprint,
  kind,
  maybeText,
  maybeTime,
  next,
  recovery,
  storedExchange,
  text,
  time,
  vault,
} from "./exchange.ts";
import { holdReasons, openStates, standings, type HoldReason } from "../exchange/states.ts";

const exchange = z.object({
  ...storedExchange,
  tokenSecondsLeft: z.nullable(count),
  holdReason: z.nullable(z.enum(Object.keys(holdReasons) as HoldReason[])),
  delivered: z.boolean(),
  saveOwed: z.boolean(),
  endsUnanswered: count,
  acknowledgedAt: maybeTime,
});

const listedVault = z.object({
  ...vault,
  service: text,
  kind,
  generation: z.nullable(count),
  fingerprint: z.nullable(fingerprint),
  /** The service has accepted these credentials, or handed them out. */
  proven: z.nullable(z.boolean()),
  /** As the table has it. */
  status: z.enum([
    "ready",
    "in-use",
    "unverified",
    "at risk",
    "forgotten",
    "locked",
    "gone",
    "started",
    "held",
    "acknowledging",
    "in doubt",
    "start unanswered",
    "delete unanswered",
    "rejected",
  ]),
  /** The process that has the vault, and since when. */
  inUse: z.nullable(z.object({ by: actor, since: time })),
  exchange: z.nullable(exchange),
  next,
  ...counters,
  atRisk: z.boolean(),
  locked: z.boolean(),
  lastReadAt: maybeTime,
  usesRemaining: z.nullable(count),
  expiryDate: maybeTime,
  autoLockDate: maybeTime,
  dateCreated: maybeTime,
  lastModified: maybeTime,
  lastError: z.nullable(z.object({ at: time, code: text, message: text })),
  /** With --history. */
  generations: z.optional(
    z.array(
      z.object({
        generation: count,
        standing: z.enum(standings),
        proven: z.boolean(),
        fingerprint,
        createdAt: time,
      }),
    ),
  ),
  exchanges: z.optional(z.array(exchange)),
});

const vaultGuard = z.object({
  ...vault,
  ...counters,
  allows: z.boolean(),
  refuses: maybeText,
  next,
});

/** Circuit breaker of a service after an unanswered start. Open, it allows one trial at a time. */
const serviceBreaker = z.object({
  service: text,
  state: z.enum(["closed", "open"]),
  /** The last start without a response; null if it is closed. */
  lostAt: maybeTime,
  /** When the next trial is due, later for vaults with unanswered starts; null if closed or now. */
  trialDueAt: maybeTime,
  lostTrials: count,
  httpStatus: z.nullable(count),
});

/** `proven`: a start with these credentials, or their acknowledgement, has succeeded before. */
const imported = z.object({ ...vault, kind, generation: count, fingerprint, proven: z.boolean() });
const place = { line: z.optional(count), item: z.optional(count) };

const exported = z.object({
  ...vault,
  kind,
  credentials: z.union([recovery, credentials]),
  device: z.optional(device),
});

const holdings = {
  file: text,
  /** Exchanges that wait for an acknowledgement, or are in doubt. */
  pending: count,
  /** Of the key that opens the encrypted values; null if there are none. */
  keyId: maybeText,
  format: count,
};

/**
 * What a restore did with a vault. `taken`: unknown here. `returned`: forgotten here. `first`,
 * `after`: the file has credentials unknown here, tried before those here, or after them. `older`:
 * what it has was superseded here. `gone`: deleted since. `known`: nothing new.
 */
const restoredVault = z.object({
  ...vault,
  service: text,
  reason: z.enum(["known", "older", "gone", "taken", "returned", "first", "after"]),
  /** The exchange that is open now, and which state it is from. */
  exchange: z.nullable(
    z.object({ id: text, state: z.enum(openStates), from: z.enum(["here", "file"]) }),
  ),
  /** The label of the vault in the file, if another vault has it. */
  droppedLabel: maybeText,
});

const lock = z.object({
  uuid: text,
  holder: actor,
  since: time,
  /** Null for a state on this machine: the system releases the lock when its process ends. */
  endsAt: maybeTime,
});

export const state = {
  status: z.object({ vaults: z.array(listedVault) }),
  guard: z.object({ vaults: z.array(vaultGuard), breakers: z.array(serviceBreaker) }),
  import: z.object({
    imported: z.array(imported),
    failed: z.array(z.object({ ...place, ...vault, error: errorBody })),
  }),
  /** A list with --all --json, and with --all a line a vault. */
  export: z.union([exported, z.array(exported)]),
  forget: z.object({ forgotten: z.array(z.object(vault)) }),
  label: z.object({ ...vault, label: text }),
  /** `keyFile` is null if the key is given. */
  "state init": z.object({ state: text, keyFile: maybeText, created: z.boolean() }),
  "state backup": z.object({
    backup: z.object({
      ...holdings,
      vaults: count,
      at: time,
      bytes: count,
      key: z.object({ inBackup: z.literal(false), source: text, file: maybeText }),
    }),
  }),
  "state restore": z.object({
    restored: z.object({ ...holdings, state: text, vaults: z.array(restoredVault) }),
    /** Vaults that others held for too long: nothing of them was restored. */
    failed: z.array(z.object({ ...vault, service: text, error: errorBody })),
  }),
  "state rekey": z.object({
    rekeyed: z.object({
      from: z.array(text),
      to: text,
      source: z.enum(["file", "given"]),
      /** Null if the new key was given. */
      keyFile: maybeText,
      states: z.array(text),
      values: count,
      /** Those that have used the state, by their names. */
      machines: z.array(text),
    }),
  }),
  /** `vaults` is null if an interrupted move was finished. */
  "state move": z.object({ moved: z.object({ from: text, to: text, vaults: z.nullable(count) }) }),
  "state claim": z.object({ claimed: z.object({ state: text }) }),
  "state locks": z.object({ locks: z.array(lock) }),
};

export type BackupFacts = Omit<z.infer<(typeof state)["state backup"]>["backup"], "key">;
export type RekeyFacts = z.infer<(typeof state)["state rekey"]>["rekeyed"];
export type Lock = z.infer<typeof lock>;
export type RestoredVault = z.infer<typeof restoredVault>;
export type ListedVault = z.infer<typeof listedVault>;
export type VaultGuard = z.infer<typeof vaultGuard>;
export type ServiceBreaker = z.infer<typeof serviceBreaker>;
export type Imported = z.infer<typeof imported>;
export type ExportedVault = z.infer<typeof exported>;
export type ExchangeStatus = z.infer<typeof exchange>;
