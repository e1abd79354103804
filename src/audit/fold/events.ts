/**
 * What an audit item means to its vault, whatever an export calls it. The number is the place in this list.
 * Sections 6 and 5.3 of the specification.
 */
export const eventKinds = [
  "create",
  /** A start that was accepted: it offers a new pair, and counts until an acknowledgement. */
  "read",
  "update",
  "ack-read",
  "ack-update",
  "delete",
  /** Refused for its credentials: a failed access. */
  "failed-read",
  "failed-update",
  "failed-delete",
  /** Failed accesses of which the export does not say which call it was. */
  "failed-access",
  /** Refused, and the item does not say why: counts as a failed access. */
  "refused",
  /** A failed access whose item says that it locked the vault. */
  "locking-failure",
  /** A start that was refused because it was one too many without acknowledgement: it locks. */
  "locking-start",
  /** Any call that was refused because the vault was locked already: evidence, counts nothing. */
  "refused-locked",
  /** An end call that was refused: changes nothing. */
  "failed-ack",
  /** By an administrator, where the export has such items. */
  "lock",
  "unlock",
  /** Refused or failed for a reason that is none of the vault's: counts nothing. */
  "not-performed",
  /** About the application (key, address, token): no failed access of a vault. */
  "application",
  /** In a journal of this machine: calls that no answer came to. They may have counted. */
  "unanswered-start",
  "unanswered-ack",
  /** An action that this program does not know. */
  "other",
] as const;

export type EventKind = (typeof eventKinds)[number];

/** Whether it counts as a failed access. */
export const isFailedAccess = (kind: EventKind): boolean => kind === "refused" || kind === "locking-failure" || accesses.has(kind);

const accesses: ReadonlySet<EventKind> = new Set<EventKind>(["failed-read", "failed-update", "failed-delete", "failed-access"]);
