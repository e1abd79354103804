import { eventCodes, isAcknowledgement, type EventKind } from "../read/item.ts";
import type { Rules } from "../../documents/audit.ts";
import { grouped } from "../../terminal/count.ts";
import { clip, listed } from "../read/clip.ts";
import { eventOfEndpoint, nameIn, type Renames } from "./actions.ts";
import type { Outcome, Reason } from "./words.ts";
import { describedOutcome, outcomeOf, plainWords, reasonOf, saysNothing } from "./words.ts";

/** What reports mention of an item: a sentence for its values, with flags that explain them. */
const sentences = {
  action: `Actions that were not understood: VALUES. Say what they mean (--action OLD=NEW, once for each; vault help audit lists the names), or name the column that has the actions (--map action=COLUMN).`,
  outcome: `Outcomes that were not recognized, neither accepted nor refused: VALUES. Say what they mean (--outcome VALUE=success or VALUE=failure, once for each), or name their column (--map outcome=COLUMN).`,
  /** In a log without outcomes. */
  description: `The log has no outcomes, and descriptions that do not tell whether the call was accepted: VALUES. Describe failed attempts (--failure PATTERN), or name the column (--map outcome=COLUMN).`,
  reason: `Reasons of refusals that were not recognized, and may be failed attempts: VALUES. Describe those that are (--failure PATTERN).`,
  endpoint: `Actions without a known name count by the endpoint of the call: VALUES.`,
};
type Remark = keyof typeof sentences;

/** A kind of event, and what of the item is counted beside it. */
type Known = readonly [kind: EventKind, remark?: Remark];

/** An action, with what it means by outcomes of one column. */
export interface Action {
  readonly action: string;
  /** True for columns like `failed`, false for those like `success`; else 0 and 1 are unclear. */
  readonly inverted: boolean | undefined;
  /** The outcome of an item without one (`Meaning`), as of one with `-` or `N/A`. */
  readonly none: "" | null | undefined;
  readonly meanings: Map<string | undefined, Meaning>;
}

/** What items with an action and an outcome mean. */
export interface Meaning extends Omit<Action, "meanings" | "none"> {
  /** Without one: null if others have successes, else empty; undefined in a log without any. */
  readonly outcome: string | null | undefined;
  /** The outcome as it stands there. */
  readonly text: string | undefined;
  /** Code of the event; undefined if it depends on the description: not for a plain success. */
  readonly code: number | undefined;
  /** The endpoint may tell what the call does, or who locked a vault. */
  readonly asksEndpoint: boolean;
  readonly described: Map<string | undefined, Known>;
}

/** Maximum number of combinations of action, outcome and description that are classified once. */
const maxKnown = 3000;
/** Maximum number of values to count, of each kind. */
const maxValues = 100;

/**
 * Classifies items by action, outcome and description, and counts what was not understood.
 * `failure` matches unusual failed attempts, `actions` and `outcomes` explain words of an export.
 */
export class Classifier {
  readonly #failure: RegExp | undefined;
  readonly #outcomes: ReadonlyMap<string, Outcome>;
  readonly #renames: Renames;
  readonly #word: (text: string) => string;
  /** By `inverted` and `none`. */
  readonly #actions: Record<string, Map<string, Action>> = {};
  #known = 0;
  readonly #counts = new Map<Remark, Map<string, number>>();

  /** `word` returns a text as it may be shown. */
  constructor(
    { failure, actions = {}, outcomes = {} }: Partial<Rules> = {},
    word = (text: string): string => text,
  ) {
    this.#failure = failure ? new RegExp(failure, "i") : undefined;
    this.#outcomes = new Map(
      Object.entries(outcomes).map(([text, to]) => [text, to === "success" ? "good" : "bad"]),
    );
    this.#renames = actions;
    this.#word = word;
  }

  actionOf(action: string, inverted?: boolean, none?: "" | null): Action {
    const known = (this.#actions[`${inverted} ${none}`] ??= new Map());
    return (
      known.get(action) ??
      this.#remember(known, action, { action, inverted, none, meanings: new Map() })
    );
  }

  meaningOf({ action, inverted, none, meanings }: Action, text?: string): Meaning {
    const known = meanings.get(text);
    if (known !== undefined) return known;
    const outcome = this.#outcomeIn(text) ?? none;
    const base = nameIn(action, this.#renames)?.kind;
    const isUnnamed = base === undefined && !isAboutApplication(action);
    const asksEndpoint = isUnnamed || base === "lock" || base === "lock-noted";
    const given = { action, outcome, inverted };
    const [kind] = this.#classify(given);
    const isPlain =
      this.#failure === undefined &&
      !asksEndpoint &&
      this.#outcomeOf(outcome ?? "", inverted) === "good" &&
      kind === (base ?? "application");
    return this.#remember(meanings, text, {
      ...given,
      text,
      code: isPlain ? eventCodes[kind] : undefined,
      asksEndpoint,
      described: new Map<string | undefined, Known>(),
    });
  }

  /**
   * Classifies and counts an item by the meaning of action and outcome; returns the event's code.
   * The description matters only if they have none, the endpoint only if the meaning asks.
   */
  take(meaning: Meaning, description?: string, endpoint?: string): number {
    if (meaning.code !== undefined) return meaning.code;
    const { action, asksEndpoint, described } = meaning;
    const called = asksEndpoint ? byEndpoint(action, endpoint) : undefined;
    const key = asksEndpoint
      ? `${called}\0${isAdministrator(endpoint ?? "")}\0${description}`
      : description;
    const [kind, remark] =
      described.get(key) ??
      described.get(shapeOf(key)) ??
      this.#remember(described, shapeOf(key), this.#classify(meaning, description, endpoint));
    if (called !== undefined && endpoint !== undefined) this.#note("endpoint", action);
    if (remark === "action") this.#note(remark, action);
    else if (remark === "outcome") this.#note(remark, meaning.text ?? "");
    else if (remark !== undefined) this.#note(remark, description ?? "");
    return eventCodes[kind];
  }

  /** Says what was assumed or not understood: values with item counts, most frequent first. */
  say(remarks: readonly Remark[]): string[] {
    return remarks.flatMap((remark) => {
      const values = [...(this.#counts.get(remark) ?? [])]
        .sort(([, a], [, b]) => b - a)
        .map(([text, count]) => `${clip(this.#word(text))} ×${grouped(count)}`);
      return values.length === 0 ? [] : sentences[remark].replace("VALUES", () => listed(values));
    });
  }

  #note(remark: Remark, text: string): void {
    const counts = this.#counts.get(remark) ?? new Map<string, number>();
    this.#counts.set(remark, counts);
    const count = counts.get(text);
    if (count !== undefined || counts.size < maxValues) counts.set(text, (count ?? 0) + 1);
  }

  #remember<Key, Value>(memory: Map<Key, Value>, key: Key, value: Value): Value {
    if (this.#known++ < maxKnown) memory.set(key, value);
    return value;
  }

  /** Returns the trimmed text, or undefined for one that says nothing, unless a rule says what it means. */
  #outcomeIn(text = ""): string | undefined {
    return this.#outcomes.has(text.toLowerCase()) ? text : textOf(text);
  }

  #outcomeOf(outcome: string, inverted: boolean | undefined): Outcome {
    return this.#outcomes.get(outcome.toLowerCase()) ?? outcomeOf(outcome, inverted);
  }

  #classify(
    { action, outcome: given, inverted }: Pick<Meaning, "action" | "outcome" | "inverted">,
    text?: string,
    endpoint?: string,
  ): Known {
    const outcome = this.#outcomeIn(given ?? "");
    const description = text === action ? undefined : textOf(text);
    // An attempt that says what came of it is the call.
    const call = (outcome ?? description) === undefined ? "" : action.replace(attemptWord, "");
    const { kind: base = byEndpoint(action, endpoint), rest = action } =
      nameIn(action, this.#renames) ?? nameIn(call) ?? {};
    if (base === "application") return [base];
    const isAck = isAcknowledgement(base);
    if (outcome === "UNKNOWN" && base !== undefined)
      return [isAck ? "unanswered-ack" : "unanswered-start"];
    const result = outcome === undefined ? undefined : this.#outcomeOf(outcome, inverted);
    if (base === "lock" || base === "lock-noted" || base === "unlock") {
      // Words like "locked" name the action: only the outcome tells failure; notes are no calls.
      const kind =
        base === "unlock" ? base : lockOf(base, `${rest} ${description ?? ""}`, endpoint);
      const isBad = result === "bad" && (base !== "lock-noted" || kind === "lock");
      // UNLOCK_VAULT_FAILED, but not a text behind a name, and not VAULT_LOCKED_ERROR.
      const isFailed = /^(?:[A-Z]+ )*(?:FAIL\w*|DENIED|REFUSED|REJECTED|ERROR)(?: |$)/.test(rest);
      const isOfLock = base === "lock-noted" && /\bLOCKED\b/.test(rest);
      if (isBad || (isFailed && !isOfLock)) return ["not-performed"];
      return result === "unclear" ? ["other", "outcome"] : [kind];
    }
    const said = description === undefined ? undefined : describedOutcome(description);
    const isFailure =
      this.#failure?.test([action, outcome ?? [], description ?? []].flat().join(" ")) === true;
    // READ_VAULT (JWT), accepted, is no refusal.
    const why = result !== "good" || failing.test(rest) ? undefined : reasonOf(undefined, [rest]);
    const isOk = why !== undefined && refusals[why] === undefined;
    const isRefused = isFailure || result === "bad" || (!isOk && describedOutcome(rest) === "bad");
    if (isRefused || (base === undefined && result !== "good" && said === "bad"))
      return refusal(base, { action, rest, outcome, description }, isFailure);
    if (base === undefined)
      return isAboutApplication(action) ? ["application"] : ["other", "action"];
    const isTaken = result === undefined && said === undefined && given !== null;
    if (result === "good" || isTaken) return [base];
    if (said === "bad") {
      const refused = refusal(base, { action, rest, description }, false);
      if (result !== undefined) return [isAck ? "unclear-ack" : weaker(refused[0]), "outcome"];
      // "no uses remain" and "vault deleted" say why a vault was deleted.
      return base === "delete" && refused[0] === "gone" ? [base] : refused;
    }
    const isPlain = base === "create" || base === "delete";
    const isTold = said === "good" || typeof given === "string" || this.#failure !== undefined;
    if (result === undefined && (isTold || isPlain)) return [base];
    const kind = isPlain ? "other" : isAck ? "unclear-ack" : "unclear-start";
    return [kind, given === undefined ? "description" : "outcome"];
  }
}

/** What a description says without its ids and times. */
const shapeOf = (text: string | undefined): string | undefined =>
  text?.replaceAll(/[\w-]{5,}/g, (token) => (/\d/.test(token) ? "#" : token));

/** Returns what a call of unknown action does, by its endpoint, which may replace the action. */
const byEndpoint = (action: string, endpoint = action): EventKind | undefined =>
  isAboutApplication(action) ? undefined : eventOfEndpoint(endpoint);

/** Returns the trimmed text, or undefined for one that says nothing. */
const textOf = (text = ""): string | undefined => (saysNothing(text) ? undefined : text.trim());

const refusals: Partial<Record<Reason | "locking", EventKind>> = {
  credentials: "failed",
  device: "failed-device",
  pin: "failed-pin",
  locking: "locking-failure",
  locked: "refused-locked",
  starts: "locking-start",
  gone: "gone",
  // Whether the call was accepted before the failure is not known.
  service: "unclear-start",
  unauthorized: "unauthorized",
};

/** Kinds that an item tells in whatever call. */
const ofAnyCall = /^(?:failed|failed-device|failed-pin|locking-failure|refused-locked)$/;

/** The texts of an item; `rest` is what its action says beside the name. */
interface Texts {
  action: string;
  rest: string;
  outcome?: string | undefined;
  description: string | undefined;
}

/** Classifies a refusal: a failed attempt if about credentials, device or PIN; maybe if unknown. */
function refusal(
  base: EventKind | undefined,
  { action, rest, outcome, description }: Texts,
  isFailure: boolean,
): Known {
  if (base === "create") return ["not-performed"];
  const reason = reasonOf(
    outcome,
    [rest, description ?? ""].filter((text) => text !== ""),
  );
  if (isAcknowledgement(base)) return [reason === "service" ? "unclear-ack" : "failed-ack"];
  const kind = reason && (refusals[reason] ?? "not-performed");
  if (base === undefined) {
    if (kind !== undefined && ofAnyCall.test(kind)) {
      // What is not known to be a call of the vault may have had other credentials.
      const isOfVault = reasonOf(undefined, [action]) === reason || /vault/i.test(action);
      return isOfVault ? [kind] : [weaker(kind), "action"];
    }
    const isOther = reason === "application" && !callOfVault.test(action);
    return isOther || isAboutApplication(action) ? ["application"] : ["other", "action"];
  }
  if (kind !== undefined) return [kind];
  if (isFailure) return ["failed"];
  return description === undefined ? ["refused"] : ["refused", "reason"];
}

/** Returns what a refusal is if only the description tells, and the outcome is not understood. */
const weaker = (kind: EventKind): EventKind =>
  kind.startsWith("locking") ? "refused-locked" : kind.startsWith("failed") ? "refused" : kind;

/** Who locked a vault: an administrator, or the service, which may say by which rule. */
function lockOf(base: "lock" | "lock-noted", text: string, endpoint = ""): EventKind {
  if (isAdministrator(text) || isAdministrator(endpoint)) return "lock";
  if (reasonOf(undefined, ["locked", text]) === "locking") return "locking-failure";
  return /\b(?:auto|automatic|automatically|system|idle|inactiv\w*|expiry)\b/.test(plainWords(text))
    ? "lock-noted"
    : base;
}

const isAdministrator = (text: string): boolean =>
  /(?:^|\b(?:by|through|durch|von|par|por|via|from|in)(?: \w+){0,2} )(?:admin\w*|operator\w*|console|konsole|support)\b|\bmanual|\bmanuell|\/(?:admin|console)\b/.test(
    plainWords(text),
  );

const attemptWord = /[_ ]?attempt(?![a-z])/i;
const failing = /fail|deni|refus|reject|error|invalid|bad|wrong/i;
const callOfVault = /(?:read|update|delete|lock)[_ ]?vault|vault[_ ]?(?:read|update|delete|lock)/i;

/** Whether an item is not about a vault. A browser asks by OPTIONS whether it may call. */
const isAboutApplication = (text: string): boolean =>
  (/API_?KEY|ADDRESS|JWT|WHITELIST|APPLICATION/i.test(text) && !callOfVault.test(text)) ||
  /^(?:OPTIONS|HEAD)(?: +(?:\/|https?:)|$)/i.test(text);
