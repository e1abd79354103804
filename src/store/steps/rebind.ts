import { VaultError } from "../../errors.ts";
import { openToken, sealToken } from "./exchange-rows.ts";
import { moveGenerations } from "./generations.ts";
import { all, run } from "../sqlite/query.ts";
import { findVault } from "./read-vault.ts";
import type { ExchangeRow, VaultRow } from "./rows.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { VaultTransaction } from "./vault-transaction.ts";
import { journal, vaultOf } from "./vault-transaction.ts";

/** `VaultSession.rebindFrom`: sealed values are bound to their service, so they are sealed again for the new one. */
export function rebindFrom(tx: VaultTransaction, key: SealingKey, service: string): void {
  const vault = vaultOf({ ...tx, service });
  if (service === tx.service) return;
  const here = findVault(tx.db, tx.service, tx.uuid);
  if (here !== undefined) absorb(tx, vault, here);
  run(tx.db, "UPDATE vaults SET service = ? WHERE id = ?", tx.service, vault.id);
  moveGenerations(tx, key, vault.id, service);
  for (const row of all<ExchangeRow>(tx.db, "SELECT * FROM exchanges WHERE vault = ? AND token IS NOT NULL", vault.id)) {
    const token = openToken(key, { service, uuid: tx.uuid }, row);
    run(tx.db, "UPDATE exchanges SET token = ? WHERE seq = ?", sealToken(key, tx, row.id, token), row.seq);
  }
  journal(tx, "rebound", null, { from: service });
}

/** What a forgotten vault left at the new service goes on counting; one that has credentials there is not replaced. */
function absorb(tx: VaultTransaction, vault: VaultRow, here: VaultRow): void {
  if (here.forgotten === 0) {
    throw new VaultError("no-credentials", `vault ${tx.uuid} has credentials at ${tx.service} already: nothing was moved`, {
      vault: tx.uuid,
      hint: `use them, or remove them first: vault forget ${tx.uuid}`,
    });
  }
  run(
    tx.db,
    "UPDATE vaults SET unacked_starts = max(unacked_starts, ?), failed_attempts = max(failed_attempts, ?), " +
      "last_generation = max(last_generation, ?) WHERE id = ?",
    here.unacked_starts,
    here.failed_attempts,
    here.last_generation,
    vault.id,
  );
  run(tx.db, "UPDATE OR IGNORE superseded SET vault = ? WHERE vault = ?", vault.id, here.id);
  run(tx.db, "UPDATE OR IGNORE refusals SET vault = ? WHERE vault = ?", vault.id, here.id);
  run(tx.db, "DELETE FROM superseded WHERE vault = ?", here.id);
  run(tx.db, "DELETE FROM refusals WHERE vault = ?", here.id);
  run(tx.db, "DELETE FROM vaults WHERE id = ?", here.id);
}
