import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aRead, nextAction } from "../../src/exchange/next-action.ts";
import type { Generation } from "../../src/exchange/records.ts";
import * as ends from "../../src/store/steps/end.ts";
import * as starts from "../../src/store/steps/start.ts";
import { vaultRecord } from "../../src/store/vault-record.ts";
import { problem, started } from "../contract/store-fixture.ts";
import { tried } from "../support/campaign.ts";
import { Minutes, OneVault, secret } from "./one-vault.ts";

const policy = { unackedStarts: 5, failedAttempts: 3 };

/** The vault at the service, which counts toward its lock. */
class Service {
  current = "A";
  pending: string | null = null;
  failed = 0;
  unacked = 0;
  isLocked = false;
  /** Whether an end call that has been answered may be repeated. */
  repeats: boolean;
  readonly acknowledged = new Set<string>();

  constructor(repeats: boolean) {
    this.repeats = repeats;
  }

  copy(): Service {
    return Object.assign(new Service(this.repeats), this, {
      acknowledged: new Set(this.acknowledged),
    });
  }

  start(pair: string, made: string): "success" | "refused" | "locked" {
    if (this.isLocked) return "locked";
    if (pair !== this.current) {
      this.failed += 1;
      this.isLocked = this.failed >= policy.failedAttempts;
      return "refused";
    }
    this.failed = 0;
    this.unacked += 1;
    this.isLocked = this.unacked >= policy.unackedStarts;
    this.pending = made;
    return "success";
  }

  end(made: string): "success" | "error" {
    if (this.repeats && this.acknowledged.has(made)) return "success";
    if (this.pending !== made || this.isLocked) return "error";
    [this.current, this.pending, this.unacked] = [made, null, 0];
    this.acknowledged.add(made);
    return "success";
  }
}

/** How far a read gets. */
const ways = [
  "whole",
  "start lost",
  "answer of the start lost",
  "left",
  "held",
  "end call lost",
  "answer of the end call lost",
] as const;
type Way = (typeof ways)[number];

let names = 0;

/** One `vault get` by the program's own decisions and steps. Returns how it ended, and how many attempts were refused. */
function get(state: OneVault, at: Service, way: Way = "whole"): { end: string; refused: number } {
  const refused: number[] = [];
  const ended = (end: string) => ({ end, refused: refused.length });
  for (;;) {
    const record = vaultRecord(state.rows);
    if (record === null) return ended("unknown");
    const clock = { now: () => Date.parse(state.minutes.at()) };
    const action = nextAction(record, aRead, { policy, clock }, { tried: refused });
    if (action.do === "refuse") return ended(action.because);
    if (action.do === "done") return ended("done");
    if (action.do === "end") {
      endOf(state, at, action.exchange.id);
      continue;
    }
    const [chosen] = action.candidates;
    const { name, id, made } = begin(state, chosen);
    if (way === "start lost") return ended(unanswered(state, id));
    const said = at.start(name, made);
    if (said === "locked") return ended("locked");
    if (way === "answer of the start lost") return ended(unanswered(state, id));
    if (said === "refused") {
      const error = { code: "rejected", message: "no" };
      state.does((rows) => starts.reject(rows, id, `combination-of-${name}`, error));
      refused.push(chosen.generation);
      continue;
    }
    const tokenExpiry = state.minutes.at(state.minutes.n + 5);
    const combination = `combination-of-${name}`;
    state.run((rows) =>
      starts.recordStarted(rows, secret, id, started(made, { combination, tokenExpiry })),
    );
    if (way === "left") return ended("left");
    if (way === "held") return ended(hold(state, id));
    state.does((rows) => ends.recordEnding(rows, id, true));
    if (way === "end call lost") return ended("pending");
    if (way === "answer of the end call lost") {
      at.end(made);
      return ended("pending");
    }
    if (at.end(made) !== "success") return ended("locked");
    state.does((rows) => ends.acknowledge(rows, id));
    return ended("read");
  }
}

function begin(state: OneVault, { generation, sole }: Generation) {
  names += 1;
  const row = state.rows.credentials.find((each) => each.generation === generation);
  const [id, made] = [`x${String(names).padStart(6, "0")}`, `pair ${names}`];
  const [operation, kind] = ["get", "credit-card/offline"] as const;
  const given = { exchangeId: id, operation, kind, externalRef: "", generation, sole, seen: null };
  state.does((rows) => starts.recordIntent(rows, () => secret, given));
  return { name: row === undefined ? "" : state.nameOf(row), id, made };
}

function unanswered(state: OneVault, id: string): string {
  state.does((rows) => starts.noteUnanswered(rows, id, problem));
  return "unanswered";
}

function hold(state: OneVault, id: string): string {
  const delivery = { delivered: true, saveOwed: false };
  state.does((rows) => ends.hold(rows, id, "no-ack", delivery));
  return "held";
}

/** The end call of an exchange that was left. */
function endOf(state: OneVault, at: Service, id: string): void {
  const open = vaultRecord(state.rows)?.open;
  const find = (n: number | null | undefined) =>
    state.rows.credentials.find(({ generation }) => generation === n);
  const [base, made] = [find(open?.baseGeneration), find(open?.newGeneration)];
  if (made === undefined) throw new Error("an exchange without its new pair");
  state.does((rows) => ends.recordEnding(rows, id, true));
  if (at.end(state.nameOf(made)) === "success")
    return void state.does((rows) => ends.acknowledge(rows, id));
  const isOurs = open?.adopted === false && base?.refused === false && !made.elsewhere;
  const isFirst = open?.endsUnanswered === 0;
  const settle = isOurs && isFirst ? ends.expire : ends.markInDoubt;
  state.does((rows) => settle(rows, id, problem));
}

/** Reads until it succeeds or a person is needed. */
function follow(state: OneVault, at: Service): { end: string; refused: number } {
  let refused = 0;
  for (let turn = 0; turn < 6; turn += 1) {
    const { end, refused: more } = get(state, at);
    refused += more;
    if (!["refused", "choice"].includes(end) || more === 0) return { end, refused };
  }
  return { end: "no end", refused };
}

/** Names of the pairs that are kept and not superseded. */
const keptIn = (state: OneVault): string[] =>
  state.rows.credentials
    .filter(({ sealed, standing }) => sealed !== null && standing !== "superseded")
    .map(state.nameOf);

const way = fc.constantFrom(...ways);
const history = (most: number) => fc.array(way, { maxLength: most });
const histories = fc.record({
  before: history(4),
  here: history(3),
  there: history(3),
  /** Which of the two acts next. */
  turns: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  repeats: fc.boolean(),
  isDead: fc.boolean(),
});
type Histories = typeof histories extends fc.Arbitrary<infer T> ? T : never;

interface World {
  here: OneVault;
  there: OneVault;
  at: Service;
}

/** Two states that were one, and the service, after what has happened to each. */
function worldOf({ before, here, there, turns, repeats, isDead }: Histories): World {
  const at = new Service(repeats);
  const mine = new OneVault(new Minutes()).import("A");
  for (const each of before) get(mine, at, each);
  // A copy is known to both: a backup raises `copies`.
  mine.does((rows) => rows.credentials.forEach((row) => (row.elsewhere = true)));
  const yours = mine.copy();
  const [ours, theirs] = [[...here], [...there]];
  for (const isOurs of turns) {
    const next = (isOurs ? ours : theirs).shift();
    if (next !== undefined) get(isOurs ? mine : yours, at, next);
  }
  if (isDead) at.pending = null;
  return { here: mine, there: yours, at };
}

const runs = { seed: 45, numRuns: 250 };

const modes: [string, (histories: Histories) => World][] = [
  ["its own earlier backup", (all) => worldOf({ ...all, there: [] })],
  ["the backup of a state that went on", (all) => worldOf({ ...all, here: [] })],
  ["the backup of a copy, and both went on", worldOf],
];

describe.each(modes)("a restore of %s", (_, world) => {
  /** What is different where a backup was restored. */
  function compared(all: Histories) {
    const { here, there, at } = world(all);
    const file = there.backup();
    const restored = here.copy();
    restored.restore(file);
    const [serviceThen, serviceNow] = [at.copy(), at.copy()];
    const kept = { before: [...keptIn(here), ...keptIn(there)], after: keptIn(restored) };

    const without = follow(here, serviceThen);
    const withIt = follow(restored, serviceNow);
    return { at, kept, without, withIt, serviceThen, serviceNow };
  }

  it("loses nothing: what is valid at the service is kept if either had it", () => {
    fc.assert(
      fc.property(histories, (all) => {
        const { at, kept } = compared(all);
        if (kept.before.includes(at.current)) expect(kept.after).toContain(at.current);
      }),
      runs,
    );
  });

  it("locks nothing that would not have been locked without it", () => {
    fc.assert(
      fc.property(histories, (all) => {
        const { serviceThen, serviceNow } = compared(all);
        if (!serviceThen.isLocked) expect(serviceNow.isLocked).toBe(false);
      }),
      runs,
    );
  });

  it("costs no attempt that was not spent before", () => {
    fc.assert(
      fc.property(histories, (all) => {
        const { without, withIt } = compared(all);
        if (without.end === "read" && withIt.end === "read")
          expect(withIt.refused).toBeLessThanOrEqual(without.refused);
      }),
      runs,
    );
    tried("restores followed against a service", 3 * runs.numRuns);
  });

  it("twice is as once", () => {
    fc.assert(
      fc.property(histories, (all) => {
        const { here, there } = world(all);
        const file = there.backup();
        here.restore(file);
        const { at: _at, journal: _journal, ...once } = here.rows;
        here.restore(file);
        expect(here.rows).toMatchObject(once);
      }),
      runs,
    );
  });
});

it("its own earlier backup stops nothing that could be read", () => {
  const [[, world]] = modes as [(typeof modes)[number]];
  fc.assert(
    fc.property(histories, (all) => {
      const { here, there, at } = world(all);
      const restored = here.copy();
      restored.restore(there.backup());
      const [then, now] = [follow(here, at.copy()), follow(restored, at.copy())];
      expect(now).toEqual(then);
    }),
    runs,
  );
});

it("into a state that does not know the vault, where nothing was sent since the backup: it is not locked", () => {
  let read = 0;
  fc.assert(
    fc.property(histories, (all) => {
      const { there, at } = worldOf({ ...all, here: [] });
      const here = new OneVault(there.minutes);
      here.restore(there.backup());
      const wasLocked = at.isLocked;
      read += Number(follow(here, at).end === "read");
      if (!wasLocked) expect(at.isLocked).toBe(false);
    }),
    runs,
  );
  expect(read).toBeGreaterThan(runs.numRuns / 3);
});

it("into a state that has the right pair from elsewhere: that is tried first", () => {
  fc.assert(
    fc.property(histories, (all) => {
      const { there, at } = worldOf(all);
      const here = new OneVault(there.minutes).import(at.current);
      here.restore(there.backup());
      expect(follow(here, at).refused).toBe(0);
    }),
    runs,
  );
});
