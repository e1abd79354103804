import type { Fact } from "./facts.ts";
import type { Recorded } from "./life.ts";
import type { Dice } from "../dice.ts";
import { currentNames, description, endpoint, formerNames, iso, meaningOf } from "./facts.ts";

export interface Dialect {
  /** What this export has items of. */
  recorded: Recorded;
  /** Of CSV and TSV; those of nested objects with dots. */
  columns: readonly string[];
  /** An item as this export shows it. */
  show(fact: Fact, dice: Dice): Record<string, unknown>;
}

const target = (fact: Fact): string | null => {
  const called = endpoint(fact);
  return called === null ? null : `${called.method} ${called.path}`;
};

/** The sandbox's own export, `vault sandbox audit --export`. */
const sandbox: Dialect = {
  recorded: { refused: false, console: false, failedAcks: false, updates: true },
  columns: [
    "id",
    "time",
    "action",
    "outcome",
    "vaultUuid",
    "applicationUuid",
    "externalRef",
    "ipAddress",
    "endpoint",
    "description",
  ],
  show: (fact) => ({
    id: fact.id,
    time: iso(fact.time),
    outcome: meaningOf(fact).result === "success" ? "SUCCESS" : "FAILURE",
    vaultUuid: fact.uuid,
    applicationUuid: fact.application,
    externalRef: fact.externalRef,
    ipAddress: fact.address,
    endpoint: target(fact),
    action: currentNames[meaningOf(fact).call],
    description: description(fact),
  }),
};

/** Fewer columns of the same: about 240 bytes an item in NDJSON, for measuring. */
const lean: Dialect = {
  recorded: sandbox.recorded,
  columns: ["id", "time", "action", "outcome", "vaultUuid", "ipAddress", "description"],
  show: (fact) => ({
    id: fact.id,
    time: iso(fact.time),
    action: currentNames[meaningOf(fact).call],
    outcome: meaningOf(fact).result === "success" ? "SUCCESS" : "FAILURE",
    vaultUuid: fact.uuid,
    ipAddress: fact.address,
    description: description(fact),
  }),
};

/** The same with what exports have in every item, application and reference, about 340 bytes an item: for measuring, too. */
const full: Dialect = {
  recorded: sandbox.recorded,
  columns: [...lean.columns, "applicationUuid", "externalRef"],
  show: (fact, dice) => ({
    ...lean.show(fact, dice),
    applicationUuid: fact.application,
    externalRef: fact.externalRef ?? "none",
  }),
};

/** The fields of an early public client (service-facts): the action stands in the description, with what went wrong. */
const client: Dialect = {
  recorded: { refused: true, console: false, failedAcks: false, updates: true },
  columns: [
    "id",
    "description",
    "walletName",
    "walletUdid",
    "username",
    "applicationUUID",
    "transactionTime",
  ],
  show: (fact) => {
    const { call, result } = meaningOf(fact);
    const why = {
      success: "",
      failed: " failed",
      locking: " refused",
      refused: " refused",
      "failed-ack": " failed",
    }[result];
    return {
      id: fact.id,
      description: `${currentNames[call]}${result === "success" ? "" : `${why}: ${description(fact)}`}`,
      walletName: fact.uuid === null ? null : `wallet ${fact.uuid.slice(0, 4)}`,
      walletUdid: fact.uuid,
      username: fact.address === null ? null : `user-${fact.address}`,
      applicationUUID: fact.application,
      transactionTime: iso(fact.time),
    };
  },
};

/** Names with underscores, objects in objects, milliseconds since the epoch, nothing where there is nothing. */
const snake: Dialect = {
  recorded: { refused: true, console: true, failedAcks: true, updates: true },
  columns: [
    "event_id",
    "occurred_at",
    "event_type",
    "result",
    "reason",
    "vault.uuid",
    "vault.type",
    "application.uuid",
    "request.ip",
    "request.path",
    "request.external_reference",
  ],
  show: (fact) => {
    const { call, result } = meaningOf(fact);
    const reasons = {
      failed: "bad_credentials",
      locking: "too_many_starts",
      refused: "vault_locked",
      "failed-ack": "invalid_token",
    };
    const reason =
      result === "success" ? undefined : call === "key-check" ? "bad_api_key" : reasons[result];
    return {
      event_id: fact.id,
      occurred_at: fact.time,
      event_type: currentNames[call],
      result: result === "success" ? "ok" : "failed",
      ...(reason === undefined ? {} : { reason }),
      ...(fact.uuid === null ? {} : { vault: { uuid: fact.uuid, type: fact.kind } }),
      application: { uuid: fact.application },
      ...(fact.address === null
        ? {}
        : {
            request: {
              ip: fact.address,
              path: endpoint(fact)?.path ?? "/console",
              ...(fact.externalRef === null ? {} : { external_reference: fact.externalRef }),
            },
          }),
    };
  },
};

/** The names before release 1.2.11; the start that locks looks like any other. */
const former: Dialect = {
  recorded: { refused: false, console: false, failedAcks: false, updates: false },
  columns: [
    "Id",
    "Time",
    "Action",
    "Status",
    "Detail",
    "Vault UUID",
    "Application UUID",
    "IP Address",
    "External Reference",
  ],
  show: (fact) => {
    const { call, result } = meaningOf(fact);
    return {
      Id: fact.id,
      Time: iso(fact.time),
      Action: formerNames[call],
      Status: result === "failed" ? "FAILED" : "OK",
      Detail: result === "failed" ? description(fact).replace(", vault locked", "") : "",
      "Vault UUID": fact.uuid,
      "Application UUID": fact.application,
      "IP Address": fact.address,
      "External Reference": fact.externalRef,
    };
  },
};

/** Failed accesses as actions of their own, without an outcome; the start that locks looks like any other. */
function ownActions(name: (action: string) => string): Dialect {
  return {
    recorded: { refused: false, console: false, failedAcks: true, updates: true },
    columns: ["eventId", "timestamp", "action", "vaultId", "appId", "clientIp", "reference", "uri"],
    show: (fact) => {
      const { call, result } = meaningOf(fact);
      const action = currentNames[call];
      const plain = call === "key-check" ? "API_KEY_CHECK_FAILED" : action;
      return {
        eventId: fact.id,
        timestamp: iso(fact.time),
        action:
          call !== "key-check" && (result === "failed" || result === "failed-ack")
            ? name(action)
            : plain,
        vaultId: fact.uuid,
        appId: fact.application,
        clientIp: fact.address,
        reference: fact.externalRef,
        uri: endpoint(fact)?.path ?? null,
      };
    },
  };
}

/** No outcome, no id: only the message tells. */
const wording: Dialect = {
  recorded: { refused: true, console: false, failedAcks: false, updates: true },
  columns: ["Date", "Event", "Vault", "Message", "Address", "Reference"],
  show: (fact) => {
    const { call, result } = meaningOf(fact);
    const messages = {
      success: "Completed",
      failed: "Invalid credentials supplied",
      locking: "Too many unacknowledged requests: vault locked",
      refused: "Vault is locked",
      "failed-ack": "Invalid token supplied",
    };
    return {
      Date: iso(fact.time),
      Event: currentNames[call],
      Vault: fact.uuid,
      Message: call === "key-check" ? "Invalid API key supplied" : messages[result],
      Address: fact.address,
      Reference: fact.externalRef,
    };
  },
};

const offsets = [-480, -300, -210, 0, 60, 120, 330, 345, 540, 780];

/** 2026-11-20T23:02:11.123+09:00 */
export function localTime(time: number, offset: number): string {
  const distance = Math.abs(offset);
  const part = (number: number): string => String(number).padStart(2, "0");
  const sign = offset < 0 ? "-" : "+";
  return `${iso(time + offset * 60_000).slice(0, -1)}${sign}${part(Math.floor(distance / 60))}:${part(distance % 60)}`;
}

/** The sandbox's columns and more of them, in any order, in the local time of each client. */
const local: Dialect = {
  recorded: { refused: true, console: true, failedAcks: true, updates: true },
  columns: [...sandbox.columns, "tenant", "sequence", "geo.country", "tags"],
  show: (fact, dice) => {
    const shown: Record<string, unknown> = {
      ...sandbox.show(fact, dice),
      time: localTime(fact.time, dice.pick(offsets)),
      tenant: "tenant-7",
      sequence: dice.word(),
      geo: { country: dice.pick(["DE", "NZ", "BR"]) },
      tags: ["audit", dice.pick(["hot", "cold"])],
    };
    const keys = Object.keys(shown);
    for (let i = keys.length - 1; i > 0; i -= 1) {
      const other = dice.between(0, i);
      [keys[i], keys[other]] = [keys[other] ?? "", keys[i] ?? ""];
    }
    return Object.fromEntries(keys.map((key) => [key, shown[key]]));
  },
};

export const dialects = {
  sandbox,
  lean,
  full,
  client,
  snake,
  former,
  "failed-behind": ownActions((action) => `${action}_FAILED`),
  "failed-before": ownActions((action) => `FAILED_${action}`),
  "failure-behind": ownActions((action) => `${action}_FAILURE`),
  wording,
  local,
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof dialects;
