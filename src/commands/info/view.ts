import type { InfoSuccess } from "../../protocol/extended-answers.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import { shownFingerprint } from "../../terminal/secrets.ts";
import { when } from "../../terminal/time.ts";
import type { Row, View } from "../../cli/vault-view.ts";
import { knownFacts } from "../../cli/vault-view.ts";

/** What the service says of a vault, dates in local time with their distance. */
export async function infoTable(
  vault: { uuid: string; kind: string; label: string | null },
  info: InfoSuccess,
  view: View,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const date = (value: string | null): string | undefined =>
    value === null ? undefined : when(value, view.now);
  const { usesRemaining, metadata } = info;
  const rows: Row[] = [
    ["Vault", { text: vault.uuid, paint: palette.strong }],
    ["Label", vault.label === null ? undefined : printableLine(vault.label)],
    ["Kind", vault.kind],
    [
      "Reads left",
      usesRemaining === null
        ? undefined
        : {
            text: String(usesRemaining),
            paint: usesRemaining <= 1 ? palette.warn : palette.strong,
          },
    ],
    ["Expires", date(info.expiryDate)],
    ["Auto-locks", date(info.autoLockDate)],
    ["Created", date(info.dateCreated)],
    ["Last modified", date(info.lastModified)],
    ...Object.entries(metadata ?? {}).map(([key, value], index): Row => [
      index === 0 ? "Metadata" : "",
      printableLine(`${key} = ${value}`),
    ]),
  ];
  return await knownFacts(view, palette, rows);
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
  const date = (value: string | null): string | undefined =>
    value === null ? undefined : when(value, view.now);
  const rows: Row[] = [
    ["Vault", { text: success.uuid, paint: palette.strong }],
    ["Label", label === null ? undefined : printableLine(label)],
    ["Kind", kind],
    ["Reads left", success.usesRemaining === null ? undefined : String(success.usesRemaining)],
    ["Expires", date(success.expiryDate)],
    ["Auto-locks", date(success.autoLockDate)],
    ["Credentials", `generation ${generation}, ${shownFingerprint(fingerprint)}`],
  ];
  const table = await knownFacts(view, palette, rows);
  if (!view.reveal) return table;
  return `${table}\nencryptedData ${printableLine(credentials.encryptedData)}\npayload ${printableLine(credentials.payload)}\n`;
}
