import type { Kind } from "../../../src/protocol/endpoints.ts";
import type { Fact, VaultTruth } from "./facts.ts";
import type { Recorded, Setting } from "./life.ts";
import { fits, Life, recordedLength } from "./life.ts";
import { Dice } from "../dice.ts";
import type { Ending } from "./scripts.ts";
import {
  deletedEndings,
  healthyEndings,
  lockedEndings,
  openEndings,
  riskyEndings,
  unseenEndings,
} from "./scripts.ts";

export interface WorldOptions {
  seed: string;
  /** Items that the export will have, without repetitions. */
  items: number;
  vaults: number;
  /** Share of the vaults that end locked, at risk or with an exchange open, 0 to 1. */
  problems: number;
  /** Share of the others that end with an exchange open. */
  open?: number;
  recorded: Recorded;
  /** Milliseconds since the epoch, and how long the log goes on, in days; up to a year, or vaults would lock by themselves. */
  from: number;
  days: number;
  /** Whether things may happen in the same millisecond: the last acknowledgement of a limited vault and its deletion. */
  ties: boolean;
}

const kinds: readonly { kind: Kind; weight: number }[] = [
  { kind: "credit-card/offline", weight: 40 },
  { kind: "generic/offline", weight: 25 },
  { kind: "credit-card/online", weight: 25 },
  { kind: "generic/online", weight: 10 },
];

/** References as hostile or careless clients send them, at most 64 characters. */
const awkward: readonly string[] = [
  "a,b",
  'say "hi"',
  "two\nlines",
  "a\ttab",
  "=1+1",
  "\u001b[31mred\u001b[0m",
  "<script>alert(1)</script>",
  "Zürich ✓ 🔒",
  "back\\slash\\",
  "__proto__",
  '{"time":1,"action":"DELETE_VAULT"}',
  "READ_VAULT FAILURE bad credentials",
  "vault locked",
  "123e4567-e89b-42d3-a456-426614174000",
  "2026-11-20T14:02:11Z",
];

/** All that happens to all vaults, in the order of time, and what is true of them at the end. */
export class AuditWorld {
  readonly lives: readonly Life[];
  readonly #dice: Dice;
  readonly #setting: Setting;
  readonly #options: WorldOptions;
  /** Failed key checks that name no vault. */
  readonly #keyChecks: number;

  constructor(options: WorldOptions) {
    const { items, vaults, recorded } = options;
    if (vaults < 1 || items < vaults * 12)
      throw new Error(`${items} items are too few for ${vaults} vaults: 12 a vault, at least`);
    if (options.days > 360)
      throw new Error("a log of more than 360 days: vaults would lock by themselves");
    const dice = new Dice(`${options.seed} ${items} ${vaults}`);
    this.#dice = dice;
    this.#options = options;
    const addresses = Array.from({ length: 40 }, () => `203.0.113.${dice.between(1, 254)}`);
    this.#setting = { recorded, ties: options.ties, application: dice.uuid(), addresses, awkward };
    const drawn = Array.from({ length: vaults }, () => this.#drawEnding());
    const least = drawn.map(({ ending }) => 1 + recordedLength(ending.script, recorded));
    const weights = drawn.map((_, index) => (index + 20) ** -0.7);
    const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
    const [spare, weight] = [Math.floor(items * 0.998) - sum(least), sum(weights)];
    let used = 0;
    this.lives = drawn.map(({ kind, ending }, index) => {
      const more = Math.floor((spare * (weights[index] ?? 0)) / weight);
      const own = (least[index] ?? 1) + (more === 1 ? 0 : more);
      used += own;
      const span = options.days * 24 * 3_600_000;
      const from = options.from + Math.floor(dice.fraction() ** 3 * span * 0.5);
      const until = options.from + Math.floor(span * (0.75 + 0.25 * dice.fraction()));
      return new Life(dice, this.#setting, { kind, ending, items: own, from, until });
    });
    this.#keyChecks = items - used;
  }

  /** In the order of time; what happens to one vault, in the order in which it happened. Only once. */
  *facts(): Generator<Fact> {
    const queue = new Queue();
    this.lives.forEach((life, index) => queue.push(life.time, index));
    const every = this.#options.items / (this.#keyChecks + 1);
    let shown = 0;
    let checks = 0;
    let last = this.#options.from;
    for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
      const life = this.lives[index] as Life;
      const fact = life.next();
      if (fact === null) continue;
      queue.push(life.time, index);
      yield fact;
      last = fact.time;
      if (fact.recorded) shown += 1;
      if (checks < this.#keyChecks && shown + checks >= every * (checks + 1)) {
        checks += 1;
        yield this.#keyCheck(last);
      }
    }
    for (; checks < this.#keyChecks; checks += 1) yield this.#keyCheck(last);
  }

  truths(): VaultTruth[] {
    return this.lives.map(({ truth }) => truth);
  }

  #keyCheck(time: number): Fact {
    const address = this.#dice.pick(this.#setting.addresses);
    const { application } = this.#setting;
    const nothing = { uuid: null, externalRef: null, locks: false, recorded: true, mark: null };
    return {
      ...nothing,
      what: "key-check",
      id: this.#dice.uuid(),
      time,
      kind: "generic/offline",
      application,
      address,
    };
  }

  #drawEnding(): { kind: Kind; ending: Ending } {
    const dice = this.#dice;
    const { open = 0 } = this.#options;
    const { kind } = dice.draw(kinds);
    const isProblem = dice.chance(this.#options.problems);
    const group = isProblem
      ? dice.pick([lockedEndings, lockedEndings, riskyEndings, openEndings])
      : dice.draw([
          { list: openEndings, weight: (100 * open) / (1 - open) },
          { list: healthyEndings, weight: 90 },
          { list: deletedEndings, weight: 8 },
          { list: unseenEndings, weight: 2 },
        ]).list;
    const fitting = group.filter((ending) => fits(ending, kind, this.#options.recorded));
    return { kind, ending: dice.draw(fitting.length === 0 ? healthyEndings.slice(0, 2) : fitting) };
  }
}

/** A binary heap of vaults by the time of what comes next; at the same time, by number. */
class Queue {
  readonly #times: number[] = [];
  readonly #values: number[] = [];

  push(time: number, value: number): void {
    let at = this.#times.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(time, value, parent)) break;
      this.#times[at] = this.#times[parent] as number;
      this.#values[at] = this.#values[parent] as number;
      at = parent;
    }
    this.#times[at] = time;
    this.#values[at] = value;
  }

  pop(): number | undefined {
    const top = this.#values[0];
    const time = this.#times.pop();
    const value = this.#values.pop();
    if (time === undefined || value === undefined || this.#times.length === 0) return top;
    const size = this.#times.length;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const right = child + 1;
      if (
        right < size &&
        this.#isBefore(this.#times[right] as number, this.#values[right] as number, child)
      )
        child = right;
      if (this.#isBefore(time, value, child)) break;
      this.#times[at] = this.#times[child] as number;
      this.#values[at] = this.#values[child] as number;
      at = child;
    }
    this.#times[at] = time;
    this.#values[at] = value;
    return top;
  }

  #isBefore(time: number, value: number, at: number): boolean {
    const other = this.#times[at] as number;
    return time < other || (time === other && value < (this.#values[at] as number));
  }
}
