import type { Actor } from "../actor.ts";
import type { Delivery } from "../exchange/delivery.ts";
import { object } from "../protocol/answers.ts";
import type { Palette } from "../terminal/palette.ts";
import { createPalette } from "../terminal/palette.ts";
import { printable, printableLine } from "../terminal/redactor.ts";
import {
  shownCardNumber,
  shownContent,
  namedFingerprint,
  shownFingerprint,
} from "../terminal/secrets.ts";
import type { TerminalFacts } from "../terminal/streams.ts";
import type { Cell } from "../terminal/tables.ts";
import { factsTable } from "../terminal/tables.ts";
import { when } from "../terminal/time.ts";
import type { InfoSuccess } from "../protocol/extended-answers.ts";

export interface View {
  facts: TerminalFacts;
  /** Null where a program reads it: times are ISO 8601 then. */
  now: number | null;
  /** Shows all secrets, or the contents of the vault but not its credentials. */
  reveal: boolean | "contents";
  /** Who reads it. */
  self: Actor;
}

/** Table of what a read returned: secrets masked unless revealed, dates in local time with their distance. */
export async function vaultTable(delivery: Delivery, view: View): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const uses = delivery.vault["usesRemaining"];
  const table = knownFacts(view, palette, [
    ...subject(delivery, view, palette),
    ...contentRows(delivery.vault, view, palette),
    [
      "Reads left",
      typeof uses === "number"
        ? readsLeft(uses, `${uses} (this one included)`, palette)
        : undefined,
    ],
    ...facts(delivery, view),
  ]);
  return table + revealed(delivery, view);
}

/** The new contents of an update that is about to be sent, masked. */
export async function contentsTable(
  contents: Record<string, unknown>,
  view: View,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  return knownFacts(view, palette, contentRows(contents, view, palette));
}

/** Table of an update and its outcome; the new contents masked unless revealed. */
export async function receiptTable(
  delivery: Delivery,
  contents: Record<string, unknown>,
  view: View,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const { acknowledgedAt, state } = delivery.exchange;
  const uses = delivery.vault["usesRemaining"];
  const outcome =
    acknowledgedAt === null
      ? { text: `${state}, not acknowledged yet`, paint: palette.warn }
      : { text: `acknowledged ${when(acknowledgedAt, view.now)}`, paint: palette.good };
  const table = knownFacts(view, palette, [
    ...subject(delivery, view, palette),
    ["Update", outcome],
    ...contentRows(contents, view, palette),
    ["Reads left", typeof uses === "number" ? readsLeft(uses, String(uses), palette) : undefined],
    // The start's response has the date of the update before.
    ...facts({ ...delivery, vault: { ...delivery.vault, lastModified: undefined } }, view),
  ]);
  return table + revealed({ ...delivery, vault: contents }, view);
}

/** One fact; undefined where it is not known. */
export type Row = readonly [string, Cell | undefined];

/** A table of the facts that are known. */
export function knownFacts(view: View, palette: Palette, rows: readonly Row[]): string {
  const there = rows.filter((row): row is readonly [string, Cell] => row[1] !== undefined);
  return factsTable(there, { palette, ...view.facts });
}

/** On a terminal the label stands beside the UUID. */
function subject({ uuid, label, kind }: Delivery, { facts }: View, palette: Palette): Row[] {
  const shown = label === null ? undefined : printableLine(label);
  const beside = facts.isTTY && shown !== undefined ? ` (${shown})` : "";
  return [
    ["Vault", { text: `${uuid}${beside}`, paint: palette.strong }],
    ["Label", facts.isTTY ? undefined : shown],
    ["Kind", kind],
  ];
}

const readsLeft = (uses: number, text: string, palette: Palette): Cell => ({
  text,
  paint: uses <= 1 ? palette.warn : palette.strong,
});

function facts({ vault, exchange, fingerprint }: Delivery, view: View): Row[] {
  return [
    ...dateRows(vault, view),
    [
      "Credentials",
      `generation ${exchange.newGeneration}, ${shownFingerprint(namedFingerprint(fingerprint))}`,
    ],
    ["Reference", exchange.externalRef],
  ];
}

/** The dates of a vault, in local time with their distance. */
export function dateRows(
  dates: { [Name in "expiryDate" | "autoLockDate" | "dateCreated" | "lastModified"]?: unknown },
  { now }: View,
): Row[] {
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
  { credentials, vault: { content } }: Pick<Delivery, "credentials" | "vault">,
  { reveal, facts }: View,
): string {
  const gap = facts.isTTY ? " " : "\t";
  const lines = [
    ...(facts.isTTY && reveal !== false && typeof content === "string" ? [printable(content)] : []),
    ...(reveal === true
      ? (["encryptedData", "payload"] as const).map(
          (name) => `${name}${gap}${printableLine(credentials[name])}`,
        )
      : []),
  ].map((line) => `${line}\n`);
  return `${lines.length > 0 && facts.isTTY ? "\n" : ""}${lines.join("")}`;
}

/** Card or text of a vault, in the form of the interface. */
function contentRows(
  vault: Record<string, unknown>,
  { reveal: choice, facts: { isTTY } }: View,
  { strong }: Palette,
): Row[] {
  const reveal = choice !== false;
  const rows: Row[] = [];
  const card = object(vault["creditCard"]);
  if (card !== undefined) {
    rows.push([
      "Number",
      { text: printableLine(shownCardNumber(String(card["number"]), reveal)), paint: strong },
    ]);
    rows.push(["Name", printableLine(String(card["name"]))]);
    rows.push([
      "Expiry",
      printableLine(
        `${String(card["expiryMonth"]).padStart(2, "0")}/${String(card["expiryYear"])}`,
      ),
    ]);
  }
  const { content } = vault;
  if (typeof content === "string") {
    const below = isTTY ? "below" : printableLine(content).replaceAll("\t", "\\u{9}");
    rows.push(["Content", { text: reveal ? below : shownContent(content), paint: strong }]);
  }
  return rows;
}

/** What the service says of a vault, dates in local time with their distance. */
export async function infoTable(
  vault: { uuid: string; kind: string; label: string | null },
  info: InfoSuccess,
  view: View,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const { usesRemaining, metadata } = info;
  const rows: Row[] = [
    ["Vault", { text: vault.uuid, paint: palette.strong }],
    ["Label", vault.label === null ? undefined : printableLine(vault.label)],
    ["Kind", vault.kind],
    [
      "Reads left",
      usesRemaining === null ? undefined : readsLeft(usesRemaining, String(usesRemaining), palette),
    ],
    ...dateRows(info, view),
    ...Object.entries(metadata ?? {}).map(([key, value], index): Row => [
      index === 0 ? "Metadata" : "",
      printableLine(`${key} = ${value}`),
    ]),
  ];
  return knownFacts(view, palette, rows);
}

interface ShownCreated {
  kind: string;
  label: string | null;
  generation: number;
  fingerprint: string;
  success: Pick<InfoSuccess, "expiryDate" | "autoLockDate" | "usesRemaining"> & { uuid: string };
  credentials: { encryptedData: string; payload: string };
}

/** A vault that was created: its credentials by their fingerprint, unless revealed. */
export async function createdTable(
  { kind, label, generation, fingerprint, success, credentials }: ShownCreated,
  view: View,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const { expiryDate, autoLockDate } = success;
  const rows: Row[] = [
    ["Vault", { text: success.uuid, paint: palette.strong }],
    ["Label", label === null ? undefined : printableLine(label)],
    ["Kind", kind],
    ["Reads left", success.usesRemaining === null ? undefined : String(success.usesRemaining)],
    ...dateRows({ expiryDate, autoLockDate }, view),
    ["Credentials", `generation ${generation}, ${shownFingerprint(fingerprint)}`],
  ];
  const table = knownFacts(view, palette, rows);
  return table + revealed({ credentials, vault: {} }, view);
}
