import type { Delivery } from "../exchange/handover.ts";
import { object } from "../interface/answers.ts";
import { createPalette } from "./palette.ts";
import { printable } from "./redactor.ts";
import { shownCardNumber, shownContent, shownFingerprint } from "./secrets.ts";
import type { TerminalFacts } from "./streams.ts";
import type { Cell } from "./tables.ts";
import { factsTable } from "./tables.ts";
import { when } from "./time.ts";

export interface View {
  facts: TerminalFacts;
  now: number;
  reveal: boolean;
}

/** What was read from a vault, for a person: secrets masked unless revealed, dates in local time with their distance. */
export async function vaultTable(delivery: Delivery, view: View): Promise<string> {
  const { vault, exchange, kind } = delivery;
  const palette = await createPalette(view.facts.color);
  const date = (value: unknown): string | undefined => (typeof value === "string" ? when(value, view.now) : undefined);
  const uses = vault["usesRemaining"];
  const usesShown =
    typeof uses === "number" ? { text: `${uses}, this one included`, paint: uses <= 1 ? palette.warn : palette.strong } : undefined;
  const rows: (readonly [string, Cell | undefined])[] = [
    ["Vault", { text: delivery.recovery.uuid, paint: palette.strong }],
    ["Kind", kind],
    ...contentRows(vault, view.reveal, palette.strong),
    ["Reads left", usesShown],
    ["Expires", date(vault["expiryDate"])],
    ["Locks itself", date(vault["autoLockDate"])],
    ["Created", date(vault["dateCreated"])],
    ["Last modified", date(vault["lastModified"])],
    ["Credentials", `generation ${exchange.generation}, ${shownFingerprint(delivery.fingerprint)}`],
    ["Reference", exchange.externalRef],
  ];
  const known = rows.filter((row): row is readonly [string, Cell] => row[1] !== undefined);
  const table = await factsTable(known, { palette, columns: view.facts.columns });
  return view.reveal ? table + revealed(delivery) : table;
}

/** What is there to be copied stands below the table, unbroken. */
function revealed({ recovery, vault }: Delivery): string {
  const { encryptedData, payload } = recovery.new;
  const { content } = vault;
  const text = typeof content === "string" ? [printable(content)] : [];
  return ["", ...text, `encryptedData ${printable(encryptedData)}`, `payload ${printable(payload)}`, ""].join("\n");
}

function contentRows(vault: Record<string, unknown>, reveal: boolean, strong: (text: string) => string): (readonly [string, Cell])[] {
  const rows: (readonly [string, Cell])[] = [];
  const card = object(vault["creditCard"]);
  if (card !== undefined) {
    rows.push(["Number", { text: shownCardNumber(String(card["number"]), reveal), paint: strong }]);
    rows.push(["Name", String(card["name"])]);
    rows.push(["Expiry", `${String(card["expiryMonth"]).padStart(2, "0")}/${String(card["expiryYear"])}`]);
  }
  const { content } = vault;
  if (typeof content === "string") rows.push(["Content", { text: reveal ? "below" : shownContent(content), paint: strong }]);
  return rows;
}
