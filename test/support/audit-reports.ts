import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseWhatIf, type WhatIf } from "../../src/audit/fold/rules.ts";
import { replay } from "../../src/audit/replay.ts";
import type { ReplaySummary, VaultReport, WhatIfReport } from "../../src/documents/audit.ts";
import { tempDir } from "./cleanup.ts";

// Reports that a replay of a small log has made.

export interface Replayed {
  summary: ReplaySummary;
  vaults: VaultReport[];
  whatIf?: WhatIfReport | undefined;
}

export const uuid = (n: number): string => `5a4b3c2d-0000-4000-8000-${String(n).padStart(12, "0")}`;

type Values = Record<string, unknown>;

/** An item of vault `n`, at a time of 2026-11 written `20T14:02:11`. */
const item = (n: number, at: string, what: string, more: Values = {}): Values => ({
  transactionTime: `2026-11-${at}.000Z`,
  what,
  outcome: "SUCCESS",
  vault: { uuid: uuid(n) },
  ...more,
});

const worker = { ipAddress: "203.0.113.7", externalRef: "nightly-backup" };
const report = { ipAddress: "203.0.113.8", externalRef: "report-cron" };
const refused = { outcome: "FAILURE", details: "bad credentials" };
const own = "vault-01K9ZC3F7Q8M2N4P6R8T0V2X4Z";

const items = [
  item(1, "17T09:12:40", "CREATE_VAULT", worker),
  item(1, "20T13:58:02", "READ_VAULT", worker),
  item(1, "20T13:58:04", "ACKNOWLEDGE_READ_VAULT", worker),
  ...["01:02", "01:40"].map((at) =>
    item(1, `20T14:${at}`, "READ_VAULT", { ...report, ...refused }),
  ),
  item(1, "20T14:02:11", "READ_VAULT", { ...report, ...refused, externalRef: own }),
  item(1, "20T14:05:00", "READ_VAULT", {
    ...report,
    outcome: "FAILURE",
    details: "vault is locked",
  }),
  item(2, "19T10:00:00", "CREATE_VAULT", worker),
  item(2, "19T10:01:00", "READ_VAULT", worker),
  item(2, "19T10:01:30", "ACKNOWLEDGE_UPDATE_VAULT", worker),
  ...["00", "09"].map((at) => item(2, `20T10:00:${at}`, "READ_VAULT", { ...worker, ...refused })),
  item(3, "19T07:00:00", "CREATE_VAULT", worker),
  item(3, "20T14:59:00", "UPDATE_VAULT", worker),
  item(4, "20T07:00:00", "CREATE_VAULT", worker),
  item(4, "20T07:00:01", "POLISH_VAULT", worker),
  item(5, "19T07:00:00", "CREATE_VAULT", report),
];

const folder = tempDir("reports");

/** Replays these items, with timelines, at a fixed time. */
async function replayed(
  lines: readonly Values[],
  failure: string | null,
  whatIf?: WhatIf,
): Promise<Replayed> {
  const path = join(folder, "audit.ndjson");
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const {
    close,
    vaults,
    summary,
    whatIf: changes,
  } = await replay({
    inputs: [{ name: "audit-2026-11.ndjson", path }],
    rules: {
      limits: { unackedStarts: 5, failedAttempts: 3 },
      tokenLifetimeMs: 300_000,
      autoLockAfterMs: 365 * 86_400_000,
      release: "1.2.28",
      failure,
    },
    map: { vault: "vault.uuid" },
    timeline: "problems",
    signal: new AbortController().signal,
    now: Date.parse("2026-11-20T16:00:00Z"),
    own: (externalRef) =>
      externalRef === own
        ? {
            id: own.slice(6),
            operation: "get",
            generation: 6,
            state: "rejected",
            startedAt: "2026-11-20T14:02:10.400Z",
          }
        : undefined,
    labels: new Map([[uuid(1), "backup card"]]),
    ...(whatIf && { whatIf }),
  });
  const reports = [...vaults({ problems: false })];
  await close();
  return { summary, vaults: reports, whatIf: changes };
}

/** A vault of each verdict, with lines that are no items, an unknown action, contradictions, and an exchange of this machine. */
export const everything = await replayed(
  [...items, { what: "no time" }],
  null,
  parseWhatIf("lock-after-failed=5"),
);

/** One locked vault. */
export const one = await replayed(items.slice(0, 7), null);

/** The same summary for other vaults. */
export function reportOf(vaults: VaultReport[], { summary } = everything): Replayed {
  const verdicts = { locked: 0, "at-risk": 0, "open-exchange": 0, unknown: 0, deleted: 0, ok: 0 };
  for (const { verdict } of vaults) verdicts[verdict] += 1;
  return { summary: { ...summary, vaultCount: vaults.length, verdicts }, vaults };
}

/** A number of vaults, with the reports of `everything`. */
export const many = (count: number): Replayed =>
  reportOf(
    Array.from({ length: count }, (_, n) => ({
      ...(everything.vaults[n % 3] as VaultReport),
      uuid: uuid(n),
    })),
  );

/** What somebody might write into an item to reach a terminal, a ticket or a page. */
export const hostileTexts = [
  "<script>window.pwned = 1</script>",
  '"><img src=x onerror="window.pwned = 1">',
  "</script></style><script>window.pwned = 1</script><style>body{display:none}</style>",
  "javascript:window.pwned=1 https://evil.example www.evil.example [a](javascript:b) `c` **d** | e",
  "\u001B[2J\u001B]0;owned\u0007\u009B31m\r\nvault: all is well\nnext: vault delete x",
  "evil\u202Egnp.exe\u2066\u200Bx\uFEFF",
  `${"long ".repeat(400)}end`,
  `e${"\u0301".repeat(3000)}\uD800`,
] as const;

/** A report of which every text is hostile. */
export function hostile(): Replayed {
  const spoiled = structuredClone(everything);
  let number = 0;
  const spoil = (value: unknown, key = ""): unknown => {
    if (Array.isArray(value)) return value.map((each) => spoil(each, key));
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, each]) => [name, spoil(each, name)]),
      );
    if (typeof value !== "string" || fixed.test(key)) return value;
    number += 1;
    return `${hostileTexts[number % hostileTexts.length]} ${value}`;
  };
  return spoil(spoiled) as Replayed;
}

/** Texts of which the program has a list, and times, which it makes. */
const fixed =
  /^(?:verdict|certainty|argv|note|state|rule|event|kind|format|order|by|operation|at|since|tokenExpiry|.*At)$/;
