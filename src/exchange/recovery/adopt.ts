import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../context.ts";
import type { AdoptionOutcome } from "../records.ts";
import type { RecoveryDocument } from "./document.ts";

/**
 * Takes a recovery document over, whatever its age and whatever is open here: both its pairs become candidates, and what this
 * state has proven keeps its standing.
 * @throws `invalid-input` for another vault's document, and `no-credentials` for one that is older than what was proved here
 */
export async function adoptRecovery(context: Pick<ExchangeContext, "session">, document: RecoveryDocument): Promise<AdoptionOutcome> {
  checkRecovery(context.session.uuid, document);
  return await context.session.adopt({
    exchangeId: document.exchangeId,
    kind: document.kind,
    operation: document.operation ?? "get",
    old: document.old,
    new: document.new,
    token: document.token,
    tokenExpiry: document.tokenExpiry,
    device: document.device,
    unread: document.unread === true,
  });
}

/** The part of `adoptRecovery` that can come before the vault is held. */
export function checkRecovery(uuid: string, document: Pick<RecoveryDocument, "uuid">): void {
  if (document.uuid.toLowerCase() === uuid.toLowerCase()) return;
  throw new VaultError("invalid-input", `--credentials: this document belongs to vault ${document.uuid}`, {
    vault: uuid,
    hint: `use it with that vault: vault get ${document.uuid} --credentials @FILE`,
  });
}
