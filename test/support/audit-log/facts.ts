import type { Kind } from "../../../src/protocol/endpoints.ts";

/** What truly happened, whatever an export calls it. */
export type What =
  | "create"
  | "read"
  | "update"
  | "ack-read"
  | "ack-update"
  | "delete"
  /** By the service: its expiryDate, or no uses remain. */
  | "expired"
  | "used-up"
  /** Bad credentials: a failed access. */
  | "failed-read"
  | "failed-update"
  | "failed-delete"
  /** The start that is one too many without acknowledgement. */
  | "locking-read"
  | "locking-update"
  /** Of a locked vault. */
  | "refused-read"
  | "refused-update"
  /** An end call that was refused: a wrong token. */
  | "failed-ack-read"
  | "failed-ack-update"
  /** An administrator. */
  | "lock"
  | "unlock"
  /** A failed check of the application's key: no matter of any vault, even where the item names one. */
  | "key-check";

/** One thing that happened; `mark` where the truth refers to it. */
export interface Fact {
  what: What;
  id: string;
  /** Milliseconds since the epoch. */
  time: number;
  uuid: string | null;
  kind: Kind;
  application: string;
  externalRef: string | null;
  /** Null for what the service does by itself. */
  address: string | null;
  /** The failed access that locks. */
  locks: boolean;
  /** False: the export does not show it. */
  recorded: boolean;
  mark: TruthItem | null;
}

/** Where an item is that the truth speaks of. */
export interface TruthItem {
  id: string;
  time: number;
  /** Its place in the order of time, from 0; negative: it happened before the log begins. */
  index: number;
  /** Which file, from 0. */
  part: number;
  /** In that file: the line in which it begins, or in a JSON array its number; from 1. 0: it is not in the log. */
  line: number;
}

export type TruthVerdict = "locked" | "at-risk" | "open-exchange" | "deleted" | "ok";

export interface VaultTruth {
  uuid: string;
  kind: Kind;
  /** The script of how it ended. */
  ending: string;
  verdict: TruthVerdict;
  state: "active" | "exchange-open" | "locked" | "deleted";
  /** Milliseconds since the epoch. */
  lockedAt?: number;
  rule?: "failed-attempts" | "unacknowledged-starts" | "administrator";
  /** The item that locked. */
  causeItem?: TruthItem;
  /** The items that led to the lock or to the risk, oldest first; the last one of a lock is `causeItem`. */
  chain: TruthItem[];
  /** The last start that nobody acknowledged, where one is open. */
  pending?: TruthItem;
  /** Both at the end; of a locked vault as they were when it locked. Of a deleted one they mean nothing. */
  unackedStarts: number;
  failedAttempts: number;
  /** Items of this vault in the log, without repetitions and without failed key checks that name it. */
  items: number;
  firstAt: number;
  lastAt: number;
  /** False: the log begins in the middle of this vault's life. */
  baselineKnown: boolean;
  /** An administrator unlocked it once, of which the log has no item: there is simply activity afterwards. */
  unlockedUnseen: boolean;
}

export interface Truth {
  files: string[];
  /** Different items in the log, and how many of them are about the application only. */
  items: number;
  applicationItems: number;
  /** Items as they are in the files: repetitions counted. */
  written: number;
  /** What is no item, and a last line that was cut off. */
  garbage: { part: number; line: number }[];
  /** Of the first and the last item. */
  firstAt: number;
  asOf: number;
  /** Only vaults of which the log has an item. */
  vaults: Map<string, VaultTruth>;
  verdicts: Record<TruthVerdict, number>;
}

/** What the call behind an item was, and how it went. */
type Call =
  | "create"
  | "read"
  | "update"
  | "ack-read"
  | "ack-update"
  | "delete"
  | "lock"
  | "unlock"
  | "key-check";
type Result = "success" | "failed" | "locking" | "refused" | "failed-ack";

interface Meaning {
  call: Call;
  result: Result;
}

const meanings: Record<What, Meaning> = {
  create: { call: "create", result: "success" },
  read: { call: "read", result: "success" },
  update: { call: "update", result: "success" },
  "ack-read": { call: "ack-read", result: "success" },
  "ack-update": { call: "ack-update", result: "success" },
  delete: { call: "delete", result: "success" },
  expired: { call: "delete", result: "success" },
  "used-up": { call: "delete", result: "success" },
  "failed-read": { call: "read", result: "failed" },
  "failed-update": { call: "update", result: "failed" },
  "failed-delete": { call: "delete", result: "failed" },
  "locking-read": { call: "read", result: "locking" },
  "locking-update": { call: "update", result: "locking" },
  "refused-read": { call: "read", result: "refused" },
  "refused-update": { call: "update", result: "refused" },
  "failed-ack-read": { call: "ack-read", result: "failed-ack" },
  "failed-ack-update": { call: "ack-update", result: "failed-ack" },
  lock: { call: "lock", result: "success" },
  unlock: { call: "unlock", result: "success" },
  "key-check": { call: "key-check", result: "failed" },
};

export const meaningOf = ({ what }: Fact): Meaning => meanings[what];

/** Section 6, and names of our own where it has none. */
export const currentNames: Record<Call, string> = {
  create: "CREATE_VAULT",
  read: "READ_VAULT",
  update: "UPDATE_VAULT",
  "ack-read": "ACKNOWLEDGE_READ_VAULT",
  "ack-update": "ACKNOWLEDGE_UPDATE_VAULT",
  delete: "DELETE_VAULT",
  lock: "LOCK_VAULT",
  unlock: "UNLOCK_VAULT",
  "key-check": "API_KEY_CHECK",
};

export const formerNames: Record<Call, string> = {
  ...currentNames,
  create: "REGISTER_VAULT",
  read: "START_USE_VAULT",
  "ack-read": "COMPLETE_USE_VAULT",
};

/** As the sandbox describes them; what it has no item of, in the words of its answers. */
export function description(fact: Fact): string {
  const { call, result } = meaningOf(fact);
  if (call === "key-check") return "API key check failed";
  if (fact.what === "expired") return "expiryDate reached";
  if (fact.what === "used-up") return "no uses remain";
  switch (result) {
    case "failed":
      return `bad credentials (vault.credentials)${fact.locks ? ", vault locked" : ""}`;
    case "locking":
      return "too many starts without acknowledgement, vault locked";
    case "refused":
      return "the vault is locked; an administrator can unlock it";
    case "failed-ack":
      return "the token is unknown or has expired";
    case "success":
      return successes[call];
  }
}

const successes: Record<Exclude<Call, "key-check">, string> & Record<"key-check", string> = {
  create: "vault created",
  read: "read started",
  update: "update started",
  "ack-read": "read acknowledged",
  "ack-update": "update acknowledged",
  delete: "vault deleted",
  lock: "vault locked by an administrator",
  unlock: "vault unlocked by an administrator",
  "key-check": "",
};

/** Method and path of the call, or null for what no call has done. */
export function endpoint(fact: Fact): { method: string; path: string } | null {
  const { call } = meaningOf(fact);
  if (fact.address === null || call === "lock" || call === "unlock") return null;
  const base = `/vaultsvc/v1-2/vault/${fact.kind}`;
  const vault = `${base}/${fact.uuid ?? ""}`;
  switch (call) {
    case "create":
      return { method: "POST", path: base };
    case "delete":
      return { method: "DELETE", path: vault };
    case "key-check":
      return { method: "POST", path: fact.uuid === null ? base : `${vault}/get-start` };
    case "read":
      return { method: "POST", path: `${vault}/get-start` };
    case "update":
      return { method: "POST", path: `${vault}/update-start` };
    case "ack-read":
      return { method: "PUT", path: `${vault}/get-end` };
    case "ack-update":
      return { method: "PUT", path: `${vault}/update-end` };
  }
}

export const iso = (time: number): string => new Date(time).toISOString();
