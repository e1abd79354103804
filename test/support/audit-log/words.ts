import type { Fact, What } from "./facts.ts";

/** What the call behind an item was, and how it went. */
export type Call =
  | "create"
  | "read"
  | "update"
  | "ack-read"
  | "ack-update"
  | "delete"
  | "lock"
  | "unlock"
  | "key-check";
export type Result = "success" | "failed" | "locking" | "refused" | "failed-ack";

export interface Meaning {
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
