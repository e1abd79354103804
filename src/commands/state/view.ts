import { actorWords } from "../../actor.ts";
import type { BackupFacts } from "../../parts/state.ts";
import type { Cell } from "../../terminal/tables.ts";
import { factsTable, listTable } from "../../terminal/tables.ts";
import { relativeTime } from "../../terminal/time.ts";
import type { Document } from "../../documents/schemas.ts";
import type { View } from "../../cli/vault-view.ts";
import { count } from "../../terminal/count.ts";

type RestoredVault = Document<"state restore">["restored"]["vaults"][number];

/** Contents of a backup; the last line names what is missing, the key. */
export function backupTable(
  backup: BackupFacts,
  key: { source: string; file: string | null },
  view: View,
): string {
  const { strong, warn } = view.palette;
  const where = key.file === null ? `the key, ${key.source}` : key.source;
  const rows: [string, Cell][] = [
    ["Backup", { text: backup.file, paint: strong }],
    ["Size", `${Math.ceil(backup.bytes / 1024)} KiB`],
    ["Vaults", String(backup.vaults)],
    ["Pending", pendingCell(backup.pending, warn)],
    ["Key", backup.keyId ?? "none: nothing is encrypted"],
    [
      "Not in it",
      {
        text: `${where}: the backup cannot be opened without it; keep a copy of it elsewhere`,
        paint: warn,
      },
    ],
  ];
  return factsTable(rows, view);
}

const pendingCell = (pending: number, paint: (text: string) => string): Cell =>
  pending === 0 ? "none" : { text: count(pending, "exchange"), paint };

/** Who has locked which vault. */
export function locksTable({ locks }: Document<"state locks">, view: View): string {
  const { isTTY, now } = view;
  if (isTTY && locks.length === 0) return "No vault is in use.\n";
  const rows = locks.map(({ uuid, holder, since, endsAt }) => [
    uuid,
    actorWords(holder, "process"),
    ...(isTTY ? [relativeTime(Date.parse(since), now)] : [since, endsAt ?? ""]),
  ]);
  return listTable(["Vault", "Used by", "Since"], rows, view);
}

/** Why a vault is as it was here, as in the file, or both. */
const reasons: Readonly<Record<RestoredVault["reason"], string>> = {
  known: "nothing in the backup is new",
  older: "the credentials of the backup were superseded here",
  gone: "it was deleted since the backup; vault import brings it back",
  taken: "it was not known here",
  returned: "it was forgotten here",
  first: "the credentials of the backup are tried first",
  after: "the credentials of the backup are tried after those here",
};

/** What was restored, then the vaults of which the backup has something else than is here. */
export function restoredTable({ restored }: Document<"state restore">, view: View): string {
  const { strong, warn } = view.palette;
  const rows: [string, Cell][] = [
    ["Restored", { text: restored.file, paint: strong }],
    ["State", restored.state],
    ["Vaults", String(restored.vaults.length)],
    ["Pending", pendingCell(restored.pending, warn)],
    ["Key", restored.keyId ?? "none: nothing is encrypted"],
  ];
  const told = restored.vaults.filter(
    ({ reason, droppedLabel }) => reason !== "known" || droppedLabel !== null,
  );
  const facts = factsTable(rows, view);
  if (told.length === 0) return facts;
  const list = told.map((vault) => [vault.label ?? vault.uuid, whyOf(vault)]);
  const gap = view.isTTY ? "\n" : "";
  return `${facts}${gap}${listTable(["Vault", "Restored"], list, view)}`;
}

function whyOf({ reason, exchange, droppedLabel }: RestoredVault): string {
  const continued = exchange?.from === "file" ? `; its ${exchange.state} exchange continues` : "";
  const unlabeled =
    droppedLabel === null ? "" : `; its label ${droppedLabel} belongs to another vault here`;
  return `${reasons[reason]}${continued}${unlabeled}`;
}
