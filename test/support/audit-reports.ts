import type { EventKind } from "../../src/audit/fold/events.ts";
import type {
  Cause,
  ItemReference,
  LockRule,
  ReenactmentReport,
  ReplaySummary,
  Rules,
  Tally,
  TimelineEvent,
  VaultReport,
  VaultState,
  WhatIfReport,
} from "../../src/documents/audit.ts";

/** Reports as a replay makes them, written by hand: one of each verdict and of each way to a lock. */

export const rules: Rules = {
  limits: { unackedStarts: 5, failedAttempts: 3 },
  tokenLifetimeMs: 300_000,
  autoLockAfterMs: 365 * 86_400_000,
  release: "1.2.28",
  failure: null,
};

const actions: Partial<Record<EventKind, string>> = {
  create: "CREATE_VAULT",
  read: "READ_VAULT",
  update: "UPDATE_VAULT",
  "ack-read": "ACKNOWLEDGE_READ_VAULT",
  "ack-update": "ACKNOWLEDGE_UPDATE_VAULT",
  delete: "DELETE_VAULT",
  "failed-read": "READ_VAULT",
  "failed-update": "UPDATE_VAULT",
  "failed-attempt": "FAILED_ACCESS",
  "locking-start": "READ_VAULT",
  "refused-locked": "READ_VAULT",
  lock: "LOCK_VAULT",
  unlock: "UNLOCK_VAULT",
};

export const uuid = (n: number): string => `5a4b3c2d-0000-4000-8000-${String(n).padStart(12, "0")}`;
export const input = "audit-2026-11.ndjson.gz";

/** Each report counts from its own beginning, so that none depends on which were made before it. */
let line = 100;

/** An item at a time of 2026-11, written `20T14:02:11`. */
function item(at: string, event: EventKind, more: Partial<ItemReference> = {}): ItemReference {
  line += 7;
  const failed =
    event.startsWith("failed") || event === "refused-locked" || event === "locking-start";
  return {
    input,
    line,
    at: at.length > 15 ? at : `2026-11-${at}.000Z`,
    event,
    action: actions[event] ?? "OTHER",
    outcome: failed ? "FAILURE" : "SUCCESS",
    ...more,
  };
}

/** What an event leaves behind: `unacked/failed state`, with `*` where it is part of the cause and `!` where it locks. */
function step(after: string, reference: ItemReference): TimelineEvent {
  const [, unacked, failed, state, mark] = /^(\d)\/(\d) ([a-z-]+)([*!]?)$/.exec(after) ?? [];
  return {
    item: reference,
    unackedStarts: Number(unacked),
    failedAttempts: Number(failed),
    state: state as VaultState,
    isCause: mark !== "",
    locks: mark === "!",
  };
}

const tally = (
  items: readonly ItemReference[],
  key: "address" | "externalRef" | "endpoint" | "application",
): Tally[] => {
  const counts = new Map<string, number>();
  for (const { [key]: value } of items)
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
};

interface Written extends Partial<VaultReport> {
  n: number;
  timeline: TimelineEvent[];
  locked?: Omit<Cause, "item" | "chain"> & { rule: LockRule };
}

function report({ n, timeline, locked, ...more }: Written): VaultReport {
  const chain = timeline.filter(({ isCause }) => isCause).map((event) => event.item);
  const counting = chain.length > 0 ? chain : timeline.slice(-2).map((event) => event.item);
  const last = timeline.at(-1);
  const locking = timeline.find(({ locks }) => locks)?.item;
  return {
    uuid: uuid(n),
    label: null,
    verdict: locked === undefined ? "ok" : "locked",
    certainty: locked?.certainty ?? "certain",
    reason: locked?.reason ?? "every start was acknowledged",
    state: last?.state ?? "active",
    ...(locking === undefined ? {} : { since: locking.at, lockedAt: locking.at }),
    ...(locked === undefined
      ? {}
      : { cause: { ...locked, chain, ...(locking === undefined ? {} : { item: locking }) } }),
    unackedStarts: last?.unackedStarts ?? 0,
    failedAttempts: last?.failedAttempts ?? 0,
    items: timeline.length,
    firstAt: timeline[0]?.item.at ?? "",
    lastAt: last?.item.at ?? "",
    who: {
      addresses: tally(counting, "address"),
      externalRefs: tally(counting, "externalRef"),
      endpoints: tally(counting, "endpoint"),
      applications: tally(counting, "application"),
    },
    counting: locked === undefined ? counting : [],
    contradictions: [],
    moreContradictions: 0,
    advice: { support: "Nothing to do.", developer: "Nothing to do." },
    timeline,
    ...more,
  };
}

const endpoint = "POST /vaultsvc/v1-2/vault/credit-card/offline/{vaultUuid}/get-start";
const worker = { address: "203.0.113.7", externalRef: "nightly-backup-0412", endpoint };
const own = {
  id: "01K9ZC3F7Q8M2N4P6R8T0V2X4Z",
  operation: "get",
  generation: 6,
  state: "rejected",
  startedAt: "2026-11-20T14:02:10.400Z",
  supersededAt: "2026-11-20T13:58:04.000Z",
};

export function lockedByFailures(): VaultReport {
  line = 100;
  const mine = { ...worker, address: "198.51.100.20", externalRef: `vault-${own.id}`, own };
  return report({
    n: 1,
    label: "backup card",
    locked: {
      rule: "failed-attempts",
      certainty: "certain",
      reason: "all three failed attempts are in the log, with no successful start between them",
      text: "The 3rd failed attempt in a row, a read from 198.51.100.20 at 2026-11-20T14:02:11Z, locked the vault: this machine's exchange 01K9ZC3F7Q8M2N4P6R8T0V2X4Z, with credentials of generation 6.",
      refused: {
        text: "Exchange nightly-backup-0412 from 203.0.113.7, acknowledged at 2026-11-20T13:58:04.000Z, replaced the refused credentials. No start from 198.51.100.20 was accepted before.",
      },
    },
    timeline: [
      step("0/0 active", item("17T09:12:40", "create", { address: "198.51.100.20" })),
      step("1/0 exchange-open", item("17T09:13:02", "read", worker)),
      step("0/0 active", item("17T09:13:03", "ack-read", worker)),
      step("1/0 exchange-open", item("20T13:58:02", "read", worker)),
      step("0/0 active", item("20T13:58:04", "ack-read", worker)),
      step(
        "0/1 active*",
        item("20T14:01:02", "failed-read", { ...worker, description: "bad credentials" }),
      ),
      step(
        "0/2 active*",
        item("20T14:01:40", "failed-read", { ...worker, description: "bad credentials" }),
      ),
      step("0/3 locked!", item("20T14:02:11", "failed-read", mine)),
      step("0/3 locked", item("20T14:05:00", "refused-locked", worker)),
      step("0/3 locked", item("20T15:02:11", "refused-locked", worker)),
    ],
    advice: {
      support:
        "Confirm with the caller that nightly-backup-0412 (203.0.113.7) has stopped, then let an administrator unlock the vault in the management console.",
      developer:
        "Two clients use one vault: 203.0.113.7 keeps sending generation 6, superseded at 2026-11-20T13:58:04Z. Give both the same state, or one vault each; then vault guard 5a4b3c2d-0000-4000-8000-000000000001 --reset.",
    },
  });
}

export function lockedByStarts(): VaultReport {
  line = 100;
  const phone = { address: "2001:db8:41::17", externalRef: "checkout-7", endpoint };
  return report({
    n: 2,
    locked: {
      rule: "unacknowledged-starts",
      certainty: "certain",
      reason: "five accepted starts follow each other without an acknowledgement",
      text: "The 5th start in a row without an acknowledgement, at 2026-11-19T08:40:06Z, locked the vault.",
    },
    timeline: [
      step("0/0 active", item("18T08:00:00", "create", phone)),
      ...[1, 2, 3, 4].map((n) =>
        step(`${n}/0 exchange-open*`, item(`19T08:${20 + n * 4}:0${n}`, "read", phone)),
      ),
      step("5/0 locked!", item("19T08:40:06", "read", phone)),
    ],
    advice: {
      support:
        "An administrator unlocks the vault. It will lock again until the client acknowledges its reads.",
      developer:
        "No read of checkout-7 is acknowledged. Send get-end with the token of each start; a start that fails on the way counts too.",
    },
  });
}

export function lockedByExpiredStart(): VaultReport {
  line = 100;
  return report({
    n: 3,
    locked: {
      rule: "expired-invalid-start",
      certainty: "likely",
      reason: "release 1.2.22 locks then, but the lifetime of a token is an assumption",
      text: "A start with invalid credentials at 2026-11-12T10:00:00Z expired 5 min later, which locks in release 1.2.22.",
    },
    since: "2026-11-12T10:05:00.000Z",
    lockedAt: "2026-11-12T10:05:00.000Z",
    state: "locked",
    timeline: [
      step("0/0 active", item("11T10:00:00", "create", worker)),
      step("0/1 active*", item("12T10:00:00", "failed-read", worker)),
      step("0/1 locked", item("12T11:30:00", "refused-locked", worker)),
    ],
    advice: {
      support: "An administrator unlocks the vault.",
      developer: "Take the newest credentials, or update the service to 1.2.23.",
    },
  });
}

export function lockedByTime(): VaultReport {
  line = 100;
  return report({
    n: 4,
    locked: {
      rule: "auto-lock",
      certainty: "likely",
      reason:
        "no start for a year, if the kind of this vault has such a limit and the log is complete",
      text: "No successful start since 2025-11-02T09:00:01Z: the vault locked itself a year later.",
    },
    since: "2026-11-02T09:00:01.000Z",
    lockedAt: "2026-11-02T09:00:01.000Z",
    state: "locked",
    timeline: [
      step("1/0 exchange-open", item("2025-11-02T09:00:01.000Z", "read", worker)),
      step("0/0 active*", item("2025-11-02T09:00:02.000Z", "ack-read", worker)),
    ],
    advice: {
      support: "An administrator unlocks the vault, if it is still needed.",
      developer: "Read the vault once a year, or delete it.",
    },
  });
}

export function lockedByAdministrator(): VaultReport {
  line = 100;
  return report({
    n: 5,
    locked: {
      rule: "administrator",
      certainty: "certain",
      reason: "an item says so",
      text: "An administrator locked the vault at 2026-11-06T16:20:00Z.",
    },
    timeline: [
      step("0/0 active", item("03T12:00:00", "create", worker)),
      step(
        "0/0 locked",
        item("04T12:00:00", "lock", {
          address: "192.0.2.1",
          description: "by m.keller@example.com",
        }),
      ),
      step("0/0 active", item("04T12:30:00", "unlock", { address: "192.0.2.1" })),
      step(
        "0/0 locked!",
        item("06T16:20:00", "lock", {
          address: "192.0.2.1",
          description: "by m.keller@example.com",
        }),
      ),
    ],
    advice: {
      support: "Ask the administrator at 192.0.2.1 why before unlocking.",
      developer: "Nothing: no call of a client locked it.",
    },
  });
}

export function lockedUnseen(): VaultReport {
  line = 100;
  return report({
    n: 6,
    locked: {
      rule: "unseen",
      certainty: "unknown",
      reason: "the log begins after the lock, or lacks the items that led to it",
      text: "Calls were refused because the vault was locked; the log does not show why.",
    },
    since: "2026-11-01T00:00:05.000Z",
    state: "locked",
    timeline: [step("0/0 locked*", item("01T00:00:05", "refused-locked", worker))],
    advice: {
      support: "Export the items before 2026-11-01T00:00:05Z and replay both files.",
      developer: "Stop calling until it is unlocked.",
    },
  });
}

export function atRisk(): VaultReport {
  line = 100;
  const timeline = [
    step("0/0 active", item("19T10:00:00", "create", worker)),
    step("0/1 active*", item("20T10:00:00", "failed-read", worker)),
    step(
      "0/2 active*",
      item("20T10:00:09", "failed-update", { ...worker, address: "203.0.113.8" }),
    ),
    step("1/2 exchange-open", item("20T10:01:00", "read", worker)),
    step("0/2 active", item("20T10:09:00", "ack-update", worker)),
  ];
  const [, , , , odd] = timeline;
  return report({
    n: 7,
    verdict: "at-risk",
    certainty: "likely",
    reason: "one more failed attempt would lock it; the log contradicts itself",
    timeline,
    contradictions: [
      {
        at: odd?.item.at ?? "",
        kind: "acknowledgement-of-other-operation",
        text: "An update was acknowledged while a read was open.",
        item: odd?.item ?? item("20T10:09:00", "ack-update"),
      },
      {
        at: "2026-11-20T10:05:00.000Z",
        kind: "activity-while-locked",
        text: "With release 1.2.22 the vault would have locked here.",
        item: item("20T10:05:00", "other"),
      },
    ],
    moreContradictions: 3,
    since: "2026-11-20T10:00:09.000Z",
    advice: {
      support: "Tell the client to stop before the next call.",
      developer: "Compare the generations on 203.0.113.7 and 203.0.113.8.",
    },
  });
}

export function openExchange(): VaultReport {
  line = 100;
  const started = item("20T14:59:00", "update", worker);
  return report({
    n: 8,
    verdict: "open-exchange",
    reason: "the last start has no acknowledgement",
    timeline: [
      step("0/0 active", item("19T07:00:00.250".slice(0, 11), "create", worker)),
      step("1/0 exchange-open", started),
    ],
    since: started.at,
    exchange: {
      operation: "update",
      externalRef: started.externalRef ?? null,
      startedAt: started.at,
      tokenExpiry: "2026-11-20T15:04:00.000Z",
      expired: false,
      item: started,
    },
    advice: {
      support: "Nothing yet: it may still be acknowledged.",
      developer: "vault ack acknowledges it until 2026-11-20T15:04:00Z.",
    },
  });
}

export function deleted(): VaultReport {
  line = 100;
  const timeline = [
    step("0/0 active", item("10T07:00:00", "create", worker)),
    step("0/0 deleted", item("11T07:00:00", "delete", worker)),
    step("0/0 deleted", item("12T07:00:00", "read", worker)),
  ];
  const [, , late] = timeline;
  return report({
    n: 9,
    verdict: "deleted",
    reason: "an item says so",
    since: "2026-11-11T07:00:00.000Z",
    timeline,
    contradictions: [
      {
        at: "2026-11-12T07:00:00.000Z",
        kind: "activity-after-deletion",
        text: "A read was accepted after the deletion.",
        item: late?.item ?? item("12T07:00:00", "read"),
      },
    ],
  });
}

export function fine(n = 10): VaultReport {
  line = 100;
  return report({
    n,
    timeline: [
      step("0/0 active", item("10T07:00:00", "create", worker)),
      step("1/0 exchange-open", item("20T07:00:00", "read", worker)),
      step("0/0 active", item("20T07:00:01", "ack-read", worker)),
    ],
    since: "2026-11-20T07:00:01.000Z",
  });
}

/** What somebody might write into an item to reach a terminal or a page. */
export const hostileTexts = [
  "<script>window.pwned = 1</script>",
  '"><img src=x onerror="window.pwned = 1">',
  "</script><script>window.pwned = 1</script>",
  "</style><style>body{display:none}</style>",
  "javascript:window.pwned=1",
  "\u001B[2J\u001B]0;owned\u0007\u009B31m\r\nvault: all is well",
  "evil\u202Egnp.exe\u2066\u200Bx\uFEFF",
  "--><svg onload=window.pwned=1>&lt;b&gt;",
  `${"long ".repeat(400)}end`,
  `e${"\u0301".repeat(3000)}\uD800`,
] as const;

/** A vault whose every text is hostile, its uuid too. */
export function hostile(): VaultReport {
  line = 100;
  const [script, image, close, style, link, escapes, bidi, comment, long, marks] = hostileTexts;
  const evil: Partial<ItemReference> = {
    input: image,
    action: script,
    outcome: close,
    description: escapes,
    id: style,
    address: bidi,
    externalRef: `${link}${escapes}`,
    endpoint: comment,
    application: long,
    own: {
      ...own,
      id: script,
      operation: image,
      state: marks,
      supersededAt: escapes,
      startedAt: close,
    },
  };
  const odd = item("20T12:00:01", "failed-read", evil);
  return report({
    n: 66,
    uuid: `${script}${escapes}${bidi}`,
    locked: {
      rule: "failed-attempts",
      certainty: "likely",
      reason: `${image}${style}${escapes}`,
      text: `${close}${bidi}${marks}`,
      refused: { text: `${script}${escapes}` },
    },
    timeline: [
      step("0/1 active*", item("20T12:00:00", "failed-read", evil)),
      step("0/2 active*", odd),
      step("0/3 locked!", item("20T12:00:02", "failed-read", evil)),
    ],
    contradictions: [
      { at: odd.at, kind: "activity-while-locked", text: `${comment}${escapes}`, item: odd },
    ],
    advice: { support: `${script}${escapes}`, developer: `${link}${bidi}${long}` },
  });
}

/** Worst first. */
export const problems = (): VaultReport[] => [
  lockedByFailures(),
  lockedByStarts(),
  lockedByExpiredStart(),
  lockedByTime(),
  lockedByAdministrator(),
  lockedUnseen(),
  atRisk(),
  openExchange(),
];

export function summaryOf(
  vaults: readonly VaultReport[],
  more: Partial<ReplaySummary> = {},
): ReplaySummary {
  const verdicts = { locked: 0, "at-risk": 0, "open-exchange": 0, deleted: 0, ok: 0 };
  for (const { verdict } of vaults) verdicts[verdict] += 1;
  const columns: ReplaySummary["columns"] = {
    time: { name: "transactionTime", by: "name" },
    action: { name: "description", by: "value" },
    vault: { name: "vault.uuid", by: "--map" },
    ip: { name: "ipAddress", by: "name" },
  };
  return {
    found: {
      text: "2 vaults locked; both by reference nightly-backup-0412 from 203.0.113.7.",
      by: [{ vaults: 2, externalRef: worker.externalRef, address: worker.address }],
    },
    items: 1_204_331,
    asOf: "2026-11-20T15:02:11.000Z",
    inputs: [
      {
        name: input,
        format: "ndjson",
        gzip: true,
        order: "oldest-first",
        items: 1_204_000,
        columns,
      },
      {
        name: "console.csv",
        format: "csv",
        gzip: false,
        order: "newest-first",
        items: 331,
        columns,
      },
    ],
    rules,
    columns,
    vaultCount: vaults.length,
    verdicts,
    skippedLines: 2,
    skipped: [
      { input, line: 17, reason: "not JSON" },
      { input: "console.csv", line: 331, reason: "cut off" },
    ],
    otherActions: [{ value: "ROTATE_API_KEY", count: 12 }],
    applicationItems: 40,
    withoutVault: 3,
    duplicates: 7,
    reordered: 51,
    late: 1,
    notes: ["The first item of 6 vaults is no creation: the log begins later than they do."],
    ...more,
  };
}

/** More origins than the headline names. */
export const found = (): ReplaySummary["found"] => ({
  text: "12 vaults locked; 8 by reference report-cron from 10.0.0.7, 3 by calls from 10.0.0.8, 1 by auto-lock.",
  by: [
    { vaults: 8, externalRef: "report-cron", address: "10.0.0.7" },
    { vaults: 3, address: "10.0.0.8" },
    { vaults: 1, rule: "auto-lock" },
  ],
});

export const emptySummary = (): ReplaySummary =>
  summaryOf([], {
    found: { text: "No vaults found.", by: [] },
    items: 0,
    asOf: null,
    skipped: [],
    skippedLines: 0,
    otherActions: [],
    notes: [],
  });

export function hostileSummary(vaults: readonly VaultReport[]): ReplaySummary {
  const [script, image, , , , escapes, bidi] = hostileTexts;
  const base = summaryOf(vaults);
  return {
    ...base,
    found: {
      text: `2 vaults locked by ${script}${escapes}.`,
      by: [
        { vaults: 1, externalRef: `${image}${escapes}`, address: bidi },
        { vaults: 1, application: `${script}${escapes}` },
      ],
    },
    inputs: base.inputs.map((each) => ({
      ...each,
      name: `${script}${escapes}`,
      columns: { time: { name: `${image}${escapes}`, by: "name" } },
    })),
    columns: { time: { name: `${image}${escapes}`, by: "name" } },
    rules: { ...rules, release: image, failure: `${script}${escapes}` },
    skipped: [{ input: `${image}${escapes}`, line: 1, reason: `${script}${escapes}${bidi}` }],
    otherActions: [{ value: `${script}${escapes}`, count: 1 }],
    notes: [`${image}${escapes}`],
  };
}

/** 'ack@2026-11-19T08:40:05Z' on a vault that locked a second later, and another that gets worse. */
export const whatIf = (): WhatIfReport => ({
  change: "ack@2026-11-19T08:40:05Z",
  vaults: [
    {
      uuid: uuid(2),
      before: lockedByStarts(),
      after: { ...fine(2), verdict: "open-exchange", state: "exchange-open", unackedStarts: 1 },
    },
    { uuid: uuid(7), before: atRisk(), after: { ...lockedByFailures(), uuid: uuid(7) } },
  ],
  unchanged: 1234,
  moreChanged: 0,
  notes: [],
});

export const reenactment = (): ReenactmentReport => ({
  vaults: 12,
  agree: 9,
  notPerformed: [{ uuid: uuid(6), reason: "the log begins after the lock: nothing to perform" }],
  differences: [
    {
      uuid: uuid(3),
      replayed: "locked",
      emulated: "active",
      at: "2026-11-12T10:05:00.000Z",
      line: 233,
      text: "The sandbox follows release 1.2.28, in which an expired start with invalid credentials does not lock.",
    },
    {
      uuid: uuid(4),
      replayed: "locked",
      emulated: "active",
      text: "The sandbox takes the vault for a generic one.",
    },
  ],
});
