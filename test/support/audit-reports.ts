import { parseWhatIf } from "../../src/audit/flags.ts";
import type { Report } from "../../src/audit/print/outline.ts";
import { pageReport } from "../../src/audit/print/page.ts";
import { markdownReport, terminalReport } from "../../src/audit/print/text.ts";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import type { VaultReport } from "../../src/documents/audit.ts";
import { plain } from "../../src/terminal/palette.ts";
import type { TableOptions } from "../../src/terminal/tables.ts";
import { log, replayText, vaultUuid } from "../audit/support.ts";

/** A report that a replay of a small log has made; each printer reads its vaults. */
export type Replayed = Report & { vaults: VaultReport[] };

export const viewOf = (columns = 1000): TableOptions => ({ isTTY: true, columns, palette: plain });

/** A report as each printer prints it. */
export const printed = (report: Replayed, view = viewOf()) => ({
  terminal: terminalReport(report, view),
  markdown: [...markdownReport(report)].join(""),
  page: [...pageReport({ title: "Ticket 1", generatedAt: "2026-11-20T16:00:00Z", ...report })].join(
    "",
  ),
});

const own = "vault-01K9ZC3F7Q8M2N4P6R8T0V2X4Z";
const locked = [
  ...log("C0w S60w A62w F120c F150c"),
  ...log("F170c", { externalRef: own }),
  ...log("L300c"),
];
const others = log(
  "2:C400w 2:S410w 2:B420w 2:F430w 2:F439w 3:C500w 3:U510w 4:C600w 4:X601w 5:C700c",
);

async function replayed(lines: string[], options: Partial<ReplayOptions> = {}): Promise<Replayed> {
  const { result, reports } = await replayText(lines.join("\n"), {
    labels: new Map([[vaultUuid(1), "backup card"]]),
    ...options,
  });
  return { summary: result.summary, vaults: reports };
}

/** One locked vault. */
export const one = await replayed(locked);

/** The same with all of its events. */
export const timeline = await replayed(locked, { timeline: true });

/** A vault of each verdict, a line that is no item, an unknown action, a contradiction, and --what-if. */
export const everything = await replayed([...locked, ...others, "no item"], {
  whatIf: parseWhatIf("lock-after-failed=5"),
});

/** A number of vaults that are locked, at risk or have an open exchange. */
export function many(count: number): Replayed {
  const vaults = Array.from({ length: count }, (_, n) => ({
    ...(everything.vaults[n % 3] as VaultReport),
    uuid: vaultUuid(n),
  }));
  const verdicts = { locked: 0, "at-risk": 0, "open-exchange": 0, unknown: 0, deleted: 0, ok: 0 };
  for (const { verdict } of vaults) verdicts[verdict] += 1;
  return { vaults, summary: { ...everything.summary, vaultCount: count, verdicts } };
}

/** What somebody might write into an item to reach a terminal, a ticket or a page. */
const hostileTexts = [
  "<script>window.pwned = 1</script>",
  '"><img src=x onerror="window.pwned = 1">',
  "</script></style><script>window.pwned = 1</script><style>body{display:none}</style>",
  "javascript:window.pwned=1 https://evil.example www.evil.example [a](javascript:b) `c` **d** | e",
  "\u001B[2J\u001B]0;owned\u0007\u009B31m\r\nvault: all is well\nnext: vault delete x",
  "evil\u202Egnp.exe\u2066\u200Bx\uFEFF",
  `${"long ".repeat(400)}end`,
  `e${"\u0301".repeat(3000)}\uD800`,
] as const;

/** Texts of which the program has a list, and times, which it makes. */
const fixed =
  /^(?:verdict|certainty|argv|note|state|rule|event|kind|format|order|by|operation|at|since|tokenExpiry|.*At)$/;

/** A report of which every text is hostile. */
export function hostile(report = everything): Replayed {
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
  return spoil(structuredClone(report)) as Replayed;
}
