import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import type { Item } from "./item.ts";

/** Section 6: the current names, the former ones, and those of an administrator's acts where an export has them. */
const names = {
  ACKNOWLEDGE_UPDATE_VAULT: "ack-update",
  ACKNOWLEDGE_READ_VAULT: "ack-read",
  COMPLETE_USE_VAULT: "ack-read",
  START_USE_VAULT: "read",
  REGISTER_VAULT: "create",
  CREATE_VAULT: "create",
  UPDATE_VAULT: "update",
  DELETE_VAULT: "delete",
  READ_VAULT: "read",
  UNLOCK_VAULT: "unlock",
  VAULT_UNLOCKED: "unlock",
  LOCK_VAULT: "lock",
  VAULT_LOCKED: "lock",
} as const satisfies Record<string, EventKind>;

const formerNames = /REGISTER_VAULT|START_USE_VAULT|COMPLETE_USE_VAULT/;

/** Longer names stand before those that are a part of them. */
const anyName = new RegExp(Object.keys(names).join("|"));

const failed: Partial<Record<EventKind, EventKind>> = {
  read: "failed-read",
  update: "failed-update",
  delete: "failed-delete",
  "ack-read": "failed-ack",
  "ack-update": "failed-ack",
};

const goodOutcome = /^(?:success(?:ful(?:ly)?)?|succeeded|ok|true|yes|2\d\d|done|complete[d]?|allowed|granted|pass(?:ed)?)$/i;
const badWording =
  /fail|invalid|\bbad\b|wrong|incorrect|denied|refus|reject|unauthori[sz]ed|mismatch|error|not valid|too many|\blocked\b|^(?:false|no|[45]\d\d)$/i;

const aboutCredentials = /credential|payload|encrypted.?data|\bpin\b|hashed.?pin|\bdevice\b/i;
const tooManyStarts = /too many (?:starts|reads|transactions)|unacknowledged|without (?:an? )?acknowledge?ment/i;
const lockedAlready = /\block(?:ed)?\b/i;
const aboutApplication =
  /api.?key|\bjwt\b|bearer|signature|whitelist|address|application|rate.?limit|too many requests|validation|malformed|not found|unknown vault/i;

/** What an item says, before it is known what it means. */
export type Wording = Pick<Item, "action" | "outcome" | "description">;

/** So many different unknown actions are counted. */
const mostOthers = 100;

/** Tells what an item means from its action, its outcome and its wording, in this order of weight. */
export class Classifier {
  readonly #failure: RegExp | null;
  /** Items by action, of actions that this program does not know. */
  readonly others = new Map<string, number>();
  /** Items with a former action name (before release 1.2.11). */
  former = 0;

  /** `failure` marks failed accesses that the usual wording does not. */
  constructor(failure: RegExp | null) {
    this.#failure = failure;
  }

  /** Whether the description can make a difference: with a plain success it cannot. */
  asksDescription({ action, outcome }: Pick<Wording, "action" | "outcome">): boolean {
    return this.#failure !== null || outcome === null || !goodOutcome.test(outcome.trim()) || !anyName.test(normal(action));
  }

  kindOf(wording: Wording): EventKind {
    const action = normal(wording.action);
    const name = anyName.exec(action)?.[0] as keyof typeof names | undefined;
    const base = name === undefined ? undefined : names[name];
    const rest = name === undefined ? wording.action : action.replace(name, " ").replaceAll("_", " ");
    // What an administrator does is worded like what becomes of it.
    if (base === "lock" || base === "unlock") return base;
    const said = [rest, wording.description === wording.action ? null : (wording.description?.replaceAll("_", " ") ?? null)];
    if (wording.outcome === "UNKNOWN" && base !== undefined) return base.startsWith("ack") ? "unanswered-ack" : "unanswered-start";
    if (!this.#hasFailed(wording, said)) return base ?? (isAboutApplication(action) ? "application" : "other");
    return failureOf(
      base,
      `${said.filter((text) => text !== null).join(" ")} ${wording.outcome ?? ""}`,
      action,
      wording.description !== null,
    );
  }

  /** Counts an item of that kind where it is one to be told of. */
  count(action: string, kind: number): void {
    if (isFormerName(action)) this.former += 1;
    if (kind !== otherNumber) return;
    const known = this.others.get(action);
    if (known !== undefined || this.others.size < mostOthers) this.others.set(action, (known ?? 0) + 1);
  }

  #hasFailed({ action, outcome, description }: Wording, said: (string | null)[]): boolean {
    if (this.#failure?.test([action, outcome, description].filter((text) => text !== null).join(" ")) === true) return true;
    if (badWording.test(said[0] ?? "")) return true;
    if (outcome !== null && outcome.trim() !== "") return !goodOutcome.test(outcome.trim());
    return badWording.test(said[1] ?? "");
  }
}

/** A failure whose wording says nothing else is one of credentials: those are what the service records (section 6). */
function failureOf(base: EventKind | undefined, wording: string, action: string, hasWords: boolean): EventKind {
  if (base === undefined)
    return aboutCredentials.test(wording) ? "failed-access" : isAboutApplication(`${action} ${wording}`) ? "application" : "other";
  const kind = failed[base];
  if (kind === undefined || kind === "failed-ack") return kind ?? "other";
  if (aboutCredentials.test(wording)) return lockedAlready.test(wording) ? "locking-failure" : kind;
  if (tooManyStarts.test(wording)) return "locking-start";
  if (lockedAlready.test(wording)) return "refused-locked";
  if (aboutApplication.test(wording)) return "application";
  return hasWords ? kind : "refused";
}

const isAboutApplication = (text: string): boolean => /API_?KEY|ADDRESS|JWT|WHITELIST|APPLICATION/i.test(text);

const normal = (action: string): string => action.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");

/** Whether an action has the name that releases before 1.2.11 gave it (section 9). */
export const isFormerName = (action: string): boolean => formerNames.test(normal(action));

const numbers = new Map(eventKinds.map((kind, number) => [kind, number]));

/** The place of a kind in `eventKinds`. */
export const numberOf = (kind: EventKind): number => numbers.get(kind) as number;

const otherNumber = numberOf("other");
