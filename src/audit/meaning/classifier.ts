import type { EventKind } from "../fold/events.ts";
import type { Rules } from "../../documents/audit.ts";
import type { Outcomes } from "./actions.ts";
import { ActionNames, isFormerName, eventOfEndpoint } from "./actions.ts";
import type { Outcome, Reason } from "./words.ts";
import type { Remark } from "./unknowns.ts";
import { Unknowns } from "./unknowns.ts";
import { describedOutcome, outcomeOf, plainWords, reasonOf } from "./words.ts";

/** The properties of an item that tell what kind of event it is. */
interface Wording {
  action: string;
  outcome?: string | undefined;
  description?: string | undefined;
}

/** The outcome is undefined in a log that has none. Where the action is unknown, the endpoint tells what a call does. */
interface Given {
  action: string;
  outcome: string | null | undefined;
  description?: string | undefined;
  endpoint?: string | undefined;
}

/** A kind of event, and what of the item is counted beside it. */
interface Known {
  readonly kind: EventKind;
  readonly remark: Remark | null;
}

/** What items with an action and an outcome mean. */
export interface Meaning {
  readonly action: string;
  readonly outcome: string | null | undefined;
  readonly inverted: boolean | undefined;
  /** Undefined if it depends on the description: not for a plain success. */
  readonly kind: EventKind | undefined;
  readonly described: Map<string | undefined, Known>;
  /** The endpoint may tell what the call does, or who locked a vault. */
  readonly asksEndpoint: boolean;
  readonly isUnnamed: boolean;
  readonly isFormer: boolean;
}

/** Maximum number of combinations of action, outcome and description that are classified once. */
const maxKnown = 3000;

type Meanings = Map<string, Map<string | null | undefined, Meaning>>;

/**
 * Classifies items by action, outcome and description. What none of them says is unknown. `failure` matches failed attempts with unusual
 * wording, `actions` and `outcomes` explain words of an export.
 */
export class Classifier {
  readonly unknowns = new Unknowns();
  /** Actions without a known name that their endpoint explains. */
  readonly byEndpoint = new Set<string>();
  /** Number of items with a former action name (before release 1.2.11). */
  former = 0;
  readonly #failure: RegExp | null;
  readonly #outcomes: ReadonlyMap<string, Outcomes[string]>;
  readonly #names: ActionNames;
  readonly #meanings = new Map<boolean | undefined, Meanings>();
  #known = 0;

  constructor({ failure, actions, outcomes = {} }: Partial<Rules> = {}) {
    this.#failure = failure === null || failure === undefined ? null : new RegExp(failure, "i");
    this.#outcomes = new Map(Object.entries(outcomes));
    this.#names = new ActionNames(actions);
  }

  /**
   * Returns what an action and an outcome mean. The outcome is null for an item without one, and undefined in a log that has none, where
   * only descriptions tell what failed. `inverted` is true for a column like `failed`, whose "true" is a failure, and false for one like
   * `success`: in others, 0 and 1 may mean either.
   */
  meaningOf(action: string, outcome: string | null | undefined, inverted?: boolean): Meaning {
    const meanings = this.#meanings.get(inverted) ?? (new Map() as Meanings);
    this.#meanings.set(inverted, meanings);
    const known = meanings.get(action)?.get(outcome);
    if (known !== undefined) return known;
    const base = this.#names.find(action)?.kind;
    const isUnnamed = base === undefined && !isAboutApplication(action);
    const isLock = base === "lock" || base === "lock-noted";
    const kind = this.kindOf({ action, outcome }, inverted);
    const isPlain =
      this.#failure === null &&
      !isUnnamed &&
      !isLock &&
      this.#outcomeOf(textOf(outcome) ?? "", inverted) === "good" &&
      kind === (base ?? "application");
    const meaning: Meaning = {
      action,
      outcome,
      inverted,
      kind: isPlain ? kind : undefined,
      described: new Map(),
      asksEndpoint: isUnnamed || isLock,
      isUnnamed,
      isFormer: isFormerName(action),
    };
    if (this.#mayRemember()) {
      const byOutcome = meanings.get(action) ?? new Map<string | null | undefined, Meaning>();
      meanings.set(action, byOutcome.set(outcome, meaning));
    }
    return meaning;
  }

  /**
   * Classifies an item by what its action and outcome mean, and counts it. The description matters only if they have no kind, the
   * endpoint only where the meaning asks for it.
   */
  take(meaning: Meaning, description?: string, endpoint?: string): EventKind {
    if (meaning.isFormer) this.former += 1;
    if (meaning.kind !== undefined) return meaning.kind;
    const { kind, remark } = this.#describedKind(meaning, description, endpoint);
    if (meaning.isUnnamed) this.unknowns.note("unnamed", meaning.action);
    if (remark !== null) {
      const { action, outcome } = meaning;
      const text = remark === "action" ? action : remark === "outcome" ? outcome : description;
      this.unknowns.note(remark, text ?? "");
    }
    return kind;
  }

  kindOf(given: Given, inverted?: boolean): EventKind {
    return this.#classify(given, inverted).kind;
  }

  #describedKind(meaning: Meaning, description?: string, endpoint?: string): Known {
    const { action, outcome, inverted, described, asksEndpoint } = meaning;
    const called = asksEndpoint ? byEndpoint({ action, endpoint }) : undefined;
    if (called !== undefined && endpoint !== undefined && this.byEndpoint.size < 100)
      this.byEndpoint.add(action);
    const isAdmin = asksEndpoint && isAdministrator(endpoint ?? "");
    const key =
      called === undefined && !isAdmin ? description : `${called}\0${isAdmin}\0${description}`;
    const known = described.get(key);
    if (known !== undefined) return known;
    // Ids and times in a description do not change what it says.
    const shape =
      description === undefined
        ? key
        : (key ?? "").replaceAll(/[\w-]{5,}/g, (token) => (/\d/.test(token) ? "#" : token));
    const alike = described.get(shape);
    if (alike !== undefined) return alike;
    const found = this.#classify({ action, outcome, description, endpoint }, inverted);
    if (this.#mayRemember()) described.set(shape, found);
    return found;
  }

  #mayRemember(): boolean {
    this.#known += 1;
    return this.#known <= maxKnown;
  }

  #outcomeOf(outcome: string, inverted: boolean | undefined): Outcome {
    const given = this.#outcomes.get(outcome.toLowerCase());
    return given === undefined
      ? outcomeOf(outcome, inverted)
      : given === "success"
        ? "good"
        : "bad";
  }

  #classify(given: Given, inverted: boolean | undefined): Known {
    const { action } = given;
    const outcome = textOf(given.outcome);
    const description = given.description === action ? undefined : textOf(given.description);
    const wording = { action, outcome, description };
    const found = this.#names.find(action);
    const base = found?.kind ?? byEndpoint(given);
    const rest = found?.rest ?? action;
    if (base === "application") return known(base);
    if (outcome === "UNKNOWN" && base !== undefined)
      return known(base.startsWith("ack") ? "unanswered-ack" : "unanswered-start");
    const result = outcome === undefined ? null : this.#outcomeOf(outcome, inverted);
    if (base === "lock" || base === "lock-noted" || base === "unlock") {
      // Words like "locked" describe the action itself here: only the outcome tells whether it failed.
      if (result === "bad") return known("not-performed");
      if (result === "unclear") return known("other", "outcome");
      const text = `${rest} ${description ?? ""}`;
      return known(base === "unlock" ? base : lockOf(base, text, given.endpoint ?? ""));
    }
    const texts = [rest, description].filter(
      (text) => text !== undefined && text !== "",
    ) as string[];
    const isGiven =
      this.#failure?.test(
        [action, outcome, description].filter((text) => text !== undefined).join(" "),
      ) === true;
    if (isGiven || result === "bad" || describedOutcome(rest) === "bad")
      return refusal(base, wording, texts, isGiven);
    if (base === undefined)
      return result !== "good" &&
        description !== undefined &&
        describedOutcome(description) === "bad"
        ? refusal(base, wording, texts, false)
        : isAboutApplication(action)
          ? known("application")
          : known("other", "action");
    if (result === "good" || (result === null && description === undefined)) return known(base);
    const said = description === undefined ? "unclear" : describedOutcome(description);
    if (said === "bad") {
      const refused = refusal(base, { action, description }, texts, false);
      if (result !== null)
        return known(base.startsWith("ack") ? "unclear-ack" : weaker(refused.kind), "outcome");
      // "no uses remain" and "vault deleted" say why a vault was deleted.
      return base === "delete" && refused.kind === "gone" ? known(base) : refused;
    }
    const isTold = said !== "unclear" || given.outcome !== undefined || this.#failure !== null;
    if (result === null && isTold) return known(base);
    if (base === "create" || base === "delete")
      return result === null ? known(base) : known("other", "outcome");
    return known(
      base.startsWith("ack") ? "unclear-ack" : "unclear-start",
      result === null ? "description" : "outcome",
    );
  }
}

const known = (kind: EventKind, remark: Remark | null = null): Known => ({ kind, remark });

/** Returns what a call with an unknown action does, by its endpoint, which may stand in the place of the action. */
const byEndpoint = ({
  action,
  endpoint,
}: Pick<Given, "action" | "endpoint">): EventKind | undefined =>
  isAboutApplication(action) ? undefined : eventOfEndpoint(endpoint ?? action);

/** Returns the trimmed text, or undefined for one that says nothing. */
function textOf(text: string | null | undefined): string | undefined {
  const trimmed = text?.trim() ?? "";
  return /^(?:|-+|n\/?a|none|null|\(null\)|undefined)$/i.test(trimmed) ? undefined : trimmed;
}

/** What a refusal is by its reason. */
const refusals: Readonly<
  Record<Exclude<Reason, "credentials" | "attempts"> | "locking", EventKind>
> = {
  device: "failed-device",
  pin: "failed-pin",
  locking: "locking-failure",
  locked: "refused-locked",
  starts: "locking-start",
  gone: "gone",
  // Whether the call was accepted before the failure is not known.
  service: "unclear-start",
  unauthorized: "unauthorized",
  application: "not-performed",
  rate: "not-performed",
  malformed: "not-performed",
  unavailable: "not-performed",
};

/** Kinds that an item tells in whatever call, and those that have nothing to do with the vault's credentials. */
const ofAnyCall = /^(?:failed-device|failed-pin|locking-failure|refused-locked)$/;
const elsewhere = /^(?:gone|unclear-start|not-performed)$/;

/** Where a refusal is known to be about the vault's credentials, device or PIN, it is a failed attempt; else it may be one. */
function refusal(
  base: EventKind | undefined,
  { action, outcome, description }: Wording,
  texts: readonly string[],
  isFailure: boolean,
): Known {
  if (base === "create") return known("not-performed");
  const reason = reasonOf(outcome, texts);
  if (base === "ack-read" || base === "ack-update")
    return known(reason === "service" ? "unclear-ack" : "failed-ack");
  if (reason === "credentials") return known(failedKind(base));
  const kind = reason === undefined || reason === "attempts" ? undefined : refusals[reason];
  if (base === undefined) {
    if (kind !== undefined && ofAnyCall.test(kind)) return known(kind);
    return reason === "application" || isAboutApplication(action)
      ? known("application")
      : known("other", "action");
  }
  if (kind !== undefined)
    return known(kind, description !== undefined && elsewhere.test(kind) ? "elsewhere" : null);
  return isFailure
    ? known(failedKind(base))
    : known("refused", description === undefined ? null : "reason");
}

const failedKind = (base: EventKind | undefined): EventKind =>
  base === "read" || base === "update" || base === "delete" ? `failed-${base}` : "failed-attempt";

/** Returns what a refusal is if only the description tells of it, and the outcome is not understood. */
const weaker = (kind: EventKind): EventKind =>
  kind.startsWith("locking") ? "refused-locked" : kind.startsWith("failed-") ? "refused" : kind;

/** Who locked a vault: an administrator, or the service, which may say by which rule. */
function lockOf(base: "lock" | "lock-noted", text: string, endpoint: string): EventKind {
  if (isAdministrator(text) || isAdministrator(endpoint)) return "lock";
  const reason = reasonOf(undefined, ["locked", text]);
  if (reason === "locking") return "locking-failure";
  return /\b(?:auto|automatic|automatically|system|idle|inactiv\w*|expiry)\b/.test(plainWords(text))
    ? "lock-noted"
    : base;
}

const isAdministrator = (text: string): boolean =>
  /(?:^|\b(?:by|through|durch|von|par|por|via|from|in)(?: \w+){0,2} )(?:admin\w*|operator\w*|console|konsole|support)\b|\bmanual|\bmanuell|\/(?:admin|console)\b/.test(
    plainWords(text),
  );

const isAboutApplication = (text: string): boolean =>
  /API_?KEY|ADDRESS|JWT|WHITELIST|APPLICATION/i.test(text);
