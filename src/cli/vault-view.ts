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

export interface View {
  facts: TerminalFacts;
  now: number;
  reveal: boolean;
}

/** Table of what a read returned: secrets masked unless revealed, dates in local time with their distance. */
export async function vaultTable(delivery: Delivery, view: View): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const uses = delivery.vault["usesRemaining"];
  const table = await knownFacts(view, palette, [
    ...subject(delivery, palette),
    ...contentRows(delivery.vault, view.reveal, palette.strong),
    [
      "Reads left",
      typeof uses === "number"
        ? readsLeft(uses, `${uses} (this one included)`, palette)
        : undefined,
    ],
    ...facts(delivery, view),
  ]);
  return view.reveal ? table + revealed(delivery) : table;
}

/** The new contents of an update that is about to be sent, masked. */
export async function contentsTable(
  contents: Record<string, unknown>,
  view: View,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  return await knownFacts(view, palette, contentRows(contents, view.reveal, palette.strong));
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
  const table = await knownFacts(view, palette, [
    ...subject(delivery, palette),
    ["Update", outcome],
    ...contentRows(contents, view.reveal, palette.strong),
    ["Reads left", typeof uses === "number" ? readsLeft(uses, String(uses), palette) : undefined],
    ...facts(delivery, view),
  ]);
  return view.reveal ? table + revealed({ ...delivery, vault: contents }) : table;
}

/** One fact; undefined where it is not known. */
export type Row = readonly [string, Cell | undefined];

/** A table of the facts that are known. */
export async function knownFacts(
  view: View,
  palette: Palette,
  rows: readonly Row[],
): Promise<string> {
  const there = rows.filter((row): row is readonly [string, Cell] => row[1] !== undefined);
  return factsTable(there, { palette, columns: view.facts.columns });
}

const subject = ({ uuid, kind }: Delivery, palette: Palette): Row[] => [
  ["Vault", { text: uuid, paint: palette.strong }],
  ["Kind", kind],
];

const readsLeft = (uses: number, text: string, palette: Palette): Cell => ({
  text,
  paint: uses <= 1 ? palette.warn : palette.strong,
});

function facts({ vault, exchange, fingerprint }: Delivery, view: View): Row[] {
  const date = (value: unknown): string | undefined =>
    typeof value === "string" ? printableLine(when(value, view.now)) : undefined;
  return [
    ["Expires", date(vault["expiryDate"])],
    ["Auto-locks", date(vault["autoLockDate"])],
    ["Created", date(vault["dateCreated"])],
    ["Last modified", date(vault["lastModified"])],
    [
      "Credentials",
      `generation ${exchange.newGeneration}, ${shownFingerprint(namedFingerprint(fingerprint))}`,
    ],
    ["Reference", exchange.externalRef],
  ];
}

/** Values that are copied stand below the table, so that no line is broken. */
function revealed({ credentials, vault }: Pick<Delivery, "credentials" | "vault">): string {
  const { encryptedData, payload } = credentials;
  const { content } = vault;
  const text = typeof content === "string" ? [printable(content)] : [];
  return [
    "",
    ...text,
    `encryptedData ${printableLine(encryptedData)}`,
    `payload ${printableLine(payload)}`,
    "",
  ].join("\n");
}

/** Card or text of a vault, in the form of the interface. */
function contentRows(
  vault: Record<string, unknown>,
  reveal: boolean,
  strong: (text: string) => string,
): [string, Cell][] {
  const rows: [string, Cell][] = [];
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
  if (typeof content === "string")
    rows.push(["Content", { text: reveal ? "below" : shownContent(content), paint: strong }]);
  return rows;
}
