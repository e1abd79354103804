import { verdictWords } from "../words.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { AuditView } from "./text.ts";
import {
  exactTime,
  labelled,
  lines,
  paragraph,
  shown,
  shownSentence,
  verdictPaint,
} from "./text.ts";
import type { Palette } from "../../../terminal/palette.ts";
import { createPalette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import type { ReenactmentReport, VaultReport, WhatIfReport } from "../../../documents/audit.ts";

const most = 50;

/** Formats the vaults for which a hypothetical change makes a difference. Ends with a newline. */
export async function whatIfView(
  { change, vaults, unchanged, moreChanged, notes }: WhatIfReport,
  view: AuditView,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const { columns } = view.facts;
  const differ =
    vaults.length === 0
      ? palette.good("no vault would differ")
      : palette.strong(`${counted(vaults.length + moreChanged, "vault")} would differ`);
  const differing = vaults.slice(0, most).flatMap(({ uuid, before, after }) => {
    const rows: [string, Cell[]][] = [
      ["Now", [standing(before, view, palette)]],
      [
        "What if",
        [
          standing(after, view, palette),
          ...(after.cause === undefined ? [] : [shownSentence(after.cause.text, view)]),
        ],
      ],
    ];
    return ["", `  ${palette.strong(shown(uuid, 48))}`, ...labelled(rows, 4, palette, columns)];
  });
  const head = paragraph([`What if ${shown(change, 200)}`], 2, columns).map((line) =>
    palette.strong(line),
  );
  const noted = notes.flatMap((note) =>
    paragraph([`Note: ${shownSentence(note, view)}`], 2, columns),
  );
  const others = vaults.length === 0 ? "" : `, ${grouped(unchanged)} would not`;
  return lines([
    ...head,
    `  ${differ}${others}`,
    ...noted,
    ...differing,
    ...left(vaults.length + moreChanged, palette),
  ]);
}

/** Formats verdict, time and counters. */
function standing(
  { verdict, since, unackedStarts, failedAttempts }: VaultReport,
  view: AuditView,
  palette: Palette,
): Cell {
  const counts = [
    ...(unackedStarts === 0 ? [] : [counted(unackedStarts, "unacknowledged start")]),
    ...(failedAttempts === 0 ? [] : [`${counted(failedAttempts, "failed attempt")} in a row`]),
  ];
  const from = since === undefined ? "" : ` since ${exactTime(since, view.timeZone)}`;
  return {
    text: [`${verdictWords[verdict]}${from}`, ...counts].join("; "),
    paint: verdictPaint(verdict, palette),
  };
}

/** Formats the comparison with the emulated service. Ends with a newline. */
export async function reenactmentView(report: ReenactmentReport, view: AuditView): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const { vaults, agree, differences, notPerformed } = report;
  const paint = differences.length === 0 ? palette.good : palette.bad;
  const words = [
    `${grouped(agree)} of ${grouped(vaults)} agree`,
    differences.length === 0 ? "none differs" : counted(differences.length, "differs", "differ"),
    ...(notPerformed.length === 0
      ? []
      : [`${grouped(notPerformed.length)} could not be re-enacted`]),
  ];
  const differing = differences
    .slice(0, most)
    .flatMap(({ uuid, replayed, emulated, at, line, text }) => {
      const where = [
        ...(at === undefined ? [] : [exactTime(at, view.timeZone)]),
        ...(line === undefined ? [] : [`line ${line}`]),
      ];
      const rows: [string, Cell[]][] = [
        ["Replay", [{ text: shown(replayed), paint: palette.strong }]],
        ["Sandbox", [{ text: shown(emulated), paint: palette.strong }]],
        ["From", where.length === 0 ? [] : [where.join(", ")]],
        ["Why", [shownSentence(text, view)]],
      ];
      return [
        "",
        `  ${palette.bad("differs")}  ${palette.strong(shown(uuid, 48))}`,
        ...labelled(rows, 4, palette, view.facts.columns),
      ];
    });
  const missing = notPerformed
    .slice(0, most)
    .flatMap(({ uuid, reason }) => [
      "",
      `  ${palette.warn("not re-enacted")}  ${palette.strong(shown(uuid, 48))}`,
      ...paragraph([shownSentence(reason, view)], 4, view.facts.columns),
    ]);
  return lines([
    `  ${palette.strong("Re-enacted in the sandbox")}`,
    `  ${paint(words.join(", "))}`,
    ...differing,
    ...left(differences.length, palette),
    ...missing,
    ...left(notPerformed.length, palette),
  ]);
}

const left = (count: number, palette: Palette): string[] =>
  count <= most
    ? []
    : [
        "",
        `  ${palette.dim(`… and ${grouped(count - most)} more; --json or -o ndjson lists all`)}`,
      ];
