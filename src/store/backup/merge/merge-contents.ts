import type { ContentRow, Contents } from "../../contents.ts";
import {
  columnsOf,
  journal,
  openExchangeOf,
  credentialsRow,
  exchangeRow,
  vaultRow,
  unknownVault,
} from "../../steps/rows.ts";
import type { ExchangeRow, VaultRows } from "../../steps/rows.ts";
import type { Merged } from "./merge-vault.ts";
import { mergeVault } from "./merge-vault.ts";

/** What a restore does with one vault. */
export interface MergedVault {
  service: string;
  uuid: string;
  label: string | null;
  /** `missing`: the file does not have it. */
  outcome: Merged | "missing";
  /** Whether the vault is here afterwards, and not forgotten. */
  isHere: boolean;
  /** The exchange that is open afterwards, and which state it is from. */
  open: { id: string; state: ExchangeRow["state"]; from: "here" | "file" } | null;
  /** Label that the vault has in the file, and not here because another vault has it. */
  droppedLabel: string | null;
}

/**
 * Merges the contents of a backup into those of a state: an import of every vault of the file. Twice is
 * as once. Secrets are open in both. Returns the contents of the state afterwards, with what the journal is to tell, and what has
 * become of each vault, in their order.
 */
export function mergeContents(
  here: Contents,
  file: Contents,
  now: number,
): { after: Contents; vaults: MergedVault[] } {
  const at = new Date(now).toISOString();
  const [ours, theirs] = [vaultsIn(here, at), vaultsIn(file, at)];
  const labels = new Set(Array.from(ours.values(), ({ vault }) => vault?.label));
  const droppedLabels = new Map<VaultRows, string>();
  const superseded = supersededByUuid(here);
  const vaults: MergedVault[] = [];
  const merged: VaultRows[] = [];
  for (const name of [...new Set([...ours.keys(), ...theirs.keys()])].toSorted()) {
    const [known, given] = [ours.get(name), theirs.get(name)];
    const rows = known ?? unknownVault(given as VaultRows);
    const opened = known && openExchangeOf(known)?.id;
    const outcome = given === undefined ? "missing" : mergeOne(rows, given);
    if (rows.vault !== null) merged.push(rows);
    const { service, uuid, vault } = rows;
    const open = openExchangeOf(rows);
    if (given === undefined && vault?.forgotten === true) continue;
    vaults.push({
      service,
      uuid,
      label: vault?.label ?? null,
      outcome,
      isHere: vault?.forgotten === false,
      open:
        open === undefined
          ? null
          : { id: open.id, state: open.state, from: open.id === opened ? "here" : "file" },
      droppedLabel: droppedLabels.get(rows) ?? null,
    });
  }
  return { after: contentsOf(here, merged), vaults };

  function mergeOne(rows: VaultRows, given: VaultRows): Merged {
    const outcome = mergeVault(rows, given, {
      now,
      superseded: superseded.get(rows.uuid) ?? new Set(),
    });
    if (["taken", "returned"].includes(outcome) && rows.vault !== null) {
      const { label } = rows.vault;
      if (label !== null && labels.has(label)) {
        droppedLabels.set(rows, label);
        rows.vault.label = null;
      }
      labels.add(label);
    }
    if (!["known", "older", "gone"].includes(outcome)) journal(rows, "merged", null, { outcome });
    return outcome;
  }
}

/** The rows of each vault, by service and uuid; copies that may be changed. */
function vaultsIn(contents: Contents, at: string): Map<string, VaultRows> {
  const nameOf = ({ service, uuid }: ContentRow): string => `${service} ${uuid}`;
  const vaults = new Map<string, VaultRows>();
  for (const row of contents.vaults) {
    const vault = vaultRow({ ...row });
    const { service, uuid } = vault;
    vaults.set(nameOf(row), { ...unknownVault({ service, uuid, at }), vault });
  }
  for (const row of contents.credentials)
    vaults.get(nameOf(row))?.credentials.push(credentialsRow({ ...row }));
  for (const row of contents.exchanges)
    vaults.get(nameOf(row))?.exchanges.push(exchangeRow({ ...row }));
  for (const row of contents.superseded)
    vaults.get(nameOf(row))?.superseded.add(String(row["fingerprint"]));
  for (const row of contents.refusals) {
    vaults
      .get(nameOf(row))
      ?.refusals.set(String(row["combination"]), row["fingerprint"] as string | null);
  }
  return vaults;
}

/** What is superseded is that under every base URL of its vault. */
function supersededByUuid({ superseded }: Contents): Map<string, Set<string>> {
  const prints = new Map<string, Set<string>>();
  for (const { uuid, fingerprint } of superseded) {
    const of = prints.get(String(uuid)) ?? new Set();
    prints.set(String(uuid), of.add(String(fingerprint)));
  }
  return prints;
}

/** The contents with these vaults; a list of rows says their order, whatever their `seq` is. */
function contentsOf(here: Contents, merged: readonly VaultRows[]): Contents {
  const parts = (rowsOf: (vault: VaultRows) => readonly object[]): ContentRow[] =>
    merged.flatMap((vault) =>
      rowsOf(vault).map((row) => columnsOf({ service: vault.service, uuid: vault.uuid, ...row })),
    );
  return {
    ...here,
    vaults: merged.flatMap(({ vault }) => (vault === null ? [] : [columnsOf(vault)])),
    credentials: parts(({ credentials }) => credentials),
    exchanges: parts(({ exchanges }) => exchanges),
    superseded: parts(({ superseded }) =>
      Array.from(superseded, (fingerprint) => ({ fingerprint })),
    ),
    refusals: parts(({ refusals }) =>
      Array.from(refusals, ([combination, fingerprint]) => ({ combination, fingerprint })),
    ),
    journal: [
      ...here.journal,
      ...parts(({ journal: entries, at }) => entries.map((entry) => ({ ...entry, at }))),
    ],
  };
}
