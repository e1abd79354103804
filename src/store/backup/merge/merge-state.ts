import type { SealingKey } from "../../../secrets/sealing.ts";
import type { VaultRecordRow } from "../../document.ts";
import { columnsOf, rowsOf, trim } from "../../document.ts";
import { liveGeneration } from "../../steps/generations.ts";
import type { ExchangeRow, Place, VaultRows } from "../../steps/rows.ts";
import { journal, openExchangeOf, unknownVault } from "../../steps/rows.ts";
import { openCredentials, openToken, sealCredentials, sealToken } from "../../steps/sealed.ts";
import type { Row, Whole, WholeReader } from "../../whole/whole.ts";
import type { Merged } from "./merge-vault.ts";
import { mergeVault } from "./merge-vault.ts";
import type { Merging } from "./meeting.ts";

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
 * Merges a backup into a state vault by vault: an import of every vault of the file, with what is superseded there. Twice is as once.
 * With `into` (the same state) it is written, else only foreseen. Returns what becomes of each vault, in their order, and what the journal is to tell.
 */
export async function mergeState(
  here: WholeReader,
  file: WholeReader,
  key: SealingKey,
  now: number,
  into?: Whole,
): Promise<{ vaults: MergedVault[]; journal: Row[] }> {
  const at = new Date(now).toISOString();
  const merged = new Map<string, MergedVault>();
  const labels = new Set<string>();
  const told: Row[] = [];
  for await (const vaults of here.vaults())
    for (const { label } of vaults) if (label !== null) labels.add(label);
  for await (const vaults of file.vaults())
    for (const row of vaults) merged.set(nameOf(row), await mergeOne(row));
  for await (const vaults of here.vaults())
    for (const row of vaults)
      if (!merged.has(nameOf(row)) && (row.status === "open" || row.status === "closed"))
        merged.set(nameOf(row), outcomeOf(rowsOf({ ...row, at }, row, here.marks), "missing"));
  const vaults = [...merged.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { vaults: vaults.map(([, vault]) => vault), journal: told };

  async function mergeOne(given: VaultRecordRow): Promise<MergedVault> {
    const { service, uuid } = given;
    const place = { service, uuid, at };
    const known = await here.vault(service, uuid);
    const rows = known === null ? unknownVault(place, here.marks) : await read(here, place, known);
    const theirs = await read(file, place, given);
    for (const print of await file.spent(uuid)) theirs.superseded.add(print);
    const spent = await here.spent(uuid);
    const superseded = new Set([...spent].filter((p) => liveGeneration(rows, p) === undefined));
    const merged = mergeOpened(rows, theirs, { now, superseded }, labels);
    if (into !== undefined && rows.vault !== null) {
      trim(rows);
      await into.put("vaults", [columnsOf(sealed(rows, key))]);
      const prints = [...rows.superseded].filter((fingerprint) => !spent.has(fingerprint));
      await into.put(
        "spent",
        prints.map((fingerprint) => ({ service, uuid, fingerprint })),
      );
      const entries = rows.journal.map(({ detail, ...entry }) => ({
        ...place,
        ...entry,
        detail: JSON.stringify(detail),
      }));
      told.push(...entries);
    }
    return merged;
  }

  async function read(whole: WholeReader, place: Place, row: VaultRecordRow): Promise<VaultRows> {
    const [own = row] = await whole.sealedBy(key, [row]);
    return opened(rowsOf(place, own, whole.marks), key);
  }
}

/** Merges a vault of the file into that vault here; both have their secrets open. `labels` are those that are taken here. */
export function mergeOpened(
  rows: VaultRows,
  theirs: VaultRows,
  merging: Merging,
  labels: Set<string>,
): MergedVault {
  const before = openExchangeOf(rows)?.id;
  const outcome = mergeVault(rows, theirs, merging);
  const label = rows.vault?.label ?? null;
  let droppedLabel: string | null = null;
  if (["taken", "returned"].includes(outcome) && rows.vault !== null && label !== null) {
    if (labels.has(label)) [droppedLabel, rows.vault.label] = [label, null];
    labels.add(label);
  }
  if (!["known", "older", "gone"].includes(outcome)) journal(rows, "merged", null, { outcome });
  return { ...outcomeOf(rows, outcome, before), droppedLabel };
}

/** A vault with its secrets open. */
export function opened(rows: VaultRows, key: SealingKey): VaultRows {
  for (const pair of rows.credentials)
    if (pair.sealed !== null) pair.sealed = JSON.stringify(openCredentials(key, rows, pair));
  for (const exchange of rows.exchanges)
    if (exchange.token !== null) exchange.token = openToken(key, rows, exchange);
  return rows;
}

export function sealed(rows: VaultRows, key: SealingKey): VaultRows {
  for (const pair of rows.credentials)
    if (pair.sealed !== null)
      pair.sealed = sealCredentials(key, rows, pair.generation, JSON.parse(pair.sealed) as never);
  for (const exchange of rows.exchanges)
    if (exchange.token !== null) exchange.token = sealToken(key, rows, exchange.id, exchange.token);
  return rows;
}

const nameOf = ({ service, uuid }: Pick<VaultRows, "service" | "uuid">): string =>
  `${service} ${uuid}`;

function outcomeOf(rows: VaultRows, outcome: MergedVault["outcome"], before?: string): MergedVault {
  const { service, uuid, vault } = rows;
  const open = openExchangeOf(rows);
  const from = outcome === "missing" || open?.id === before ? "here" : "file";
  return {
    service,
    uuid,
    label: vault?.label ?? null,
    outcome,
    isHere: vault?.forgotten === false,
    open: open === undefined ? null : { id: open.id, state: open.state, from },
    droppedLabel: null,
  };
}
