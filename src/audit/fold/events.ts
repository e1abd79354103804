/** Kinds of events that audit items record (sections 6 and 5.3), whatever an export calls them. */
export const eventKinds = [
  "create",
  /** An accepted start: it returns a new pair, and counts until an acknowledgement. */
  "read",
  "update",
  "ack-read",
  "ack-update",
  "delete",
  /** Refused for its credentials: a failed attempt. */
  "failed-read",
  "failed-update",
  "failed-delete",
  /** A failed attempt of an unknown call. */
  "failed-attempt",
  /** Refused for the device or the PIN: a failed attempt whose credentials were current. */
  "failed-device",
  "failed-pin",
  /** Refused without a reason, or for one that is not known: it may count as a failed attempt. */
  "refused",
  /** A failed attempt whose item says that it locked the vault. */
  "locking-failure",
  /** A start refused because it reached the limit of unacknowledged starts: it locks. */
  "locking-start",
  /** A call refused because the vault was locked: evidence of a lock, counts nothing. */
  "refused-locked",
  /** Refused because the service has no such vault, or no longer: no lock. */
  "gone",
  /** A refused end call: changes nothing. */
  "failed-ack",
  /** Action of an administrator, which some exports have. */
  "lock",
  "unlock",
  /** The service's own record that the vault was locked, which names no administrator. */
  "lock-noted",
  /** Refused or failed for a reason other than the vault: counts nothing. */
  "not-performed",
  /** Refused with HTTP status 401 alone, which may be about the application or the vault's credentials: counts nothing. */
  "unauthorized",
  /** About the application (key, address, token): not a failed attempt. */
  "application",
  /** Calls in this machine's journal without a response: they may count. */
  "unanswered-start",
  "unanswered-ack",
  /** Calls whose outcome is not understood: neither accepted nor refused. */
  "unclear-start",
  "unclear-ack",
  /** An unknown action. */
  "other",
] as const;

export type EventKind = (typeof eventKinds)[number];

export const isStart = (kind: EventKind): boolean => kind === "read" || kind === "update";

export const isAcknowledgement = (kind: EventKind | undefined): boolean =>
  kind === "ack-read" || kind === "ack-update";

/** Whether a kind counts as a failed attempt. */
export const isFailedAccess = (kind: EventKind): boolean =>
  kind === "failed-read" ||
  kind === "failed-update" ||
  kind === "failed-delete" ||
  kind === "failed-attempt" ||
  kind === "failed-device" ||
  kind === "failed-pin" ||
  kind === "refused" ||
  kind === "locking-failure";

/** Places of the kinds in `eventKinds`. */
export const eventCodes = Object.fromEntries(
  eventKinds.map((kind, code) => [kind, code]),
) as Readonly<Record<EventKind, number>>;

/** Verdicts on a vault, worst first; `unknown`: some of its items were not understood. */
export const verdicts = ["locked", "at-risk", "open-exchange", "unknown", "deleted", "ok"] as const;

export type Verdict = (typeof verdicts)[number];

/** Whether a verdict needs action. */
export const isProblem = (verdict: Verdict): boolean => verdict !== "deleted" && verdict !== "ok";
