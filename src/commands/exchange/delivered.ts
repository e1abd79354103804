import type { Delivery } from "../../exchange/handover.ts";
import type { ExchangeResult } from "../../exchange/run.ts";
import type { GetDocument, UpdateDocument } from "../documents/exchange.ts";

/** What a read prints. */
export const getDocument = ({
  recovery,
  label,
  vault,
  kind,
  exchange,
  settled,
}: Delivery): GetDocument => ({
  uuid: recovery.uuid,
  label,
  vault,
  kind,
  exchange,
  settled,
});

/** What an update prints, once its outcome is known. */
export function updateDocument({
  delivery,
  exchange: { state, acknowledgedAt },
}: ExchangeResult): UpdateDocument {
  const document = getDocument(delivery);
  return { ...document, exchange: { ...document.exchange, state, acknowledgedAt } };
}
