import type { Actor } from "../actor.ts";
import type { Delivery } from "../exchange/recovery.ts";
import { object } from "../protocol/answers.ts";
import { fingerprint } from "../protocol/fingerprint.ts";
import { printable, printableLine } from "../terminal/redactor.ts";
import {
  shownCardNumber,
  shownContent,
  namedFingerprint,
  shownFingerprint,
} from "../terminal/secrets.ts";
import { factsTable, type Cell, type TableOptions } from "../terminal/tables.ts";
import { when } from "../terminal/time.ts";

export interface View extends TableOptions {
  /** Null if a program reads it: times are ISO 8601 then. */
  now: number | null;
  /** Shows all secrets, or the contents of the vault but not its credentials. */
  reveal: boolean | "contents";
  self: Actor;
}

/** What a table shows of a vault: what is absent is left out. */
export interface ShownVault {
  uuid?: string;
  label?: string | null;
  kind?: string;
  update?: Pick<Delivery["exchange"], "state" | "acknowledgedAt">;
  /** Card or text, in the form of the interface. */
  contents?: Record<string, unknown>;
  usesRemaining?: unknown;
  /** Stands behind the number of reads left. */
  readsNote?: string;
  dates?: Dates;
  generation?: number | null;
  fingerprint?: string;
  externalRef?: string;
  metadata?: Record<string, unknown>;
  credentials?: { encryptedData: string; payload: string };
}

type Dates = { [Name in "expiryDate" | "autoLockDate" | "dateCreated" | "lastModified"]?: unknown };

export const delivered = ({ vault, exchange, ...delivery }: Delivery): ShownVault => ({
  ...delivery,
  contents: vault,
  usesRemaining: vault["usesRemaining"],
  dates: vault,
  generation: exchange.newGeneration,
  fingerprint: namedFingerprint(fingerprint(delivery.uuid, delivery.credentials)),
  externalRef: exchange.externalRef,
});

/** Table of a vault: secrets masked unless revealed, dates in local time with their distance. */
export function vaultTable(shown: ShownVault, view: View): string {
  const { palette } = view;
  const { update, contents = {}, usesRemaining: uses, fingerprint } = shown;
  const outcome = update && {
    text:
      update.acknowledgedAt === null
        ? `${update.state}, not acknowledged yet`
        : `acknowledged ${when(update.acknowledgedAt, view.now)}`,
    paint: update.acknowledgedAt === null ? palette.warn : palette.good,
  };
  const reads =
    typeof uses !== "number"
      ? undefined
      : {
          text: `${uses}${shown.readsNote ?? ""}`,
          paint: uses <= 1 ? palette.warn : palette.strong,
        };
  const table = knownFacts(view, [
    ["Vault", shown.uuid && { text: shown.uuid, paint: palette.strong }],
    ["Label", shown.label && printableLine(shown.label)],
    ["Kind", shown.kind],
    ["Update", outcome],
    ...contentRows(contents, view),
    ["Reads left", reads],
    ...dateRows(shown.dates ?? {}, view),
    [
      "Credentials",
      fingerprint && `generation ${shown.generation}, ${shownFingerprint(fingerprint)}`,
    ],
    ["Reference", shown.externalRef],
    ...Object.entries(shown.metadata ?? {}).map(([key, value], index): Row => [
      index === 0 ? "Metadata" : "",
      printableLine(`${key} = ${String(value)}`),
    ]),
  ]);
  return table + revealed(shown, view);
}

/** A fact that is not known has no row. */
export type Row = readonly [string, Cell | null | undefined];

export function knownFacts(view: View, rows: readonly Row[]): string {
  const there = rows.filter((row): row is readonly [string, Cell] => (row[1] ?? null) !== null);
  return factsTable(there, view);
}

export function dateRows(dates: Dates, { now }: View): Row[] {
  const date = (value: unknown): string | undefined =>
    typeof value === "string" ? printableLine(when(value, now)) : undefined;
  return [
    ["Expires", date(dates.expiryDate)],
    ["Auto-locks", date(dates.autoLockDate)],
    ["Created", date(dates.dateCreated)],
    ["Last modified", date(dates.lastModified)],
  ];
}

/** Revealed values that are copied stand below the table, so that no line is broken. */
function revealed(
  { credentials, contents: { content } = {} }: ShownVault,
  { reveal, isTTY }: View,
): string {
  const gap = isTTY ? " " : "\t";
  const lines = [
    ...(isTTY && reveal !== false && typeof content === "string" ? [printable(content)] : []),
    ...(reveal === true && credentials !== undefined
      ? (["encryptedData", "payload"] as const).map(
          (name) => `${name}${gap}${printableLine(credentials[name])}`,
        )
      : []),
  ].map((line) => `${line}\n`);
  return `${lines.length > 0 && isTTY ? "\n" : ""}${lines.join("")}`;
}

function contentRows(
  vault: Record<string, unknown>,
  { reveal: choice, isTTY, palette: { strong } }: View,
): Row[] {
  const reveal = choice !== false;
  const card = object(vault["creditCard"]);
  const { number, name, expiryMonth: month, expiryYear } = card ?? {};
  const cardRows: Row[] = [
    ["Number", { text: printableLine(shownCardNumber(String(number), reveal)), paint: strong }],
    ["Name", printableLine(String(name))],
    ["Expiry", printableLine(`${String(month).padStart(2, "0")}/${String(expiryYear)}`)],
  ];
  const { content } = vault;
  const rows = card === undefined ? [] : cardRows;
  if (typeof content !== "string") return rows;
  const below = isTTY ? "below" : printableLine(content).replaceAll("\t", "\\u{9}");
  return [...rows, ["Content", { text: reveal ? below : shownContent(content), paint: strong }]];
}
