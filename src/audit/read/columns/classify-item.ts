import type { EventKind } from "../../fold/events.ts";
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

/** Section 6: current and former action names, and actions of administrators, which some exports have. */
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

/** Any of the names; longer ones come before those that they contain. */
const anyName = new RegExp(Object.keys(names).join("|"));

const failed: Partial<Record<EventKind, EventKind>> = {
  read: "failed-read",
  update: "failed-update",
  delete: "failed-delete",
  "ack-read": "failed-ack",
  "ack-update": "failed-ack",
};

/** The properties of an item that tell what kind of event it is. */
export type Wording = Pick<Item, "action" | "outcome" | "description">;

/** What items with an action and an outcome mean. */
export interface Meaning {
  readonly action: string;
  readonly outcome: string | null;
  /** Undefined if it depends on the description: not for a plain success. */
  readonly kind: EventKind | undefined;
  readonly described: Map<string | null, EventKind>;
  /** Whether the action has a former name. */
  readonly isFormer: boolean;
}

/** Maximum number of unknown actions, and of unclear outcomes, to remember. */
const maxOthers = 100;

/** Maximum number of combinations of action, outcome and description that are classified once. */
const maxKnown = 3000;

/** Classifies items by action, outcome and description, in this order of weight. */
export class Classifier {
  readonly failure: RegExp | null;
  /** Number of items by unknown action. */
  readonly others = new Map<string, number>();
  /** Outcomes that are neither a known success nor a known failure. */
  readonly unclear = new Set<string>();
  /** Number of items with a former action name (before release 1.2.11). */
  former = 0;
  readonly #meanings = new Map<string, Map<string | null, Meaning>>();
  #known = 0;

  /** `failure` matches failed attempts with unusual wording. */
  constructor(failure: RegExp | null) {
    this.failure = failure;
  }

  meaningOf(action: string, outcome: string | null): Meaning {
    const known = this.#meanings.get(action)?.get(outcome);
    if (known !== undefined) return known;
    const asksDescription =
      this.failure !== null ||
      outcome === null ||
      outcomeOf(outcome) !== "good" ||
      nameIn(action) === undefined;
    const meaning = {
      action,
      outcome,
      kind: asksDescription ? undefined : this.kindOf({ action, outcome, description: null }),
      described: new Map<string | null, EventKind>(),
      isFormer: isFormerName(action),
    };
    if (this.#mayRemember()) {
      const byOutcome = this.#meanings.get(action) ?? new Map<string | null, Meaning>();
      this.#meanings.set(action, byOutcome.set(outcome, meaning));
    }
    return meaning;
  }

  /** Classifies an item by what its action and outcome mean, and counts it. The description matters only if they have no kind. */
  take(meaning: Meaning, description: string | null): EventKind {
    const kind = meaning.kind ?? this.#describedKind(meaning, description);
    if (meaning.isFormer) this.former += 1;
    if (kind === "other") this.#countOther(meaning.action);
    return kind;
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
    if (wording.outcome === "UNKNOWN" && base !== undefined)
      return base.startsWith("ack") ? "unanswered-ack" : "unanswered-start";
    // Words like "locked" describe the action itself here: only the outcome tells whether it failed.
    if (base === "lock" || base === "unlock")
      return wording.outcome !== null && outcomeOf(wording.outcome) === "bad"
        ? "not-performed"
        : base;
    if (!this.#hasFailed(wording, rest))
      return base ?? (isAboutApplication(action) ? "application" : "other");
    return failureOf(base, rest, wording);
  }

  #describedKind({ action, outcome, described }: Meaning, description: string | null): EventKind {
    const known = described.get(description);
    if (known !== undefined) return known;
    const kind = this.kindOf({ action, outcome, description });
    if (this.#mayRemember()) described.set(description, kind);
    return kind;
  }

  #mayRemember(): boolean {
    this.#known += 1;
    return this.#known <= maxKnown;
  }

  #countOther(action: string): void {
    const known = this.others.get(action);
    if (known !== undefined || this.others.size < maxOthers)
      this.others.set(action, (known ?? 0) + 1);
  }

  #noteUnclear(outcome: string): void {
    if (this.unclear.size < maxOthers) this.unclear.add(outcome);
  }

  #hasFailed({ action, outcome, description }: Wording, rest: string): boolean {
    if (
      this.failure?.test(
        [action, outcome, description].filter((text) => text !== null).join(" "),
      ) === true
    )
      return true;
    if (saysBad(rest)) return true;
    const meaning = outcome === null ? "unclear" : outcomeOf(outcome);
    if (meaning !== "unclear") return meaning === "bad";
    const isBad = description !== null && saysBad(description.replaceAll("_", " "));
    if (outcome !== null && !isBad) this.#noteUnclear(outcome);
    return isBad;
  }
}

/** Returns the trimmed text, or null for an empty one. */
const textOf = (text: string | null): string | null =>
  text === null || text.trim() === "" ? null : text.trim();

/** Classifies a failure. One without another reason is a failed attempt, because that is what the service records (section 6). */
function failureOf(
  base: EventKind | undefined,
  rest: string,
  { action, outcome, description }: Wording,
): EventKind {
  const text = [rest, description ?? "", outcome ?? ""].join(" ").replaceAll("_", " ");
  if (base === undefined)
    return saysCredentials(text)
      ? "failed-attempt"
      : isAboutApplication(`${action} ${text}`)
        ? "application"
        : "other";
  const kind = failed[base];
  if (kind === undefined || kind === "failed-ack") return kind ?? "not-performed";
  if (saysCredentials(text)) return saysLocked(text) ? "locking-failure" : kind;
  if (saysTooManyStarts(text)) return "locking-start";
  if (saysLocked(text) || (outcome !== null && isLockedStatus(outcome))) return "refused-locked";
  if (saysOtherwise(text) || (outcome !== null && isOtherStatus(outcome))) return "not-performed";
  return description === null ? "refused" : kind;
}

const isAboutApplication = (text: string): boolean =>
  /API_?KEY|ADDRESS|JWT|WHITELIST|APPLICATION/i.test(text);

/** Words that may accompany the name of an action. With any other word it is another action: READ_VAULT_INFO. */
const besideName =
  /^(?:FAILED|FAILURE|FAIL|FAILS|DENIED|REFUSED|REJECTED|ERROR|INVALID|UNAUTHORI[SZ]ED|SUCCESS|SUCCESSFUL|SUCCEEDED|OK|BAD|WRONG|CREDENTIALS?|EVENT|AUDIT|ITEM|STARTED|LOCKED|BY|THE|FOR|ATTEMPT)$/;

/** Finds the known name in an action, and returns it with the rest of the text. */
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

/** Normalizes `readVault`, `read-vault` and `Read Vault` to READ_VAULT. */
const normal = (action: string): string =>
  action
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_");

/** Whether an action has a name of releases before 1.2.11 (section 9). */
const isFormerName = (action: string): boolean => formerNames.test(normal(action));
