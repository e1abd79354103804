import type { EventKind } from "../../fold/events.ts";
import type { Item } from "../item.ts";
import type { Renames } from "./actions.ts";
import { ActionNames, isFormerName, eventOfEndpoint } from "./actions.ts";

const failed: Partial<Record<EventKind, EventKind>> = {
  read: "failed-read",
  update: "failed-update",
  delete: "failed-delete",
  "ack-read": "failed-ack",
  "ack-update": "failed-ack",
};

/** The properties of an item that tell what kind of event it is. */
export type Wording = Pick<Item, "action" | "outcome" | "description">;

/** The same with the endpoint, which tells where the action does not. */
type WithEndpoint = Wording & Partial<Pick<Item, "endpoint">>;

/** What items with an action and an outcome mean. */
export interface Meaning {
  readonly action: string;
  readonly outcome: string | null;
  /** Undefined if it depends on the description: not for a plain success. */
  readonly kind: EventKind | undefined;
  readonly described: Map<string | null, EventKind>;
  /** The action is unknown: only the endpoint may tell what the call does. */
  readonly asksEndpoint: boolean;
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
  /** Number of items by action without a known name; some are not unknown, because they say why they failed. */
  readonly unnamed = new Map<string, number>();
  /** Actions without a known name that their endpoint explains. */
  readonly byEndpoint = new Set<string>();
  /** Outcomes that are neither a known success nor a known failure. */
  readonly unclear = new Set<string>();
  /** Number of items with a former action name (before release 1.2.11). */
  former = 0;
  readonly #names: ActionNames;
  readonly #meanings = new Map<string, Map<string | null, Meaning>>();
  #known = 0;

  /** `failure` matches failed attempts with unusual wording; `renames` explains actions with names of their own. */
  constructor(failure: RegExp | null, renames?: Renames) {
    this.failure = failure;
    this.#names = new ActionNames(renames);
  }

  meaningOf(action: string, outcome: string | null): Meaning {
    const known = this.#meanings.get(action)?.get(outcome);
    if (known !== undefined) return known;
    const asksEndpoint = this.#names.find(action) === undefined && !isAboutApplication(action);
    const asksDescription =
      this.failure !== null || outcome === null || outcomeOf(outcome) !== "good" || asksEndpoint;
    const meaning = {
      action,
      outcome,
      kind: asksDescription ? undefined : this.kindOf({ action, outcome, description: null }),
      described: new Map<string | null, EventKind>(),
      asksEndpoint,
      isFormer: isFormerName(action),
    };
    if (this.#mayRemember()) {
      const byOutcome = this.#meanings.get(action) ?? new Map<string | null, Meaning>();
      this.#meanings.set(action, byOutcome.set(outcome, meaning));
    }
    return meaning;
  }

  /**
   * Classifies an item by what its action and outcome mean, and counts it. The description matters only if they have no kind, the
   * endpoint only for an unknown action.
   */
  take(meaning: Meaning, description: string | null, endpoint: string | null = null): EventKind {
    const kind = meaning.kind ?? this.#describedKind(meaning, description, endpoint);
    if (meaning.isFormer) this.former += 1;
    if (meaning.asksEndpoint) countIn(this.unnamed, meaning.action);
    if (kind === "other") countIn(this.others, meaning.action);
    return kind;
  }

  kindOf(given: WithEndpoint): EventKind {
    const { action } = given;
    const wording = {
      action,
      outcome: textOf(given.outcome),
      description: given.description === action ? null : textOf(given.description),
    };
    const found = this.#names.find(action);
    const base = found?.kind ?? byEndpoint(given);
    const rest = found?.rest ?? action.replaceAll("_", " ");
    if (base === "application") return base;
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

  #describedKind(
    { action, outcome, described, asksEndpoint }: Meaning,
    description: string | null,
    endpoint: string | null,
  ): EventKind {
    const called = asksEndpoint ? byEndpoint({ action, endpoint }) : undefined;
    if (called !== undefined && endpoint !== null && this.byEndpoint.size < maxOthers)
      this.byEndpoint.add(action);
    const key = called === undefined ? description : `${called}\0${description ?? ""}`;
    const known = described.get(key);
    if (known !== undefined) return known;
    const kind = this.kindOf({ action, outcome, description, endpoint });
    if (this.#mayRemember()) described.set(key, kind);
    return kind;
  }

  #mayRemember(): boolean {
    this.#known += 1;
    return this.#known <= maxKnown;
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

function countIn(counts: Map<string, number>, action: string): void {
  const known = counts.get(action);
  if (known !== undefined || counts.size < maxOthers) counts.set(action, (known ?? 0) + 1);
}

/** Returns what a call with an unknown action does, by its endpoint, which may stand in the place of the action. */
const byEndpoint = ({
  action,
  endpoint,
}: Pick<WithEndpoint, "action" | "endpoint">): EventKind | undefined =>
  isAboutApplication(action) ? undefined : eventOfEndpoint(endpoint ?? action);

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
  if (saysOtherwise(text)) return "not-performed";
  if (outcome !== null && isOtherStatus(outcome))
    return outcome.trim().startsWith("401") ? "unauthorized" : "not-performed";
  return description === null ? "refused" : kind;
}

const isAboutApplication = (text: string): boolean =>
  /API_?KEY|ADDRESS|JWT|WHITELIST|APPLICATION/i.test(text);

// Patterns for outcomes and descriptions in exports: the specification shows neither fields nor texts (section 6).

/** Meaning of an outcome; `unclear` if it is neither a known success nor a known failure. */
type Outcome = "good" | "bad" | "unclear";

const good =
  /\b(?:success(?:ful(?:ly)?)?|succeed(?:ed|s)?|ok|true|yes|done|completed?|allowed|accepted|granted|permitted|pass(?:ed)?|no errors?)\b|^2\d\d\b/i;
const bad =
  /fail|invalid|\bbad\b|wrong|incorrect|denied|refus|reject|unauthori[sz]ed|forbidden|mismatch|\berror|not (?:valid|ok|found|allowed|accepted)|unsuccessful|too many|^(?:false|no|nok|ko)$|^[45]\d\d\b/i;

function outcomeOf(text: string): Outcome {
  const words = text.replaceAll("_", " ").trim();
  if (/\bno errors?\b/i.test(words)) return "good";
  return bad.test(words) ? "bad" : good.test(words) ? "good" : "unclear";
}

const locked =
  /\b(?:is|was|been|already|now|vault|and|it) locked\b|^locked$|\blocked out\b|, locked\b|\blocks the vault\b/i;
/** Wording of a lock that has not happened. */
const notYet =
  /\bnot (?:yet )?locked|\bbefore\b|\bremaining\b|\bleft\b|\bwill (?:be )?lock|\bwould (?:be )?lock|\buntil\b|\bunlocked\b/i;

/** Whether a text describes a failed call. */
const saysBad = (text: string): boolean => bad.test(text) || saysLocked(text);

/** Whether a text says that the vault is locked. */
const saysLocked = (text: string): boolean => locked.test(text) && !notYet.test(text);

/** Whether a text is about the credentials of a vault. */
const saysCredentials = (text: string): boolean =>
  /credential|payload|encrypted.?data|\bpin\b|hashed.?pin|\bdevice (?:does|did|mis|not|fingerprint)|\(device\)/i.test(
    text,
  );

const saysTooManyStarts = (text: string): boolean =>
  /too many (?:starts|reads|transactions)|unacknowledged|without (?:an? )?acknowledge?ment/i.test(
    text,
  );

/** Whether a text gives a reason other than the vault: the application, its rate, the request, or the service itself. */
const saysOtherwise = (text: string): boolean =>
  /api.?key|\bjwt\b|bearer|signature|whitelist|\baddress (?:is |was )?(?:not|refused|denied)|application (?:is |was )?(?:refused|unknown|not|or)|rate.?limit|too many requests|validation (?:failed|error)|malformed|vault (?:was )?(?:not found|unknown)|unknown vault|unavailable|time.?out|internal (?:server )?error/i.test(
    text,
  );

/** Whether an outcome is HTTP status 423, locked. */
const isLockedStatus = (text: string): boolean => /^423\b/.test(text.trim());
/** Whether an outcome is an HTTP error status that is not about credentials. */
const isOtherStatus = (text: string): boolean => /^(?:4(?!03|23)\d\d|5\d\d)\b/.test(text.trim());
