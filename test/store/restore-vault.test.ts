import { describe, expect, it } from "vitest";
import * as exchanges from "../../src/store/steps/exchange.ts";
import { intent, problem } from "../contract/store-fixture.ts";
import { Minutes, OneVault } from "./one-vault.ts";

/** A state that has read its vault once: B is current, A superseded. */
const read = (): OneVault => new OneVault(new Minutes()).import("A").exchange("x1", "B");

/** What is compared of a state; all but the time of a step and the journal. */
const held = ({ rows: { at: _at, journal: _journal, ...rows } }: OneVault): unknown => rows;

type Change = (state: OneVault) => OneVault;
const asItIs: Change = (state) => state;

describe("a vault of a backup, by what the file has and what is here", () => {
  // The file and the state here come from one that has read its vault once.
  const cases: [
    what: string,
    file: Change,
    here: Change,
    reason: string,
    candidates: string[],
    open: string | null,
  ][] = [
    ["nothing new", asItIs, asItIs, "known", ["B"], null],
    ["what was superseded here", asItIs, (s) => s.exchange("x2", "C"), "older", ["C"], null],
    [
      "an exchange that was open, and has ended here",
      (s) => s.exchange("x2", "C", "held"),
      (s) => s.exchange("x2", "C"),
      "older",
      ["C"],
      null,
    ],
    ["another pair", (s) => s.import("X"), asItIs, "after", ["B", "X"], null],
    [
      "several, in their order there",
      (s) => s.import("X").import("Y"),
      asItIs,
      "after",
      ["B", "Y", "X"],
      null,
    ],
    [
      "a pair that it has dropped",
      (s) => s.exchange("y2", "Y", "expired"),
      asItIs,
      "known",
      ["B", "Y"],
      null,
    ],
    [
      "another pair, and in doubt here",
      (s) => s.import("X"),
      (s) => s.exchange("x2", "C", "in-doubt"),
      "after",
      ["C", "B", "X"],
      "x2 in-doubt",
    ],
    [
      "another pair, and an exchange waits here",
      (s) => s.import("X"),
      (s) => s.exchange("x2", "C", "held"),
      "after",
      ["B"],
      "x2 held",
    ],
    [
      "another pair, and an import here",
      (s) => s.import("X"),
      (s) => s.import("N"),
      "after",
      ["N", "B", "X"],
      null,
    ],
    [
      "what followed ours, which it knows to be superseded",
      (s) => s.exchange("y2", "Y").exchange("y3", "Z"),
      asItIs,
      "first",
      ["Z", "B"],
      null,
    ],
    [
      "what followed ours, and an exchange waits here",
      (s) => s.exchange("y2", "Y"),
      (s) => s.exchange("x2", "C", "in-doubt"),
      "first",
      ["Y", "C", "B"],
      "x2 in-doubt",
    ],
    ...(["started", "held", "ending"] as const).map((stage): (typeof cases)[number] => [
      `an open exchange at ${stage} that began with ours`,
      (s) => s.exchange("y2", "Y", stage),
      asItIs,
      "after",
      ["B"],
      `y2 ${stage}`,
    ]),
    [
      "one in doubt that began with ours",
      (s) => s.exchange("y2", "Y", "in-doubt"),
      asItIs,
      "after",
      ["B", "Y"],
      null,
    ],
    [
      "an open exchange, and another one here",
      (s) => s.exchange("y2", "Y", "held"),
      (s) => s.exchange("x2", "C", "held"),
      "after",
      ["B"],
      "x2 held",
    ],
    [
      "an open exchange that began with what is superseded here",
      (s) => s.exchange("y2", "Y", "held"),
      (s) => s.exchange("x2", "C"),
      "after",
      ["C", "Y"],
      null,
    ],
    ["what is forgotten here", asItIs, (s) => s.forget(), "returned", ["B"], null],
    [
      "what is forgotten here, and an import",
      (s) => s.import("X"),
      (s) => s.forget(),
      "returned",
      ["X", "B"],
      null,
    ],
    [
      "what is forgotten and superseded here",
      asItIs,
      (s) => s.exchange("x2", "C").forget(),
      "older",
      [],
      null,
    ],
    ["what is gone here", asItIs, (s) => s.gone(), "gone", ["B"], null],
    ["what was deleted here", asItIs, (s) => s.delete("x2"), "gone", [], null],
    ["what was forgotten there", (s) => s.forget(), asItIs, "known", ["B"], null],
  ];

  it.each(cases)("%s", (_, there, change, reason, candidates, open) => {
    const both = read();
    const file = there(both.copy()).backup();
    const here = change(both.copy());
    const restored = here.restore(file);
    expect(restored).toMatchObject({ reason });
    expect(here.candidates()).toEqual(candidates);
    expect(restored.exchange && `${restored.exchange.id} ${restored.exchange.state}`).toBe(open);
    // Twice is as once.
    const once = held(here);
    here.restore(file);
    expect(held(here)).toEqual(once);
  });

  it("what is unknown here comes whole and unproven", () => {
    const here = new OneVault(new Minutes());
    const there = read().label("palm").exchange("x2", "", "rejected");
    expect(here.restore(there.backup())).toMatchObject({
      reason: "taken",
      label: "palm",
      exchange: null,
    });
    expect([here.candidates(), here.proven()]).toEqual([["B"], []]);
    expect(here.rows.credentials.every((row) => row.elsewhere)).toBe(true);
    expect(here.counters()).toEqual(there.counters());
    expect([...here.rows.superseded]).toEqual([...there.rows.superseded]);
    expect([...here.rows.refusals]).toEqual([...there.rows.refusals]);
  });

  it("what is unknown here, and of which a pair was superseded here at another base URL", () => {
    const there = read().import("X");
    const here = new OneVault(new Minutes());
    here.rows.superseded.add(there.current()?.fingerprint ?? "");
    expect(here.restore(there.backup())).toMatchObject({ reason: "taken" });
    expect(here.candidates()).toEqual(["X"]);
  });

  it.each([
    ["started", 3, "started", ["B"]],
    ["held", 3, "held", ["B"]],
    ["ending", 3, "ending", ["B"]],
    ["started", 9, "in-doubt", ["C", "B"]],
    ["held", 9, "in-doubt", ["C", "B"]],
    ["ending", 9, "ending", ["B"]],
    ["in-doubt", 3, "in-doubt", ["C", "B"]],
  ] as const)(
    "unknown here: an exchange at %s, after %i minutes of its token's five, is %s",
    (stage, minutes, state, candidates) => {
      const there = read();
      const begun = there.minutes.n + 1;
      there.exchange("x2", "C", stage);
      const here = new OneVault(there.minutes);
      const restored = here.restore(there.backup(), begun + minutes);
      expect(restored.exchange).toEqual({ id: "x2", state, from: "file" });
      expect(here.candidates()).toEqual(candidates);
      // It may have been acknowledged since: a token error leaves it in doubt, and its SUCCESS supersedes nothing.
      expect(here.rows.exchanges.at(-1)).toMatchObject({ adopted: true });
      expect(here.rows.exchanges.at(-1)?.endsUnanswered).toBeGreaterThan(0);
    },
  );

  it("an exchange that goes on takes its proof from our pair, and is acknowledged as an adopted one", () => {
    const here = read();
    here.restore(here.copy().exchange("y2", "Y", "started").backup());
    expect(here.proven()).toEqual([]);
    here.goOn("y2", "acknowledged");
    expect(here.candidates()).toEqual(["Y", "B"]);
  });

  it("ours stays as it is where the file has nothing new, and is not sole where it has it", () => {
    const here = read();
    const file = here.copy().backup();
    here.exchange("x2", "C");
    here.restore(file);
    expect(here.current()).toMatchObject({ proven: true, elsewhere: false });
    here.restore(here.copy().backup());
    expect(here.current()).toMatchObject({ proven: true, elsewhere: true });
  });

  it("ours is unproven where the file has pairs that are unknown here", () => {
    const here = read();
    here.restore(here.copy().import("X").backup());
    expect(here.proven()).toEqual([]);
    expect(here.current()).toMatchObject({ standing: "current", elsewhere: true });
  });

  it("what was refused here stays refused", () => {
    const here = read().exchange("x2", "", "rejected");
    here.restore(read().import("X").backup());
    expect(here.current()).toMatchObject({ refused: true });
    expect(here.counters()).toMatchObject({ failed: 1 });
  });

  it("what is forgotten comes back with the numbers that follow, its label and its counters", () => {
    const both = read().label("palm");
    const here = both.copy().exchange("x2", "", "rejected").forget();
    expect(here.restore(both.backup())).toMatchObject({ reason: "returned", label: "palm" });
    expect(here.rows.credentials.map(({ generation }) => generation)).toEqual([3]);
    expect(here.rows.vault).toMatchObject({ forgotten: false, lastGeneration: 3 });
    expect(here.counters()).toMatchObject({ failed: 1 });
    // The service may have changed its mind since; but the pair was refused.
    expect(here.rows.credentials.map(({ refused }) => refused)).toEqual([true]);
  });

  it("a vault that was deleted here and is imported again is not gone", () => {
    const here = read().delete("x2").import("N");
    expect(here.rows.vault?.lastError).toBe(null);
  });

  it("a label that another vault has here is dropped, and told", () => {
    const here = new OneVault(new Minutes());
    const file = read().label("palm").backup();
    expect(here.restore(file, undefined, true)).toMatchObject({
      label: null,
      droppedLabel: "palm",
    });
    expect(here.restore(file, undefined, true)).toMatchObject({ droppedLabel: null });
  });
});

describe("what a restored backup counts", () => {
  it("adds the exchanges that only the file has since the last acknowledgement, once", () => {
    const here = read().exchange("x2", "", "intent");
    const file = here.copy().exchange("y3", "", "intent").exchange("y4", "", "rejected").backup();
    expect(here.counters()).toEqual({ starts: 1, failed: 1, possibly: 1 });
    here.restore(file);
    expect(here.counters()).toEqual({ starts: 2, failed: 3, possibly: 2 });
    const once = held(here);
    here.restore(file);
    expect(held(here)).toEqual(once);
  });

  it("nothing that this state has known, however long ago: its own backup costs nothing", () => {
    const here = read();
    for (const id of ["x2", "x3", "x4"]) here.exchange(id, "", "intent");
    const file = here.copy().backup();
    for (const id of ["x5", "x6", "x7", "x8", "x9", "x10"]) here.exchange(id, `made by ${id}`);
    here.restore(file);
    expect(here.counters()).toEqual({ starts: 0, failed: 0, possibly: 0 });
  });

  it("what may have begun before the last acknowledgement here, until the next one: no clock tells", () => {
    const here = read();
    const file = here.copy().exchange("y2", "", "intent").backup();
    here.exchange("x2", "C");
    here.restore(file);
    expect(here.counters()).toEqual({ starts: 1, failed: 1, possibly: 1 });
    here.exchange("x3", "D");
    expect(here.counters()).toEqual({ starts: 0, failed: 0, possibly: 0 });
    // What was counted once is not counted again.
    here.restore(file);
    expect(here.counters()).toEqual({ starts: 0, failed: 0, possibly: 0 });
  });

  it("a success that only the file has proves nothing here", () => {
    const here = read().exchange("x2", "", "intent").exchange("x3", "", "intent");
    here.restore(here.copy().exchange("y4", "Y").backup());
    expect(here.counters()).toMatchObject({ starts: 2 });
  });

  it("what a person has said there, once", () => {
    const here = read().exchange("x2", "", "intent");
    const there = here.copy().exchange("y3", "", "intent");
    there.does((rows) => void Object.assign(rows.vault ?? {}, carried(2, 1, "y3")));
    const file = there.exchange("y4", "", "rejected").backup();
    expect(there.counters()).toMatchObject({ starts: 2, failed: 2 });
    here.restore(file);
    // Ours, what is carried there, and what was begun there since.
    expect(here.counters()).toMatchObject({ starts: 3, failed: 3 });
    const once = held(here);
    here.restore(file);
    expect(held(here)).toEqual(once);
  });

  it("what a person has said there of exchanges that are known here says nothing", () => {
    const here = read().exchange("x2", "", "intent");
    const there = here.copy();
    there.does((rows) => void Object.assign(rows.vault ?? {}, carried(4, 2, "x2")));
    here.restore(there.backup());
    expect(here.counters()).toMatchObject({ starts: 1, failed: 1 });
  });

  it("what a vault of the file carries since it was forgotten there, once, and from state to state", () => {
    const refused = (id: string, s: OneVault) => s.exchange(id, "", "rejected", "A");
    const there = refused("x2", refused("x1", new OneVault(new Minutes()).import("A")));
    there.forget().import("X").forget().import("Y");
    const [here, third] = [there, there].map(({ minutes }) => new OneVault(minutes).import("B"));
    for (const [from, to] of [
      [there, here],
      [there, here],
      [here, third],
      [third, there],
    ] as [OneVault, OneVault][]) {
      to.restore(from.backup());
      expect(to.counters()).toMatchObject({ failed: 2 });
    }
  });

  it("what a vault of the file carries no more leaves ours as they are", () => {
    const there = new OneVault(new Minutes()).import("A").exchange("z1", "", "rejected").forget();
    there.import("X").exchange("z2", "Y");
    const here = read();
    here.run((rows) => exchanges.recordIntent(rows, intent("y1", 2, { sole: true })));
    here.does((rows) => exchanges.noteOutcome(rows, "y1", "none", problem)).restore(there.backup());
    expect(here.counters()).toEqual({ starts: 1, failed: 0, possibly: 0 });
  });

  it("beside the counters of a vault that was forgotten", () => {
    const both = read().exchange("x2", "", "rejected");
    const here = both.copy().forget();
    here.restore(both.copy().exchange("y3", "", "intent").import("X").backup());
    expect(here.counters()).toEqual({ starts: 1, failed: 2, possibly: 1 });
    expect(here.rows.record()?.unansweredStarts).toBe(1);
  });
});

const carried = (starts: number, failed: number, upTo: string) => ({
  carried: {
    unackedStarts: starts,
    unansweredStarts: 0,
    failedAttempts: failed,
    possiblyFailed: 0,
  },
  carriedUpTo: upTo,
});
