import type { ReenactmentReport, VaultReport, WhatIfReport } from "../../../documents/audit.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { Line } from "./line.ts";

/** What is said of a comparison: a title, a sentence, and what differs. */
export interface Comparison {
  title: Line;
  /** `isGood`: nothing differs. */
  result: { words: string; others: string; isGood: boolean };
  notes: readonly Line[];
  /** Names of the cells of each row, the first of which is the vault. */
  heads: readonly string[];
  rows: readonly { uuid: string; cells: readonly (readonly Line[])[] }[];
  /** Number of all rows, listed or not. */
  total: number;
  /** Vaults that could not be compared. */
  missing: readonly { uuid: string; reason: Line }[];
}

/** Returns the outline of what a hypothetical change would make different. */
export function whatIfOutline({
  change,
  vaults,
  unchanged,
  moreChanged,
  notes,
}: WhatIfReport): Comparison {
  const total = vaults.length + moreChanged;
  return {
    title: ["What if ", { value: change }],
    result: {
      words: total === 0 ? "no vault would differ" : `${counted(total, "vault")} would differ`,
      others: total === 0 ? "" : `, ${grouped(unchanged)} would not`,
      isGood: total === 0,
    },
    notes: notes.map((note) => [{ sentence: note }]),
    heads: ["Vault", "Now", "What if"],
    rows: vaults.map(({ uuid, before, after }) => ({
      uuid,
      cells: [
        [standing(before)],
        [standing(after), ...(after.cause === undefined ? [] : [[{ sentence: after.cause.text }]])],
      ],
    })),
    total,
    missing: [],
  };
}

/** Returns verdict, time and counters in a line. */
function standing({ verdict, since, unackedStarts, failedAttempts }: VaultReport): Line {
  return [
    { verdict },
    ...(since === undefined ? [] : [" since ", { time: since }]),
    ...(unackedStarts === 0 ? [] : [`; ${counted(unackedStarts, "unacknowledged start")}`]),
    ...(failedAttempts === 0 ? [] : [`; ${counted(failedAttempts, "failed attempt")} in a row`]),
  ];
}

/** Returns the outline of the comparison with the emulated service. */
export function reenactmentOutline(report: ReenactmentReport): Comparison {
  const { vaults, agree, differences, notPerformed } = report;
  const result = [
    `${grouped(agree)} of ${grouped(vaults)} agree`,
    differences.length === 0 ? "none differs" : counted(differences.length, "differs", "differ"),
    ...(notPerformed.length === 0
      ? []
      : [`${grouped(notPerformed.length)} could not be re-enacted`]),
  ];
  return {
    title: ["Re-enacted in the sandbox"],
    result: { words: result.join(", "), others: "", isGood: differences.length === 0 },
    notes: [],
    heads: ["Vault", "Replay", "Sandbox", "From", "Why"],
    rows: differences.map(({ uuid, replayed, emulated, at, line, text }) => {
      const from: Line = [
        ...(at === undefined ? [] : [{ time: at }]),
        ...(at === undefined || line === undefined ? [] : [", "]),
        ...(line === undefined ? [] : [`line ${line}`]),
      ];
      return {
        uuid,
        cells: [
          [[{ value: replayed }]],
          [[{ value: emulated }]],
          from.length === 0 ? [] : [from],
          [[{ sentence: text }]],
        ],
      };
    }),
    total: differences.length,
    missing: notPerformed.map(({ uuid, reason }) => ({ uuid, reason: [{ sentence: reason }] })),
  };
}
