import type { EventKind } from "../../fold/events.ts";
import { eventKinds } from "../../fold/events.ts";
import type { Item } from "../item.ts";
import {
  isLockedStatus,
  isOtherStatus,
  outcomeOf,
  saysBad,
  saysCredentials,
  saysLocked,
  saysOtherwise,
  saysTooManyStarts,
} from "./wordings.ts";

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

/** What an item says, before it is known what it means. */
export type Wording = Pick<Item, "action" | "outcome" | "description">;

/** So many different unknown actions are counted. */
const mostOthers = 100;

/** What a classifier counts on the way. */
export type Counts = Pick<Classifier, "others" | "unsure" | "former">;

/** Tells what an item means from its action, its outcome and its wording, in this order of weight. */
export class Classifier {
  readonly failure: RegExp | null;
  /** Items by action, of actions that this program does not know. */
  readonly others = new Map<string, number>();
  /** Outcomes that mean neither success nor failure, as far as this program knows. */
  readonly unsure = new Set<string>();
  /** Items with a former action name (before release 1.2.11). */
  former = 0;

  /** `failure` marks failed accesses that the usual wording does not. */
  constructor(failure: RegExp | null) {
    this.failure = failure;
  }

  /** Whether the description can make a difference: with a plain success it cannot. */
  asksDescription({ action, outcome }: Pick<Wording, "action" | "outcome">): boolean {
    return this.failure !== null || outcome === null || outcomeOf(outcome) !== "good" || nameIn(action) === undefined;
  }

  kindOf(given: Wording): EventKind {
    const { action } = given;
    const wording = {
      action,
      outcome: textOf(given.outcome),
      description: given.description === action ? null : textOf(given.description),
    };
    const found = nameIn(action);
    const base = found === undefined ? undefined : names[found.name];
    const rest = found === undefined ? action.replaceAll("_", " ") : found.rest;
    if (wording.outcome === "UNKNOWN" && base !== undefined) return base.startsWith("ack") ? "unanswered-ack" : "unanswered-start";
    // What an administrator does is worded like what becomes of it: only the outcome tells.
    if (base === "lock" || base === "unlock")
      return wording.outcome !== null && outcomeOf(wording.outcome) === "bad" ? "not-performed" : base;
    if (!this.#hasFailed(wording, rest)) return base ?? (isAboutApplication(action) ? "application" : "other");
    return failureOf(base, rest, wording);
  }

  /** Counts an item of that kind where it is one to be told of. */
  count(action: string, kind: number): void {
    if (isFormerName(action)) this.former += 1;
    if (kind === otherNumber) this.#countOthers(action, 1);
  }

  /** Adds what another one has counted. */
  addCounts({ others, unsure, former }: Counts): void {
    this.former += former;
    for (const [action, count] of others) this.#countOthers(action, count);
    for (const outcome of unsure) this.#noteUnsure(outcome);
  }

  #countOthers(action: string, count: number): void {
    const known = this.others.get(action);
    if (known !== undefined || this.others.size < mostOthers) this.others.set(action, (known ?? 0) + count);
  }

  #noteUnsure(outcome: string): void {
    if (this.unsure.size < mostOthers) this.unsure.add(outcome);
  }

  #hasFailed({ action, outcome, description }: Wording, rest: string): boolean {
    if (this.failure?.test([action, outcome, description].filter((text) => text !== null).join(" ")) === true) return true;
    if (saysBad(rest)) return true;
    const told = outcome === null ? "unsure" : outcomeOf(outcome);
    if (told !== "unsure") return told === "bad";
    const isBad = description !== null && saysBad(description.replaceAll("_", " "));
    if (outcome !== null && !isBad) this.#noteUnsure(outcome);
    return isBad;
  }
}

/** An empty text says nothing. */
const textOf = (text: string | null): string | null => (text === null || text.trim() === "" ? null : text.trim());

/** A failure whose wording says nothing else is one of credentials: those are what the service records (section 6). */
function failureOf(base: EventKind | undefined, rest: string, { action, outcome, description }: Wording): EventKind {
  const said = [rest, description ?? "", outcome ?? ""].join(" ").replaceAll("_", " ");
  if (base === undefined)
    return saysCredentials(said) ? "failed-access" : isAboutApplication(`${action} ${said}`) ? "application" : "other";
  const kind = failed[base];
  if (kind === undefined || kind === "failed-ack") return kind ?? "not-performed";
  if (saysCredentials(said)) return saysLocked(said) ? "locking-failure" : kind;
  if (saysTooManyStarts(said)) return "locking-start";
  if (saysLocked(said) || (outcome !== null && isLockedStatus(outcome))) return "refused-locked";
  if (saysOtherwise(said) || (outcome !== null && isOtherStatus(outcome))) return "not-performed";
  return description === null ? "refused" : kind;
}

const isAboutApplication = (text: string): boolean => /API_?KEY|ADDRESS|JWT|WHITELIST|APPLICATION/i.test(text);

/** Beside the name of an action only words of its outcome may stand: READ_VAULT_INFO is another action. */
const besideName =
  /^(?:FAILED|FAILURE|FAIL|FAILS|DENIED|REFUSED|REJECTED|ERROR|INVALID|UNAUTHORI[SZ]ED|SUCCESS|SUCCESSFUL|SUCCEEDED|OK|BAD|WRONG|CREDENTIALS?|EVENT|AUDIT|ITEM|STARTED|LOCKED|BY|THE|FOR|ATTEMPT)$/;

/** The name that an action begins with, or consists of, and what else it says. */
function nameIn(action: string): { name: keyof typeof names; rest: string } | undefined {
  const [head = ""] = /^[^:;,.()[\]{}–—|]*/.exec(action) ?? [];
  const text = normal(head);
  const name = anyName.exec(text)?.[0] as keyof typeof names | undefined;
  if (name === undefined) return undefined;
  const beside = text
    .replace(name, "_")
    .split("_")
    .filter((word) => word !== "");
  if (!beside.every((word) => besideName.test(word))) return undefined;
  return { name, rest: [...beside, action.slice(head.length)].join(" ") };
}

/** `readVault`, `read-vault` and `Read Vault` are READ_VAULT. */
const normal = (action: string): string =>
  action
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_");

/** Whether an action has the name that releases before 1.2.11 gave it (section 9). */
export const isFormerName = (action: string): boolean => formerNames.test(normal(action));

const numbers = new Map(eventKinds.map((kind, number) => [kind, number]));

/** The place of a kind in `eventKinds`. */
export const numberOf = (kind: EventKind): number => numbers.get(kind) as number;

const otherNumber = numberOf("other");
