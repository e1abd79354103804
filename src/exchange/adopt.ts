import { VaultError } from "../errors.ts";
import { checkGiven } from "./choose-pair.ts";
import type { ExchangeContext } from "./context.ts";
import { liveGenerations } from "./candidates.ts";
import type { RecoveryDocument } from "./recovery.ts";

/**
 * Takes a recovery document over, so that it can be settled like an exchange of this machine whose end call may have
 * been sent. A document whose new pair is recorded already changes nothing. Raises `invalid-input` for another vault's
 * document, and `no-credentials` as for a given pair.
 */
export async function adoptRecovery(context: Pick<ExchangeContext, "session">, document: RecoveryDocument, force: boolean): Promise<void> {
  const { session } = context;
  checkRecovery(session.uuid, document);
  const record = await session.read();
  // A pair that was only imported says nothing about its exchange: the document does.
  const known = record === null ? [] : liveGenerations(record).filter((g) => g.proven || g.standing !== "imported");
  if (
    await isRecorded(
      context,
      document,
      known.map((g) => g.generation),
    )
  )
    return;
  if (await session.isSuperseded(document.new)) await checkGiven(context, record, document.new, force);
  await checkGiven(context, record, document.old, force);
  await session.adopt({
    exchangeId: document.exchangeId,
    kind: document.kind,
    operation: document.operation ?? "get",
    old: document.old,
    new: document.new,
    token: document.token,
    tokenExpiry: document.tokenExpiry,
    ...(document.device === undefined ? {} : { device: document.device }),
    unread: document.unread === true,
  });
}

/** The part of `adoptRecovery` that can come before the vault is held. */
export function checkRecovery(uuid: string, document: RecoveryDocument): void {
  if (document.uuid.toLowerCase() === uuid.toLowerCase()) return;
  throw new VaultError("invalid-input", `--credentials: this recovery document belongs to vault ${document.uuid}`, {
    vault: uuid,
    hint: `use it with that vault: vault get ${document.uuid} --credentials @FILE`,
  });
}

async function isRecorded(
  context: Pick<ExchangeContext, "session">,
  document: RecoveryDocument,
  generations: readonly number[],
): Promise<boolean> {
  for (const generation of generations) {
    const stored = await context.session.credentials(generation);
    if (stored.encryptedData === document.new.encryptedData && stored.payload === document.new.payload) return true;
  }
  return false;
}
