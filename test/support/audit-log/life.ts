import type { Kind } from "../../../src/protocol/endpoints.ts";
import type { Fact, TruthItem, VaultTruth, What } from "./facts.ts";
import type { Dice } from "../dice.ts";
import type { Ending, Part, Step } from "./scripts.ts";
import { episodes, stepsOf } from "./scripts.ts";

/** Which things an export has items of. */
export interface Recorded {
  /** Calls refused because the vault was locked. */
  refused: boolean;
  /** Locks and unlocks of administrators. */
  console: boolean;
  failedAcks: boolean;
  updates: boolean;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** What the items of an application have in common. */
export interface Setting {
  recorded: Recorded;
  ties: boolean;
  application: string;
  /** Of strangers. */
  addresses: readonly string[];
  /** External references that are awkward to quote or look like something else. */
  awkward: readonly string[];
}

export const canUpdate = (kind: Kind): boolean => kind.endsWith("/offline");

/** How many items of a script the export will have. */
export function recordedLength(script: string, recorded: Recorded): number {
  const hidden = (letter: string): boolean =>
    (letter === "Z" && !recorded.refused) ||
    (letter === "E" && !recorded.failedAcks) ||
    ("LN".includes(letter) && !recorded.console);
  return stepsOf(script).filter(({ letter }) => !hidden(letter)).length;
}

export function fits(part: Part, kind: Kind, recorded: Recorded): boolean {
  if (part.needs === "console") return recorded.console;
  if (part.needs === "unseen") return !recorded.console;
  if (part.needs === "updates") return recorded.updates && canUpdate(kind);
  return part.needs === undefined || kind.endsWith("/offline");
}

const episodesFor = new Map<string, readonly (Part & { length: number })[]>();

function choicesOf(kind: Kind, recorded: Recorded): readonly (Part & { length: number })[] {
  const key = `${kind} ${JSON.stringify(recorded)}`;
  const known = episodesFor.get(key);
  if (known !== undefined) return known;
  const fitting = episodes.filter((each) => fits(each, kind, recorded));
  const made = fitting.map((each) => ({ ...each, length: recordedLength(each.script, recorded) }));
  episodesFor.set(key, made);
  return made;
}

/** One vault, from its creation through episodes to its ending: `next` tells what happens then, until its items are used up. */
export class Life {
  readonly truth: VaultTruth;
  /** When the next thing happens. */
  time: number;
  readonly #dice: Dice;
  readonly #setting: Setting;
  readonly #until: number;
  readonly #ending: Ending;
  readonly #address: string;
  /** Items left for episodes. */
  #left: number;
  #steps: readonly Step[] = [{ letter: "C", isChain: false }];
  #at = 0;
  #quick = false;
  #isEnding = false;
  #done = false;
  #open: "read" | "update" = "read";
  #reference: string | null = null;
  /** Of the last start, which its acknowledgement carries too. */
  #startReference: string | null = null;

  constructor(
    dice: Dice,
    setting: Setting,
    plan: { kind: Kind; ending: Ending; items: number; from: number; until: number },
  ) {
    const { kind, ending } = plan;
    this.#dice = dice;
    this.#setting = setting;
    this.#ending = ending;
    this.#left = plan.items - 1 - recordedLength(ending.script, setting.recorded);
    this.#address = `10.${dice.between(0, 255)}.${dice.between(0, 255)}.${dice.between(1, 254)}`;
    this.time = plan.from;
    this.#until = plan.until;
    this.truth = {
      uuid: dice.uuid(),
      kind,
      ending: ending.script,
      verdict: ending.verdict,
      state:
        ending.verdict === "locked" || ending.verdict === "deleted" ? ending.verdict : "active",
      ...(ending.rule === undefined ? {} : { rule: ending.rule }),
      chain: [],
      unackedStarts: ending.unackedStarts,
      failedAttempts: ending.failedAttempts,
      items: 0,
      firstAt: 0,
      lastAt: 0,
      baselineKnown: false,
      unlockedUnseen: ending.unlockedUnseen ?? false,
    };
  }

  /** Null at the end; else `time` has moved on to what comes after it. */
  next(): Fact | null {
    while (this.#at === this.#steps.length) if (!this.#nextPart()) return null;
    const step = this.#steps[this.#at] as Step;
    this.#at += 1;
    const fact = this.#fact(step);
    const following = this.#steps[this.#at];
    this.time += following === undefined ? this.#pause() : this.#gap(step.letter, following.letter);
    return fact;
  }

  #nextPart(): boolean {
    this.#at = 0;
    if (this.#left > 0) {
      // Never leave one over: no episode has the length 1.
      const isPossible = ({ length }: { length: number }): boolean =>
        length === this.#left || length < this.#left - 1;
      const part = this.#dice.draw(
        choicesOf(this.truth.kind, this.#setting.recorded).filter(isPossible),
      );
      this.#left -= part.length;
      this.#steps = stepsOf(part.script);
      this.#quick = part.quick ?? false;
      return true;
    }
    if (this.#done) return false;
    this.#done = true;
    this.#isEnding = true;
    this.#quick = false;
    this.#steps = stepsOf(this.#ending.script);
    return true;
  }

  #pause(): number {
    const episodesLeft = Math.max(1, this.#left / 2.4);
    const left = this.#until - this.time;
    return Math.min(
      this.#dice.wait(Math.max(20, left / (episodesLeft + 0.5))),
      Math.max(1000, left),
    );
  }

  /** Milliseconds between two steps of one part; an acknowledgement always comes while its token lives. */
  #gap(letter: string, following: string): number {
    const dice = this.#dice;
    if (following === "V") return this.#setting.ties ? 0 : 1;
    if (this.#isAwaited() || following === "E")
      return dice.chance(0.9) ? dice.between(40, 3 * second) : dice.between(second, minute);
    if (this.#quick) return dice.between(5, 2 * second);
    if (following === "N") return dice.between(10 * minute, 30 * hour);
    if (letter === "Z" || following === "Z" || following === "X")
      return dice.between(minute, 3 * hour);
    return dice.chance(0.7)
      ? dice.between(300, 30 * second)
      : dice.between(30 * second, 40 * minute);
  }

  /** Whether an acknowledgement comes before another start does. */
  #isAwaited(): boolean {
    const coming = this.#steps.slice(this.#at).find(({ letter }) => "RUSQA".includes(letter));
    return coming?.letter === "A";
  }

  #fact({ letter, isChain }: Step): Fact {
    const dice = this.#dice;
    const { recorded } = this.#setting;
    const isStart = "RUSQ".includes(letter);
    if (isStart || "FGZD".includes(letter)) this.#reference = this.#newReference();
    if (isStart) this.#startReference = this.#reference;
    const isStranger = "FGK".includes(letter) && dice.chance(0.4);
    const fact: Fact = {
      what: this.#what(letter),
      id: dice.uuid(),
      time: this.time,
      uuid: this.truth.uuid,
      kind: this.truth.kind,
      application: this.#setting.application,
      externalRef:
        letter === "A"
          ? this.#startReference
          : "FGZDRUSQ".includes(letter)
            ? this.#reference
            : null,
      address: isStranger ? dice.pick(this.#setting.addresses) : this.#addressOf(letter),
      locks: letter === "G",
      recorded:
        letter === "Z"
          ? recorded.refused
          : letter === "E"
            ? recorded.failedAcks
            : "LN".includes(letter)
              ? recorded.console
              : true,
      mark: null,
    };
    if (this.#isEnding) this.#remember(fact, letter, isChain);
    return fact;
  }

  /** None for what the service does by itself. */
  #addressOf(letter: string): string | null {
    if ("XV".includes(letter)) return null;
    return "LN".includes(letter) ? "192.0.2.10" : this.#address;
  }

  /** What the truth says of the ending. */
  #remember(fact: Fact, letter: string, isChain: boolean): void {
    const { truth } = this;
    const isStart = "RUSQ".includes(letter);
    if (isChain || isStart)
      fact.mark = { id: fact.id, time: fact.time, index: -1, part: 0, line: 0 };
    const mark = fact.mark as TruthItem;
    if (isChain) truth.chain.push(mark);
    if (isStart && letter !== "Q") truth.pending = mark;
    if ("ANXVDGQL".includes(letter)) delete truth.pending;
    if (truth.state === "active" || truth.state === "exchange-open")
      truth.state = truth.pending === undefined ? "active" : "exchange-open";
    if (truth.verdict === "locked" && isChain && "GQL".includes(letter)) {
      truth.lockedAt = fact.time;
      truth.causeItem = mark;
    }
  }

  #what(letter: string): What {
    const operation = this.#operation(letter);
    if ("RUSQ".includes(letter)) this.#open = operation;
    switch (letter) {
      case "C":
        return "create";
      case "A":
        return `ack-${this.#open}`;
      case "E":
        return `failed-ack-${this.#open}`;
      case "Q":
        return `locking-${operation}`;
      case "Z":
        return `refused-${operation}`;
      case "F":
      case "G":
        return this.#dice.chance(0.05) ? "failed-delete" : `failed-${operation}`;
      default:
        return (
          (
            {
              D: "delete",
              X: "expired",
              V: "used-up",
              L: "lock",
              N: "unlock",
              K: "key-check",
            } as const
          )[letter] ?? operation
        );
    }
  }

  #operation(letter: string): "read" | "update" {
    if (letter === "R" || letter === "U") return letter === "R" ? "read" : "update";
    return this.#setting.recorded.updates && canUpdate(this.truth.kind) && this.#dice.chance(0.15)
      ? "update"
      : "read";
  }

  #newReference(): string | null {
    const kind = this.#dice.fraction();
    if (kind < 0.35) return null;
    if (kind < 0.75)
      return `vault-01K${this.#dice.word().toString(36).toUpperCase().padStart(7, "0")}${this.#dice.word()}`.slice(
        0,
        30,
      );
    return kind < 0.995
      ? `order-${this.#dice.between(1000, 999_999)}`
      : this.#dice.pick(this.#setting.awkward);
  }
}
