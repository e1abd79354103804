import type { EndReply, Operation, Service, StartReply } from "./state.ts";

/** The thresholds of the service, which the program knows (docs/interface.md, Lockout). */
export const lockAt = { failed: 3, unacked: 5 };

/** A start that arrives; `fresh` is the pair that it offers if it is accepted. */
export function serviceStart(
  service: Service,
  pair: number,
  operation: Operation,
  fresh: number,
): StartReply {
  if (service.deleted) return "gone";
  if (service.locked) return "locked";
  if (pair !== service.pair) {
    service.failed += 1;
    service.locked = service.failed >= lockAt.failed;
    return "refused";
  }
  service.open = null;
  service.failed = 0;
  service.unacked += 1;
  if (service.unacked >= lockAt.unacked) {
    service.locked = true;
    return "locked";
  }
  service.open = { offered: fresh, operation };
  return "success";
}

/**
 * An end call that arrives. A token is the number of the pair it came with: that of the last acknowledgement is that of the
 * current pair. What is answered to its repetition is not documented.
 */
export function serviceEnd(service: Service, token: number, idempotent: boolean): EndReply {
  if (idempotent && token === service.pair) return "success";
  // An error about a vault that is gone is one more definite answer.
  if (service.deleted) return "token";
  if (service.locked) return "locked";
  if (service.open?.offered !== token) return "token";
  const reads = service.open.operation === "get";
  service.pair = token;
  service.open = null;
  service.failed = 0;
  service.unacked = 0;
  if (reads && service.uses !== null) {
    service.uses -= 1;
    service.deleted = service.uses === 0;
  }
  return "success";
}
