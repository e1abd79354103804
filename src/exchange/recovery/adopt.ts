import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../context.ts";
import type { AdoptionOutcome } from "../records.ts";
import type { RecoveryDocument } from "./document.ts";

/**
 * Adopts the exchange of a recovery document, whatever is open here. Both its pairs become candidates, and what this state has
 * proven keeps its standing.
 * @throws `invalid-input` for another vault's document, and `no-credentials` for one that is older than what was proven here
 */
export async function adoptRecovery(
  context: Pick<ExchangeContext, "session">,
  document: RecoveryDocument,
): Promise<AdoptionOutcome> {
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

/**
 * The part of `adoptRecovery` that needs no lock.
 * @throws `invalid-input` for another vault's document
 */
export function checkRecovery(uuid: string, document: Pick<RecoveryDocument, "uuid">): void {
  if (document.uuid.toLowerCase() === uuid.toLowerCase()) return;
  throw new VaultError(
    "invalid-input",
    `--credentials: this document belongs to vault ${document.uuid}`,
    {
      uuid,
      hint: `vault get ${document.uuid} --credentials @FILE (uses it with that vault)`,
    },
  );
}
