import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type {
  OwnExchange,
  ReplaySummary,
  Rules,
  VaultReport,
  WhatIfReport,
} from "../../src/documents/audit.ts";
import { parseWhatIf } from "../../src/audit/fold/rules.ts";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import { replay } from "../../src/audit/replay.ts";
import { tempDir } from "./cleanup.ts";

// Reports that a replay of a small log has made: a vault of each verdict and of each way to a lock.

export const rules: Rules = {
  limits: { unackedStarts: 5, failedAttempts: 3 },
  tokenLifetimeMs: 300_000,
  autoLockAfterMs: 365 * 86_400_000,
  release: "1.2.28",
  failure: null,
};

export const uuid = (n: number): string => `5a4b3c2d-0000-4000-8000-${String(n).padStart(12, "0")}`;
const input = "audit-2026-11.ndjson.gz";

type Values = Record<string, unknown>;

/** An item of vault `n`, at a time of 2026-11 written `20T14:02:11`, or at any time. */
function item(n: number, at: string, what: string, more: Values = {}): Values {
  const transactionTime = at.length > 15 ? at : `2026-11-${at}.000Z`;
  return { transactionTime, what, outcome: "SUCCESS", vault: { uuid: uuid(n) }, ...more };
}

const endpoint = "POST /vaultsvc/v1-2/vault/credit-card/offline/{vaultUuid}/get-start";
const worker = { ipAddress: "203.0.113.7", externalRef: "nightly-backup-0412", endpoint };
const phone = { ipAddress: "2001:db8:41::17", externalRef: "checkout-7", endpoint };
const administrator = { ipAddress: "192.0.2.1", details: "by m.keller@example.com" };
const refused = { ...worker, outcome: "FAILURE", details: "bad credentials" };
const locked = { ...worker, outcome: "FAILURE", details: "vault is locked" };

const own: OwnExchange = {
  id: "01K9ZC3F7Q8M2N4P6R8T0V2X4Z",
  operation: "get",
  generation: 6,
  state: "rejected",
  startedAt: "2026-11-20T14:02:10.400Z",
  supersededAt: "2026-11-20T13:58:04.000Z",
};
const mine = { ...refused, ipAddress: "198.51.100.20", externalRef: `vault-${own.id}` };

const items: readonly Values[] = [
  item(1, "17T09:12:40", "CREATE_VAULT", { ipAddress: "198.51.100.20" }),
  item(1, "17T09:13:02", "READ_VAULT", worker),
  item(1, "17T09:13:03", "ACKNOWLEDGE_READ_VAULT", worker),
  item(1, "20T13:58:02", "READ_VAULT", worker),
  item(1, "20T13:58:04", "ACKNOWLEDGE_READ_VAULT", worker),
  item(1, "20T14:01:02", "READ_VAULT", refused),
  item(1, "20T14:01:40", "READ_VAULT", refused),
  item(1, "20T14:02:11", "READ_VAULT", mine),
  item(1, "20T14:05:00", "READ_VAULT", locked),
  item(1, "20T15:02:11", "READ_VAULT", locked),
  item(2, "18T08:00:00", "CREATE_VAULT", phone),
  ...[1, 2, 3, 4].map((n) => item(2, `19T08:${20 + n * 4}:0${n}`, "READ_VAULT", phone)),
  item(2, "19T08:40:06", "READ_VAULT", phone),
  item(4, "2025-11-02T09:00:01.000Z", "READ_VAULT", worker),
  item(4, "2025-11-02T09:00:02.000Z", "ACKNOWLEDGE_READ_VAULT", worker),
  item(5, "03T12:00:00", "CREATE_VAULT", worker),
  item(5, "03T12:10:00", "READ_VAULT", worker),
  item(5, "04T12:00:00", "LOCK_VAULT", administrator),
  item(5, "04T12:30:00", "UNLOCK_VAULT", administrator),
  item(5, "06T16:20:00", "LOCK_VAULT", administrator),
  item(6, "01T00:00:05", "READ_VAULT", locked),
  item(7, "19T10:00:00", "CREATE_VAULT", worker),
  item(7, "19T10:01:00", "READ_VAULT", worker),
  item(7, "19T10:01:30", "ACKNOWLEDGE_UPDATE_VAULT", worker),
  item(7, "20T10:00:00", "READ_VAULT", refused),
  item(7, "20T10:00:09", "UPDATE_VAULT", { ...refused, ipAddress: "203.0.113.8" }),
  item(8, "19T07:00:00", "CREATE_VAULT", worker),
  item(8, "20T14:59:00", "UPDATE_VAULT", worker),
  item(9, "10T07:00:00", "CREATE_VAULT", worker),
  item(9, "11T07:00:00", "DELETE_VAULT", worker),
  item(11, "10T07:00:00", "CREATE_VAULT", worker),
  item(11, "11T07:00:00", "DELETE_VAULT", worker),
  // More contradictions than a report lists.
  ...Array.from({ length: 24 }, (_, n) =>
    item(11, `12T07:00:${10 + n}`, "ACKNOWLEDGE_READ_VAULT", worker),
  ),
];

/** In release 1.2.22 its start locks it when it expires. */
const expired: readonly Values[] = [
  item(3, "11T10:00:00", "CREATE_VAULT", worker),
  item(3, "12T10:00:00", "READ_VAULT", refused),
  item(3, "12T11:30:00", "READ_VAULT", locked),
];

const csv = [
  "transactionTime,what,outcome,vault.uuid,ipAddress",
  `2026-11-20T07:00:01.000Z,ACKNOWLEDGE_READ_VAULT,SUCCESS,${uuid(10)},203.0.113.7`,
  `2026-11-20T07:00:00.000Z,READ_VAULT,SUCCESS,${uuid(10)},203.0.113.7`,
  `2026-11-10T07:00:00.000Z,CREATE_VAULT,SUCCESS,${uuid(10)},203.0.113.7`,
];

interface Replayed {
  summary: ReplaySummary;
  vaults: VaultReport[];
  whatIf?: WhatIfReport;
}

const folder = tempDir("reports");

/** Replays these items, with timelines, at a fixed time. */
async function replayed(
  lines: readonly Values[],
  { others = [], ...options }: Partial<ReplayOptions> & { others?: readonly string[] } = {},
): Promise<Replayed> {
  const [path, other] = [join(folder, input), join(folder, "console.csv")];
  writeFileSync(path, gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
  writeFileSync(other, others.map((line) => `${line}\n`).join(""));
  const inputs = [
    { name: input, path },
    ...(others.length > 0 ? [{ name: "console.csv", path: other }] : []),
  ];
  const { close, vaults, ...rest } = await replay({
    inputs,
    rules,
    map: { vault: "vault.uuid" },
    timeline: "problems",
    signal: new AbortController().signal,
    now: Date.parse("2026-11-20T16:00:00Z"),
    own: (externalRef) => (externalRef === mine.externalRef ? own : undefined),
    labels: new Map([[uuid(1), "backup card"]]),
    ...options,
  });
  const reports = [...vaults({ problems: false })];
  await close();
  return { ...rest, vaults: reports };
}

const whole = await replayed(items, {
  others: csv,
  whatIf: parseWhatIf("lock-after-failed=5"),
});

const release = "1.2.22";
const former = { ...rules, release };
const old = await replayed(expired, { rules: former });

/** The same, with what is no item, no known action, there twice or out of order. */
const messy = await replayed(
  [
    ...items,
    ...items.slice(0, 7),
    item(8, "20T14:59:01", "POLISH_VAULT", { ...worker, endpoint: "POST /polish" }),
    { ...item(1, "20T14:00:00", "READ_VAULT"), vault: {} },
    { what: "no time" },
  ],
  { others: [...csv, "cut off"] },
);

const reportOf = (n: number, { vaults } = whole): VaultReport => {
  const found = vaults.find((vault) => vault.uuid === uuid(n));
  if (found === undefined) throw new Error(`no report on vault ${n}`);
  return found;
};

export const lockedByFailures = (): VaultReport => reportOf(1);
export const lockedByStarts = (): VaultReport => reportOf(2);
export const lockedByExpiredStart = (): VaultReport => reportOf(3, old);
export const lockedByTime = (): VaultReport => reportOf(4);
export const lockedByAdministrator = (): VaultReport => reportOf(5);
export const lockedUnseen = (): VaultReport => reportOf(6);
export const atRisk = (): VaultReport => reportOf(7);
export const openExchange = (): VaultReport => reportOf(8);
export const deleted = (): VaultReport => reportOf(9);
/** Needs no action, but the log contradicts itself. */
export const revived = (): VaultReport => reportOf(11);
export const fine = (n = 10): VaultReport => ({ ...reportOf(10), uuid: uuid(n) });

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

/** The summary of a log, with the number of these vaults. */
export function summaryOf(
  vaults: readonly VaultReport[],
  more: Partial<ReplaySummary> = {},
): ReplaySummary {
  const verdicts = { locked: 0, "at-risk": 0, "open-exchange": 0, unknown: 0, deleted: 0, ok: 0 };
  for (const { verdict } of vaults) verdicts[verdict] += 1;
  return { ...messy.summary, vaultCount: vaults.length, verdicts, ...more };
}

const empty = await replayed([]);

export const emptySummary = (): ReplaySummary => empty.summary;

/** A limit that is higher than the failures of a vault. */
export function whatIf(): WhatIfReport {
  if (whole.whatIf === undefined) throw new Error("no what-if");
  return whole.whatIf;
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

const [script, image, close, style, link, escapes, bidi, comment, long, marks] = hostileTexts;
const evil = {
  details: `bad credentials ${escapes}`,
  outcome: `FAILURE ${close}`,
  id: style,
  ipAddress: bidi,
  externalRef: `${link}${escapes}`,
  endpoint: comment,
  application: long,
};
const attacked = await replayed(
  [
    item(66, "20T11:59:59", "ACKNOWLEDGE_READ_VAULT", {
      ...evil,
      details: escapes,
      outcome: "SUCCESS",
    }),
    ...[0, 1, 2].map((n) => item(66, `20T12:00:0${n}`, "READ_VAULT", { ...evil, id: style + n })),
    item(66, "20T12:00:03", `${script}${escapes}`, evil),
    { what: `${script}${escapes}` },
  ],
  {
    map: { vault: "vault.uuid", ip: "ipAddress", endpoint: "endpoint" },
    own: () => ({
      ...own,
      id: script,
      operation: image,
      state: marks,
      supersededAt: escapes,
      startedAt: close,
    }),
    rules: { ...rules, failure: `${script}|bad credentials` },
  },
);

/** A vault whose every text is hostile, also those that a replay takes from nowhere else but itself. */
export function hostile(): VaultReport {
  const report = reportOf(66, attacked);
  const { cause } = report;
  if (cause === undefined) throw new Error("the hostile vault is not locked");
  return {
    ...report,
    uuid: `${script}${escapes}${bidi}`,
    reason: `${image}${style}${escapes}`,
    cause: {
      ...cause,
      text: `${close}${bidi}${marks}${cause.text}`,
      refused: { ...cause.refused, text: `${script}${escapes}` },
    },
    advice: { support: `${script}${escapes}`, developer: `${link}${bidi}${long}`, next: [] },
  };
}

export function hostileSummary(vaults: readonly VaultReport[]): ReplaySummary {
  const { inputs } = attacked.summary;
  const columns = { time: { name: `${image}${escapes}`, by: "name" } } as const;
  return {
    ...summaryOf(vaults, attacked.summary),
    rules: { ...attacked.summary.rules, release: image, failure: `${script}${escapes}` },
    found: {
      text: `2 vaults locked by ${script}${escapes}.`,
      by: [
        { vaults: 1, externalRef: `${image}${escapes}`, address: bidi },
        { vaults: 1, application: `${script}${escapes}` },
      ],
    },
    inputs: inputs.map((each) => ({ ...each, name: `${script}${escapes}`, columns })),
    columns,
    skipped: [{ input: `${image}${escapes}`, line: 1, reason: `${script}${escapes}${bidi}` }],
    notes: [`${image}${escapes}`],
  };
}
