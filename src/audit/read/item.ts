/** Audit item of any export format: no fields are documented (docs/interface.md, Audit items). */
export interface Item {
  /** Milliseconds since the epoch. */
  time: number;
  /** UUID in lower case; absent if the item names no vault. */
  vault?: string;
  /** As written. */
  action: string;
  outcome?: string;
  description?: string;
  id?: string;
  address?: string;
  externalRef?: string;
  endpoint?: string;
  application?: string;
}

/** An item on its way through the fold. */
export class Entry {
  /** Milliseconds since the epoch. */
  time = Number.NaN;
  /** Number of its vault (VaultTable); -1 if it names none. */
  vault = -1;
  /** Place of the event in `eventKinds`. */
  code = 0;
  input = 0;
  /** Line where the record begins, or number of the element; from 1. */
  line = 0;
  /** Byte offset and length in the input. NaN: a double from the start, or V8 recompiles all. */
  offset = Number.NaN;
  length = 0;
  /** Hash of the item's id or, without one, of its content (bytes.ts). */
  idHash = 0;

  get event(): EventKind {
    return eventKinds[this.code] as EventKind;
  }
}

/** Where an item is, which is read again if a report needs it. */
export type ItemLocation = Pick<Entry, "input" | "line" | "event" | "offset" | "length">;

/** Properties of an item that columns can hold, by their roles in `--map` and `--where`. */
export const properties = {
  time: "time",
  action: "action",
  vault: "vault",
  outcome: "outcome",
  ip: "address",
  ref: "externalRef",
  endpoint: "endpoint",
  app: "application",
  id: "id",
  reason: "description",
} as const satisfies Record<string, keyof Item>;

export type Role = keyof typeof properties;

export const roles = Object.keys(properties) as Role[];

interface Skip {
  input: number;
  line: number;
  reason: string;
}

const maxListed = 100;

/** Maximum number of uuids remembered of lines that could not be read. */
const maxUuids = 100_000;

export const anyUuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

const everyUuid = new RegExp(anyUuid, "gi");

/** Lines that are not items: their number, the first ones, and the uuids that they name. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];
  /** With the time of the last lock that names them; Infinity for what could not be read. */
  readonly #uuids = new Map<string, number>();

  /** Sorted by input and line: inputs are read ahead, so lines are not added in order. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  /** `text`: what could not be read. */
  add(skip: Skip, text: string): void {
    this.count += 1;
    if (this.#first.length < maxListed) this.#first.push(skip);
    this.name(text);
  }

  /** Notes what a text names that could not be read, or at that time is about a lock. */
  name(text: string, at = Infinity): void {
    for (const [found] of text.matchAll(everyUuid)) {
      const uuid = found.toLowerCase();
      const known = this.#uuids.get(uuid) ?? 0;
      if (known > 0 || this.#uuids.size < maxUuids) this.#uuids.set(uuid, Math.max(known, at));
    }
  }

  /** That time of a uuid, in lower case; 0 if none names it. Beyond a limit, what could not be read may name any. */
  namedAt(uuid: string): number {
    return this.#uuids.size === maxUuids ? Infinity : (this.#uuids.get(uuid) ?? 0);
  }
}

/** How a call ended: "failed" is a refusal that counts, "unclear" neither accepted nor refused. */
type Ended = "accepted" | "failed" | "refused" | "unclear";

/**
 * Kinds of events in audit items (docs/interface.md, Audit items), whatever an export calls them:
 * words in a report, the call, and how it ended, which two exports may describe differently.
 */
const kinds = {
  create: ["created", "create"],
  /** An accepted start: it returns a new pair, and counts until an acknowledgement. */
  read: ["read started", "start", "accepted"],
  update: ["update started", "start", "accepted"],
  "ack-read": ["read acknowledged", "end", "accepted"],
  "ack-update": ["update acknowledged", "end", "accepted"],
  delete: ["deleted", "delete"],
  failed: ["refused: credentials", "start", "failed"],
  /** Refused for the device or the PIN: a failed attempt whose credentials were current. */
  "failed-device": ["refused: device", "start", "failed"],
  "failed-pin": ["refused: PIN", "start", "failed"],
  /** Refused without a reason, or for one that is not known: it may count as a failed attempt. */
  refused: ["refused, reason not known", "start", "failed"],
  /** A failed attempt whose item says that it locked the vault. */
  "locking-failure": ["refused: credentials", "start", "failed"],
  /** A start refused because it reached the limit of unacknowledged starts: it locks. */
  "locking-start": ["start refused: limit reached", "start", "refused"],
  /** A call refused because the vault was locked: evidence of a lock, counts nothing. */
  "refused-locked": ["call refused: locked", "start", "refused"],
  /** Refused because the service has no such vault, or no longer: no lock. */
  gone: ["refused: no such vault", "start", "refused"],
  /** A refused end call: changes nothing. */
  "failed-ack": ["acknowledgement refused", "end", "refused"],
  /** Action of an administrator, which some exports have. */
  lock: ["locked by administrator", "lock"],
  unlock: ["unlocked by administrator", "unlock"],
  /** The service's own record that the vault was locked, which names no administrator. */
  "lock-noted": ["locked, as recorded", "lock-noted"],
  /** Refused or failed for a reason other than the vault: counts nothing. */
  "not-performed": ["not performed", "start", "refused"],
  /** Refused with status 401 alone, for the application or the vault's credentials: may count. */
  unauthorized: ["refused with status 401", "start", "refused"],
  /** About the application (key, address, token): not a failed attempt. */
  application: ["about the application", "application"],
  /** Calls in this machine's journal without a response: they may count. */
  "unanswered-start": ["start: no response", "start", "unclear"],
  "unanswered-ack": ["acknowledgement: no response", "end", "unclear"],
  /** Calls whose outcome is not understood. */
  "unclear-start": ["start: outcome unclear", "start", "unclear"],
  "unclear-ack": ["acknowledgement: unclear", "end", "unclear"],
  other: ["unknown action", "other"],
} as const satisfies Record<string, readonly [words: string, call: string, ended?: Ended]>;

export type EventKind = keyof typeof kinds;

export const eventKinds = Object.keys(kinds) as [EventKind, ...EventKind[]];

/** Places of the kinds in `eventKinds`. */
export const eventCodes = Object.fromEntries(
  eventKinds.map((kind, code) => [kind, code]),
) as Readonly<Record<EventKind, number>>;

export const eventWords = (kind: EventKind): string => kinds[kind][0];

export const callOf = (kind: EventKind): string => kinds[kind][1];

/** How the call ended; undefined for an event that is no call. */
export const endOf = (kind: EventKind): Ended | undefined => kinds[kind][2];

export const isStart = (kind: EventKind): boolean => kind === "read" || kind === "update";

export const isAcknowledgement = (kind: EventKind | undefined): boolean =>
  kind === "ack-read" || kind === "ack-update";

export const isFailedAccess = (kind: EventKind): boolean => endOf(kind) === "failed";

/** Verdicts on a vault, worst first; `unknown`: some of its items were not understood. */
export const verdicts = ["locked", "at-risk", "open-exchange", "unknown", "deleted", "ok"] as const;

export type Verdict = (typeof verdicts)[number];

const missing = "an item is missing";
const otherLimits = "the limits differ from those assumed";

/** What contradicts the log, behind the action of its item, and possible explanations. */
export const contradictions = {
  "acknowledgement-without-start": `without a start before it: ${missing}, it was acknowledged twice, or the clocks differ`,
  /** Of the same reference, by another clock. */
  "acknowledgement-before-start":
    "is dated after its own acknowledgement: the clocks differ, and they count as a pair",
  "acknowledgement-after-expiry": `after the token of its start had expired: tokens live longer than assumed (--token-lifetime), or ${missing}`,
  "acknowledgement-of-other-operation": `for the other operation: ${missing}`,
  "activity-after-deletion": "after the vault was deleted",
  "activity-while-locked": `accepted while the vault is locked: an unlock is not in the log, or ${otherLimits}`,
  "activity-before-creation": "after other items of the same vault",
  "created-twice": "a second time",
  "refused-while-open": `refused because of a lock that the log does not show: ${missing}, or ${otherLimits}`,
  /** An item says that it locked the vault, but by the rules another one did. */
  "locked-at-another-moment": `records a lock that the rules do not explain: ${otherLimits}, or ${missing}`,
} as const;

export type Contradiction = keyof typeof contradictions;

/** Whether a verdict needs action. */
export const isProblem = (verdict: Verdict): boolean => verdict !== "deleted" && verdict !== "ok";
