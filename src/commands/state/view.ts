import { createPalette } from "../../terminal/palette.ts";
import type { Cell } from "../../terminal/tables.ts";
import { factsTable, listTable } from "../../terminal/tables.ts";
import { distance } from "../../terminal/time.ts";
import type { LocksDocument } from "../../documents/state.ts";
import type { View } from "../../cli/vault-view.ts";
import { count } from "../../terminal/count.ts";

interface Held {
  file: string;
  vaults: number;
  pending: number;
  keyId: string | null;
}

/** Contents of a backup; the last line names what is missing, the key. */
export async function backupTable(
  backup: Held & { bytes: number },
  key: { source: string; file: string | null },
  view: View,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const where = key.file === null ? `the key, ${key.source}` : key.source;
  const rows: [string, Cell][] = [
    ["Backup", { text: backup.file, paint: palette.strong }],
    ["Size", `${Math.ceil(backup.bytes / 1024)} KiB`],
    ["Vaults", String(backup.vaults)],
    ["Pending", pendingCell(backup.pending, palette.warn)],
    ["Key", backup.keyId ?? "none: nothing is encrypted"],
    [
      "Not in it",
      {
        text: `${where}: the backup cannot be opened without it; keep a copy of it elsewhere`,
        paint: palette.warn,
      },
    ],
  ];
  return factsTable(rows, { palette, columns: view.facts.columns });
}

export const pendingCell = (pending: number, paint: (text: string) => string): Cell =>
  pending === 0 ? "none" : { text: count(pending, "exchange"), paint };

/** Who holds which vault; null where the state has no list. */
export async function locksTable(
  locks: LocksDocument["locks"] | null,
  view: View,
): Promise<string> {
  if (locks === null)
    return "No locks to list: the operating system keeps those of a local state, and releases them when their process ends.\n";
  if (locks.length === 0) return "No vault is in use.\n";
  const palette = await createPalette(view.facts.color);
  const rows = locks.map(({ uuid, holder, since }) => [
    uuid,
    `${holder.user} on ${holder.host} (process ${holder.pid})`,
    distance(Date.parse(since), view.now),
  ]);
  return listTable(["Vault", "Used by", "Since"], rows, { palette, columns: view.facts.columns });
}
