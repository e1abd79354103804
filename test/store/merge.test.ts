import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unknownVault } from "../../src/store/steps/rows.ts";
import { mergeOpened } from "../../src/store/backup/merge/merge-state.ts";
import { vaultRecord } from "../../src/store/vault-record.ts";
import { isLive } from "../../src/store/steps/generations.ts";
import { elsewhere, lower, service } from "../contract/store-fixture.ts";
import { Minutes, OneVault, stages } from "./one-vault.ts";

/** A state that has read its vault once: B is current, A superseded. */
const read = (): OneVault => new OneVault(new Minutes()).import("A").exchange("x1", "B");

/** What is compared of a state; all but the time of a step and the journal. */
const held = (state: OneVault): unknown => state.contents();

describe("a backup that is merged into a state: a row of the table each", () => {
  it("unknown here: taken, unproven", () => {
    const here = new OneVault(new Minutes());
    expect(here.restore(read().contents())).toMatchObject({ outcome: "taken", open: null });
    expect([here.candidates(), here.proven()]).toEqual([["B"], []]);
    expect(here.rows.credentials.every((row) => row.elsewhere)).toBe(true);
  });

  it.each([
    ["started", 3, "started"],
    ["held", 3, "held"],
    ["ending", 3, "ending"],
    ["started", 9, "in-doubt"],
    ["held", 9, "in-doubt"],
    ["ending", 9, "in-doubt"],
    ["in-doubt", 3, "in-doubt"],
  ] as const)(
    "unknown here: an exchange at %s, after %i minutes of its token's five, is %s",
    (stage, minutes, state) => {
      const there = read().exchange("x2", "C", stage);
      const here = new OneVault(new Minutes());
      const begun = Date.parse(there.rows.exchanges.at(-1)?.startedAt ?? "");
      const restored = here.restore(there.contents(), begun + minutes * 60_000);
      expect(restored.open).toMatchObject({ id: "x2", state, from: "file" });
      // It may have been acknowledged since: if its token is refused, that says nothing.
      expect(here.rows.exchanges.at(-1)?.adopted).toBe(true);
      expect(here.candidates().slice(0, 2)).toEqual(state === "in-doubt" ? ["C", "B"] : ["B"]);
      // The same is shown by a start that its new credentials succeed in.
      here.exchange("x3", "D", "started", "C");
      expect(here.states()).toContain("x2 acknowledged");
    },
  );

  it.each(["superseded", "refused"])(
    "any, and %s here: nothing; ours stays as it is, sole too",
    (how) => {
      const here = read();
      if (how === "refused")
        here
          .import("Z")
          .exchange("x2", "", "rejected", "Z")
          .exchange("x3", "C", "acknowledged", "B");
      const there = how === "refused" ? new OneVault(here.minutes).import("Z") : read();
      if (how === "superseded") here.exchange("x2", "C");
      const before = held(here);
      expect(here.restore(there.contents())).toMatchObject({ outcome: "older" });
      expect(held(here)).toEqual(before);
      expect(here.current()).toMatchObject({ proven: true, elsewhere: false });
    },
  );

  it.each(["superseded", "refused"])("forgotten, and %s here: stays forgotten", (how) => {
    const here = read();
    const there = here.copy();
    if (how === "superseded") here.exchange("x2", "C");
    else here.exchange("x2", "", "rejected").import("Q");
    here.forget();
    const before = held(here);
    expect(here.restore(there.contents())).toMatchObject({ outcome: "older" });
    expect(held(here)).toEqual(before);
  });

  it("ready, and a successor of ours: first candidate; ours unproven", () => {
    const here = read();
    const there = here.copy().exchange("x2", "C").exchange("x3", "D");
    expect(here.restore(there.contents())).toMatchObject({ outcome: "first" });
    expect([here.candidates(), here.proven()]).toEqual([["D", "B"], []]);
    expect(here.current()).toMatchObject({ standing: "current", elsewhere: true });
  });

  it("ready, and otherwise unknown: after ours; ours unproven", () => {
    const here = read();
    const there = new OneVault(here.minutes).import("X").exchange("y1", "Y");
    expect(here.restore(there.contents())).toMatchObject({ outcome: "after" });
    expect([here.candidates(), here.proven()]).toEqual([["B", "Y"], []]);
  });

  it.each([
    ["rejected", (here: OneVault) => here.exchange("x2", "", "rejected"), ["Y", "B"]],
    ["in doubt", (here: OneVault) => here.exchange("x2", "C", "in-doubt"), ["Y", "C", "B"]],
  ] as const)("%s, and unknown: first candidate; ours stay", (_, change, order) => {
    const here = change(read());
    const proven = here.proven();
    const there = new OneVault(here.minutes).import("X").exchange("y1", "Y");
    expect(here.restore(there.contents())).toMatchObject({ outcome: "first" });
    expect(here.candidates()).toEqual(order);
    expect(here.proven()).toEqual(proven);
  });

  it("rejected, and unknown, but older by the service's times: after ours", () => {
    const there = new OneVault(new Minutes()).import("X").exchange("y1", "Y");
    const here = new OneVault(there.minutes)
      .import("A")
      .exchange("x1", "B")
      .exchange("x2", "", "rejected");
    expect(here.restore(there.contents())).toMatchObject({ outcome: "after" });
    expect(here.candidates()).toEqual(["B", "Y"]);
  });

  const ranks = [
    "intent",
    "started",
    "held",
    "ending",
    "in-doubt",
    "expired",
    "acknowledged",
  ] as const;
  const twins = ranks.flatMap((ours, a) =>
    ranks.flatMap((theirs, b) => (a < b ? [[ours, theirs] as const] : [])),
  );
  it.each(twins)(
    "any, and the same exchange at %s here, %s there: the further outcome, whichever has it",
    (less, further) => {
      const advance = (state: OneVault, stage: (typeof ranks)[number]): OneVault =>
        state.exchange("x2", "C", stage);
      const [behind, ahead] = [read(), read()];
      advance(behind, less);
      advance(ahead, further);
      const before = held(ahead);
      const stage = (state: OneVault) => state.rows.exchanges.find(({ id }) => id === "x2")?.state;
      const now = Date.parse(behind.minutes.at());
      ahead.restore(behind.contents(), now);
      expect(held(ahead)).toEqual(before);
      behind.restore(ahead.contents(), now);
      expect(stage(behind)).toBe(further);
      const isOpen = ["started", "held", "ending"].includes(further);
      // An acknowledgement there proves nothing here, but comes first; what expired there comes last.
      const order = {
        acknowledged: ["C", "B"],
        "in-doubt": ["C", "B"],
        expired: ["B", "C"],
      };
      expect(behind.candidates()).toEqual(isOpen ? ["B"] : order[further as keyof typeof order]);
    },
  );

  it("any, and the same exchange further in the file: its old credentials are not sole any more", () => {
    const here = read().exchange("x2", "C", "started");
    const there = here.copy().goOn("x2", "held");
    here.restore(there.contents(), Date.parse(here.minutes.at()));
    expect(here.current()).toMatchObject({ standing: "current", ended: true });
  });

  it("ready, and credentials that the file has dropped and that were refused there: refused here, too", () => {
    const here = read();
    const there = here.copy().exchange("x2", "C", "expired").exchange("x3", "", "rejected", "C");
    here.restore(there.contents());
    expect(here.candidates()).toEqual(["B", "C"]);
    expect([...here.rows.refusals.values()]).toEqual([...there.rows.refusals.values()]);
  });

  it.each(["before", "after"])(
    "open, and another open one begun %s it: ours; theirs is closed, its credentials after ours",
    (when) => {
      const here = read();
      const there = here.copy();
      if (when === "before") there.exchange("y2", "Y", "held");
      here.exchange("x2", "C", "held");
      if (when === "after") there.exchange("y2", "Y", "held");
      expect(here.restore(there.contents())).toMatchObject({
        outcome: "after",
        open: { id: "x2", state: "held", from: "here" },
      });
      expect(here.states()).toEqual(["x1 acknowledged", "y2 discarded", "x2 held"]);
      here.goOn("x2", "in-doubt");
      expect(here.candidates()).toEqual(["C", "B", "Y"]);
    },
  );

  it("none open, and an open one from our current credentials: goes on", () => {
    const here = read();
    const there = here.copy().exchange("y2", "Y", "held");
    expect(here.restore(there.contents())).toMatchObject({
      outcome: "first",
      open: { id: "y2", state: "held", from: "file" },
    });
    expect(here.proven()).toEqual([]);
    here.goOn("y2", "in-doubt");
    expect(here.candidates()).toEqual(["Y", "B"]);
  });

  it("none open, and an open one from our current credentials, which a later number superseded: goes on", () => {
    const here = read().import("B", "another pin").exchange("x2", "C", "expired");
    expect(here.rows.credentials).toMatchObject([
      { standing: "superseded" },
      { standing: "current" },
      { standing: "superseded", fingerprint: here.current()?.fingerprint },
      { standing: "void" },
    ]);
    const there = here.copy().exchange("y2", "Y", "held");
    expect(here.restore(there.contents())).toMatchObject({
      outcome: "first",
      open: { id: "y2", state: "held", from: "file" },
    });
  });

  it("ready, and a successor of ours, which an earlier number in the file is not any more: first candidate", () => {
    const here = read();
    const there = here.copy().exchange("y1", "Y").import("Y", "another pin");
    there.exchange("y2", "Z", "expired", "Y");
    expect(here.restore(there.contents())).toMatchObject({ outcome: "first" });
    expect(here.candidates()).toEqual(["Y", "B", "Z"]);
  });

  it("none open, and an open one from others: closed", () => {
    const here = read();
    const there = here.copy().exchange("y2", "Y", "held");
    here.exchange("x2", "C");
    expect(here.restore(there.contents())).toMatchObject({ outcome: "after", open: null });
    expect(here.candidates()).toEqual(["C", "Y"]);
  });

  it.each([
    [3, ["Y", "Z", "B"]],
    [9, ["Z", "Y", "B"]],
  ])(
    "none open, and one from credentials that follow ours, after %i minutes of its token's five: closed, tried as it may stand",
    (n, order) => {
      const here = read();
      const there = here.copy().exchange("y2", "Y").exchange("y3", "Z", "held");
      const begun = Date.parse(there.rows.exchanges.at(-1)?.startedAt ?? "");
      expect(here.restore(there.contents(), begun + n * 60_000)).toMatchObject({
        outcome: "first",
        open: null,
      });
      expect(here.candidates()).toEqual(order);
      expect(here.counters()).toEqual({ starts: 1, failed: 0, possibly: 0 });
    },
  );

  it("forgotten, and ready: comes back, with the numbers that follow", () => {
    const there = read();
    const here = there.copy().forget();
    expect(here.restore(there.contents())).toMatchObject({ outcome: "returned" });
    expect([here.candidates(), here.proven()]).toEqual([["B"], []]);
    expect(here.rows.credentials.map(({ generation }) => generation)).toEqual([3, 4]);
    expect(here.rows.vault).toMatchObject({ forgotten: false, lastGeneration: 4 });
  });

  it("forgotten, and some of it refused here: comes back, and what was refused is not superseded", () => {
    const there = new OneVault(new Minutes()).import("A").import("Q");
    const here = there.copy().exchange("x2", "", "rejected", "Q").forget();
    expect(here.restore(there.contents())).toMatchObject({ outcome: "returned" });
    expect(here.candidates()).toEqual(["Q", "A"]);
    expect(here.rows.credentials.map((row) => row.refused)).toEqual([false, true]);
    expect(here.import("Q").rows.refusals.size).toBe(0);
  });

  it("forgotten, and some of it superseded here: comes back without, dropped credentials too", () => {
    const there = read().exchange("x2", "C", "expired").import("D");
    const here = there.copy().exchange("x3", "E", "acknowledged", "C").forget();
    expect(here.restore(there.contents())).toMatchObject({ outcome: "older" });
    const more = there.copy().import("F");
    expect(here.restore(more.contents())).toMatchObject({ outcome: "returned" });
    expect(here.candidates()).toEqual(["F"]);
  });

  it.each([
    ["old", (here: OneVault) => here.exchange("x3", "Y"), ["C", "D"]],
    ["new", (here: OneVault) => here.import("C").exchange("x3", "Y", "acknowledged", "C"), ["D"]],
  ])(
    "forgotten, and an open exchange whose %s credentials are superseded here: closed",
    (_, goOn, order) => {
      const here = read();
      const there = here.copy().exchange("x2", "C", "held").import("D");
      goOn(here).forget();
      expect(here.restore(there.contents())).toMatchObject({ outcome: "returned", open: null });
      expect(here.candidates()).toEqual(order);
      expect(here.states()).toContain("x2 discarded");
    },
  );

  it.each(["deleted", "gone"])("%s, and ready: told only", (how) => {
    const there = read();
    const here = how === "gone" ? there.copy().gone() : there.copy().delete("x2");
    const before = held(here);
    expect(here.restore(there.contents())).toMatchObject({ outcome: "gone" });
    expect(held(here)).toEqual(before);
  });

  it("a vault that was deleted here and is imported again is not gone", () => {
    const here = read().delete("x2").import("N");
    expect(here.rows.vault?.lastError).toBe(null);
  });

  it("at another service, the same uuid: side by side, unless it is superseded here", () => {
    const moved = new OneVault(new Minutes(), { service: elsewhere, uuid: lower })
      .import("M")
      .exchange("m1", "N");
    const here = read();
    const empty = new OneVault(new Minutes(), { service: elsewhere, uuid: lower });
    expect(empty.restore(moved.contents())).toMatchObject({ outcome: "taken" });
    expect([empty.candidates(), here.candidates()]).toEqual([["N"], ["B"]]);
    const old = new OneVault(new Minutes(), { service: elsewhere, uuid: lower }).import("A");
    const rows = unknownVault({ ...old.rows });
    const about = { now: 0, superseded: here.rows.superseded };
    expect(mergeOpened(rows, old.contents(), about, new Set())).toMatchObject({
      service: elsewhere,
      outcome: "older",
    });
    expect(rows.vault).toBeNull();
  });

  it("a label that another vault has here is dropped, and told", () => {
    const there = new OneVault(new Minutes(), { service, uuid: lower.replace("1", "2") })
      .import("O")
      .label("palm");
    const place = { service, uuid: there.rows.uuid };
    const restored = (labels: Set<string>) =>
      new OneVault(there.minutes, place).restore(there.contents(), undefined, labels);
    expect(restored(new Set())).toMatchObject({ label: "palm", droppedLabel: null });
    expect(restored(new Set(["palm"]))).toMatchObject({ label: null, droppedLabel: "palm" });
  });
});

describe("what a merged backup counts", () => {
  it("adds the exchanges that only the file has since the last acknowledgement", () => {
    const here = read().exchange("x2", "", "intent");
    const there = here.copy().exchange("y3", "", "intent").exchange("y4", "", "rejected");
    const [before, theirs] = [here.counters(), there.counters()];
    here.restore(there.contents());
    expect(here.counters()).toEqual({ ...theirs, failed: Math.max(before.failed, theirs.failed) });
    const now = held(here);
    here.restore(there.contents());
    expect(held(here)).toEqual(now);
  });

  it("counts what may have begun before the last acknowledgement here until the next one: no clock tells", () => {
    const here = read();
    const there = here.copy().exchange("y2", "", "intent");
    here.exchange("x2", "C");
    here.restore(there.contents());
    expect(here.counters()).toEqual({ starts: 1, failed: 1, possibly: 1 });
    expect(here.states()).toEqual(["x1 acknowledged", "y2 discarded", "x2 acknowledged"]);
    here.exchange("x3", "D");
    expect(here.counters()).toEqual({ starts: 0, failed: 0, possibly: 0 });
  });

  it("counts a start before an acknowledgement that this state knows from another file alone", () => {
    const here = read();
    const there = here.copy().exchange("z2", "", "intent");
    const acknowledged = here.copy().exchange("y3", "Y");
    for (const each of [acknowledged, there]) here.restore(each.contents());
    expect(here.states()).toContain("z2 intent");
    expect(here.counters()).toMatchObject({ starts: 1 });
  });

  it("counts a start after an acknowledgement that its success has shown", () => {
    const here = read().exchange("x2", "", "intent").exchange("x3", "C", "ending");
    const there = here.copy().exchange("y4", "Y", "held", "C");
    here.restore(there.contents());
    expect(here.states()).toContain("x3 acknowledged");
    expect(here.counters()).toEqual({ starts: 1, failed: 0, possibly: 0 });
    expect(vaultRecord(here.rows)?.unansweredStarts).toBe(0);
  });

  it("an exchange that expired, and is in doubt again since its base was refused, stays in doubt", () => {
    const here = read().exchange("x2", "C", "expired");
    const file = here.contents();
    here.exchange("x3", "", "rejected");
    expect(here.states()).toContain("x2 in-doubt");
    const before = held(here);
    here.restore(file);
    expect(held(here)).toEqual(before);
  });

  it("an exchange that was taken back, and adopted since, goes on", () => {
    const here = read().exchange("x2", "", "discarded");
    const file = here.contents();
    here.adopt("x2", ["B", "C"]);
    expect(here.states()).toContain("x2 ending");
    const before = held(here);
    here.restore(file);
    expect(held(here)).toEqual(before);
  });

  it("a start that an acknowledgement here has zeroed since, and a refusal that a success has cleared, stay so", () => {
    const here = read()
      .import("Q")
      .exchange("x2", "", "rejected", "Q")
      .exchange("x3", "", "intent", "B");
    const file = here.contents();
    here.does((rows) => rows.refusals.clear()).exchange("x4", "C", "acknowledged", "Q");
    const before = held(here);
    here.restore(file);
    expect(held(here)).toEqual(before);
  });
});

/** Something that happens to one of two states that were one. */
const happening = fc.record({
  stage: fc.constantFrom(...stages),
  what: fc.constantFrom(
    "exchange",
    "exchange",
    "exchange",
    "goOn",
    "settle",
    "import",
    "adopt",
    "crossing",
  ),
  pick: fc.nat(),
});

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** Lets it happen, if it can. `other` is where crossing credentials come from. */
function happen(
  state: OneVault,
  { what, stage, pick }: Happening,
  name: string,
  other: OneVault,
): void {
  const { credentials, exchanges } = state.rows;
  const of = <T>(list: readonly T[]): T | undefined => list[pick % Math.max(1, list.length)];
  const open = exchanges.find((row) => ["started", "held", "ending"].includes(row.state));
  const kept = credentials.filter(
    (row) => row.sealed !== null && (isLive(row) || row.standing === "void"),
  );
  const base = of(kept);
  try {
    if (what === "exchange" && base !== undefined)
      state.exchange(`x${name}`, name, stage, state.nameOf(base));
    else if (what === "goOn" && open !== undefined && open.state !== "ending")
      state.goOn(open.id, stage === "intent" ? "ending" : stage);
    else if (what === "settle" && open?.state === "ending") state.settle(open.id, stage);
    else if (what === "import") state.import(name);
    else if (what === "adopt" && base !== undefined)
      state.adopt(`x${name}`, [state.nameOf(base), name]);
    else if (what === "crossing") {
      const theirs = of(other.rows.credentials.filter((row) => row.sealed !== null));
      if (theirs !== undefined) state.import(other.nameOf(theirs));
    }
  } catch (error) {
    // What cannot happen in this state of affairs, like an import of superseded credentials.
    if (!(error instanceof Error && error.name === "VaultError")) throw error;
  }
}

const worlds = fc.record({
  before: fc.array(happening, { maxLength: 6 }),
  here: fc.array(happening, { maxLength: 7 }),
  there: fc.array(happening, { maxLength: 7 }),
  hasExpired: fc.boolean(),
});

/** Two states that were one, as they are after what has happened to each. */
function worldOf({ before, here, there }: typeof worlds extends fc.Arbitrary<infer T> ? T : never) {
  const first = new OneVault(new Minutes()).import("A");
  before.forEach((each, n) => happen(first, each, `b${n}`, first));
  const second = first.copy();
  const backup = first.contents();
  for (let n = 0; n < Math.max(here.length, there.length); n += 1) {
    const [mine, yours] = [here[n], there[n]];
    if (mine !== undefined) happen(first, mine, `m${n}`, second);
    if (yours !== undefined) happen(second, yours, `y${n}`, first);
  }
  return { first, second, backup };
}

const runs = { seed: 27, numRuns: 400 };

describe("whatever has happened to two states that were one", () => {
  const nowOf = ({ minutes }: OneVault, hasExpired: boolean): number =>
    Date.parse(minutes.at()) + (hasExpired ? 86_400_000 : 1);

  it("twice is as once", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { first, second } = worldOf(world);
        const now = nowOf(first, world.hasExpired);
        first.restore(second.contents(), now);
        const once = held(first);
        first.restore(second.contents(), now);
        expect(held(first)).toEqual(once);
      }),
      runs,
    );
  });

  it("what was a candidate stays one, what was current stays current, and nothing superseded or refused becomes one", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { first, second } = worldOf(world);
        const { rows } = first.copy();
        first.restore(second.contents(), nowOf(first, world.hasExpired));
        const after = first.rows;
        const find = (generation: number) =>
          after.credentials.find((row) => row.generation === generation);
        for (const row of rows.credentials) {
          const now = find(row.generation);
          expect(now).toMatchObject({ fingerprint: row.fingerprint, refused: row.refused });
          if (row.standing === "superseded") expect(now).toMatchObject({ standing: "superseded" });
          else
            expect(now).toMatchObject({
              standing: expect.not.stringMatching("superseded") as string,
              sealed: expect.any(String) as string,
            });
          if (row.standing === "current") expect(now).toMatchObject({ standing: "current" });
        }
        const dead = new Set([...rows.superseded, ...rows.refusals.values()]);
        const before = new Set(rows.credentials.map(({ generation }) => generation));
        for (const row of after.credentials)
          if (isLive(row) && !before.has(row.generation))
            expect(dead).not.toContain(row.fingerprint);
        for (const print of rows.superseded) expect(after.superseded).toContain(print);
        for (const combination of rows.refusals.keys())
          expect([...after.refusals.keys()]).toContain(combination);
        // No start that may have been sent is forgotten.
        const [then, now] = [vaultRecord(rows), vaultRecord(after)];
        expect(now?.failedAttempts).toBeGreaterThanOrEqual(
          (then?.failedAttempts ?? 0) - (then?.possiblyFailed ?? 0),
        );
      }),
      runs,
    );
  });

  it("the rows are such as the engines take", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { first, second } = worldOf(world);
        first.restore(second.contents(), nowOf(first, world.hasExpired));
        const { vault, credentials, exchanges } = first.rows;
        const generations = credentials.map(({ generation }) => generation);
        expect(new Set(generations).size).toBe(generations.length);
        expect(Math.max(...generations)).toBeLessThanOrEqual(vault?.lastGeneration ?? 0);
        expect(credentials.filter(({ standing }) => standing === "current").length).toBeLessThan(2);
        const open = exchanges.filter(({ state }) =>
          ["started", "held", "ending", "in-doubt"].includes(state),
        );
        expect(open.length).toBeLessThan(2);
        for (const { baseGeneration: base, newGeneration: made, state, token } of open) {
          expect(generations).toContain(base);
          expect(credentials.find(({ generation }) => generation === made)?.sealed).toEqual(
            expect.any(String),
          );
          if (state !== "in-doubt") expect(token).toEqual(expect.any(String));
        }
        const {
          unackedStarts: starts = 0,
          unansweredStarts: unanswered = 0,
          failedAttempts: failed = 0,
          possiblyFailed: possibly = 0,
        } = vaultRecord(first.rows) ?? {};
        for (const count of [
          starts,
          unanswered,
          failed,
          possibly,
          starts - unanswered,
          failed - possibly,
        ]) {
          expect(count).toBeGreaterThanOrEqual(0);
        }
      }),
      runs,
    );
  });

  it("its own earlier backup changes nothing", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { first, backup } = worldOf(world);
        const before = held(first);
        first.restore(backup, nowOf(first, world.hasExpired));
        expect(held(first)).toEqual(before);
      }),
      runs,
    );
  });
});
