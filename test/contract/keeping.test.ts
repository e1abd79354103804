import { expect, it } from "vitest";
import { describeStore } from "./store-contract.ts";
import type { AdoptedExchange } from "../../src/exchange/records.ts";
import {
  elsewhere,
  exchange,
  held,
  intent,
  known,
  lower,
  pair,
  problem,
  service,
  standings,
  startExchange,
  started,
  uuid,
  eachOn,
} from "./store-fixture.ts";
import { device } from "../support/examples.ts";

const document: AdoptedExchange = {
  externalRef: "order-1",
  exchangeId: "far1",
  kind: "credit-card/online",
  operation: "get",
  old: { ...pair("old"), hashedPin: "cGlu" },
  new: pair("new"),
  token: "token-of-new",
  unread: false,
  tokenExpiry: "2026-11-21T10:05:00Z",
  device,
};

/** What is kept of a vault beside its exchanges: import, adopt, forget, reset, rebind, lists. */
describeStore("keeping vaults", (make) => {
  const on = eachOn(make, held);
  it("knows nothing of a vault that was only held", async () => {
    expect(await on.session.read()).toBeNull();
    expect(await on.session.refusals()).not.toContain("combination");
    expect(await on.fixture.store.list()).toEqual([]);
    expect(await on.fixture.store.find(uuid)).toEqual([]);
    await expect(on.session.resetCounters("all")).rejects.toMatchObject({
      code: "no-credentials",
    });
    await expect(on.session.forget()).rejects.toMatchObject({ code: "no-credentials" });
    await expect(on.session.setLabel("Ada")).rejects.toMatchObject({ code: "no-credentials" });
  });

  it("makes a vault known by its first pair", async () => {
    expect(
      await on.session.recordPair({
        credentials: pair("first"),
        kind: "generic/offline",
        label: "Ada",
      }),
    ).toBe(1);
    const record = await known(on.session);
    expect(record).toMatchObject({
      service,
      uuid: lower,
      kind: "generic/offline",
      label: "Ada",
      unackedStarts: 0,
      failedAttempts: 0,
    });
    expect(record.generations).toMatchObject([
      {
        generation: 1,
        standing: "imported",
        proven: false,
        device: null,
        createdAt: "2026-11-21T10:00:00.000Z",
      },
    ]);
    expect(await on.fixture.another().find(uuid)).toEqual([record]);
    await on.session.setLabel("Grace");
    expect((await known(on.session)).label).toBe("Grace");
  });

  it("gives a label to one vault only, also of two at once, until that one has another or is forgotten", async () => {
    const other = await held(on.fixture, uuid.replace(/1$/, "2"));
    const third = await held(on.fixture, uuid.replace(/1$/, "3"), elsewhere);
    const all = [on.session, other, third];
    for (const session of all)
      await session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    const told = await Promise.allSettled(
      all.map(async (session) => await session.setLabel("Ada")),
    );
    expect(told.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of told)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "usage" });
    const first = told.findIndex(({ status }) => status === "fulfilled");
    const [owner = on.session, ...rest] = [...all.slice(first), ...all.slice(0, first)];
    for (const session of rest) expect((await known(session)).label).toBeNull();
    await owner.setLabel("Ada");
    await expect(rest[0]?.setLabel("Ada")).rejects.toMatchObject({ code: "usage" });
    await owner.setLabel("Grace");
    await rest[0]?.setLabel("Ada");
    await rest[0]?.forget();
    await rest[1]?.setLabel("Ada");
    expect((await on.fixture.another().list()).map(({ label }) => label).toSorted()).toEqual([
      "Ada",
      "Grace",
    ]);
    for (const session of [other, third]) await session.release();
  });

  it("lists vaults by label without regard to case, then by uuid, and exchanges newest first", async () => {
    for (const [at, digit, label] of [
      [service, "3", undefined],
      [elsewhere, "4", "éa"],
      [service, "2", undefined],
      [service, "5", "Éb"],
      [service, "6", "b"],
    ] as const) {
      const other = await held(on.fixture, uuid.replace(/1$/, digit), at);
      await other.recordPair({ credentials: pair("first"), kind: "generic/offline", label });
      await other.release();
    }
    const last = ({ uuid: id }: { uuid: string }): string => id.slice(-1);
    const { store } = on.fixture;
    expect((await store.list()).map(last)).toEqual(["6", "4", "5", "2", "3"]);
    expect((await store.names()).map(last)).toEqual(["6", "4", "5", "2", "3"]);
    const fifth = uuid.replace(/1$/, "5").toUpperCase();
    expect((await Array.fromAsync(store.each(fifth))).map(last)).toEqual(["5"]);
    await on.session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    for (const id of ["x1", "x2", "x3"]) await on.session.recordIntent(intent(id, 1));
    expect((await known(on.session)).exchanges.map((e) => e.id)).toEqual(["x3", "x2", "x1"]);
  });

  it("forget removes pairs and exchanges; counters, refusals, fingerprints and numbers outlive it", async () => {
    await on.session.recordPair({
      credentials: pair("first"),
      kind: "generic/offline",
      label: "Ada",
    });
    await exchange(on.session, "x1", 1, "second");
    await on.session.recordIntent(intent("x2", 2));
    await on.session.noteOutcome("x2", "refused", problem, "combination");
    await on.session.forget();
    expect(await known(on.session)).toMatchObject({
      label: null,
      generations: [],
      open: null,
      last: null,
      lastError: null,
      unackedStarts: 0,
      failedAttempts: 1,
    });
    expect(await on.fixture.store.find(uuid)).toEqual([]);
    expect((await on.fixture.store.list()).map((v) => v.uuid)).toEqual([lower]);
    expect(await on.session.refusals()).toContain("combination");
    expect(await on.session.isSuperseded(pair("first"))).toBe(true);
    expect(await on.session.isSuperseded(pair("second"))).toBe(false);
    await expect(on.session.credentials(2)).rejects.toMatchObject({ code: "state" });
    expect(
      await on.session.recordPair({ credentials: pair("second"), kind: "generic/offline" }),
    ).toBe(3);
    expect(await known(on.session)).toMatchObject({ unackedStarts: 0, failedAttempts: 1 });
    expect((await on.fixture.store.find(uuid)).length).toBe(1);
    await on.session.resetCounters("all");
    await on.session.forget();
    expect(await on.fixture.store.list()).toEqual([]);
  });

  it("a reset zeroes both counters; what was refused stays refused", async () => {
    await on.session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    await on.session.recordIntent(intent("x1", 1));
    await on.session.noteOutcome("x1", "refused", problem, "combination");
    await on.session.resetCounters("all");
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 0,
      failedAttempts: 0,
      lastError: null,
    });
    expect(await on.session.refusals()).toContain("combination");
  });

  it("adopts an exchange of another machine as one whose end call may have arrived; its SUCCESS supersedes nothing", async () => {
    expect(await on.session.adopt(document)).toBe("open");
    expect(await standings(on.session)).toEqual(["2 imported", "1 imported"]);
    expect(await known(on.session)).toMatchObject({
      kind: "credit-card/online",
      unackedStarts: 1,
      failedAttempts: 0,
    });
    expect((await known(on.session)).open).toMatchObject({
      id: "far1",
      state: "ending",
      baseGeneration: 1,
      newGeneration: 2,
      endsUnanswered: 1,
      tokenExpiry: document.tokenExpiry,
      externalRef: "order-1",
      adopted: true,
    });
    expect(
      (await known(on.session)).generations.map((g) => [g.proven, g.elsewhere, g.device]),
    ).toEqual([
      [false, true, device],
      [false, true, device],
    ]);
    expect(await on.session.credentials(2)).toEqual({ ...pair("new"), hashedPin: "cGlu" });
    expect(await on.session.token("far1")).toBe("token-of-new");
    const before = await known(on.session);
    expect(await on.session.adopt(document)).toBe("open");
    expect(await known(on.session)).toEqual(before);
    await on.session.acknowledge("far1");
    expect(await standings(on.session)).toEqual(["2 imported", "1 imported"]);
    expect((await known(on.session)).generations.map((g) => g.placed)).toEqual([
      "successor",
      "older",
    ]);
    expect(await on.session.adopt(document)).toBe("known");
    expect(await known(on.session)).toMatchObject({ open: null, unackedStarts: 1 });
  });

  it("adopts the last exchange before it was forgotten, and still counts what was begun since", async () => {
    await on.session.adopt(document);
    await on.session.forget();
    await on.session.recordPair({ credentials: document.old, kind: document.kind, device });
    await on.session.recordIntent(intent("x1", 3));
    await on.session.noteOutcome("x1", "none", problem);
    const { unackedStarts } = await known(on.session);
    expect(await on.session.adopt(document)).toBe("open");
    expect((await known(on.session)).unackedStarts).toBeGreaterThanOrEqual(unackedStarts);
  });

  it("adopts an exchange of which it has the start alone, because a failover has lost the rest", async () => {
    await on.session.recordPair({ credentials: document.old, kind: document.kind, device });
    await on.session.recordIntent(intent("far1", 1));
    expect(await on.session.adopt(document)).toBe("open");
    const open = {
      id: "far1",
      state: "ending",
      baseGeneration: 1,
      newGeneration: 2,
      endsUnanswered: 1,
      adopted: true,
    };
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 1,
      open,
      generations: [{ generation: 2 }, { generation: 1 }],
    });
    expect(await on.session.token("far1")).toBe("token-of-new");
  });

  it("adopts beside what is proven without touching it: a successor comes first, an older document last or not at all", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    await exchange(on.session, "x1", 1, "current");
    // The end call alone does not prove that nothing came between: a start does.
    expect(
      await on.session.adopt({
        ...document,
        tokenExpiry: "2026-11-21T10:04:59Z",
        old: pair("lost"),
      }),
    ).toBe("open");
    expect(await standings(on.session)).toEqual([
      "4 imported",
      "3 imported",
      "2 current",
      "1 superseded",
    ]);
    expect((await known(on.session)).generations.map((g) => g.placed)).toEqual([
      "older",
      "older",
      null,
      null,
    ]);
    await on.session.settle("far1", "in-doubt", problem);
    const next = {
      ...document,
      exchangeId: "far2",
      old: pair("current"),
      new: pair("later"),
      tokenExpiry: "2026-11-21T11:00:00Z",
    };
    expect(await on.session.adopt(next)).toBe("candidates");
    expect((await known(on.session)).generations[0]).toMatchObject({
      generation: 6,
      standing: "imported",
      placed: "successor",
    });
    expect((await known(on.session)).open).toMatchObject({ id: "far1", state: "in-doubt" });
    await startExchange(on.session, "x2", 2, "newer");
    await expect(on.session.adopt(next)).rejects.toMatchObject({ code: "no-credentials" });
    await expect(
      on.session.adopt({ ...next, exchangeId: "far3", old: pair("old"), new: pair("other") }),
    ).rejects.toMatchObject({
      code: "no-credentials",
    });
  });

  it("an import beside an open exchange is a candidate, and an acknowledgement leaves it one", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    await startExchange(on.session, "x1", 1, "second");
    expect(await on.session.adopt({ ...document, old: pair("foreign") })).toBe("candidates");
    await on.session.recordEnding("x1", true);
    expect(
      await on.session.recordPair({ credentials: pair("given"), kind: "credit-card/online" }),
    ).toBe(5);
    await on.session.acknowledge("x1");
    expect(await standings(on.session)).toEqual([
      "5 imported",
      "4 imported",
      "3 imported",
      "2 current",
      "1 superseded",
    ]);
  });

  it("the refusal of a pair puts what it had begun in doubt", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordEnding("x1", true);
    await on.session.settle("x1", "expired", problem);
    expect(await standings(on.session)).toEqual(["2 void", "1 current"]);
    await on.session.recordIntent(intent("x2", 1));
    await on.session.noteOutcome("x2", "refused", problem, "combination");
    expect(await standings(on.session)).toEqual(["2 offered", "1 current"]);
    expect((await known(on.session)).open).toMatchObject({ id: "x1", state: "in-doubt" });
  });

  it("a refused pair that is imported once more is no longer a refused one; it counts like any other", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    await on.session.recordIntent(intent("x1", 1));
    await on.session.noteOutcome("x1", "refused", problem, "combination");
    expect(
      await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" }),
    ).toBe(1);
    expect(await on.session.refusals()).not.toContain("combination");
    expect(await known(on.session)).toMatchObject({
      failedAttempts: 1,
      generations: [{ refused: false }],
    });
  });

  it("a reset can be of what unanswered starts have counted, of both kinds, or to what the audit log shows", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    await on.session.recordIntent(intent("x1", 1));
    await on.session.noteOutcome("x1", "refused", problem, "combination");
    await on.session.recordIntent(intent("x2", 1));
    await on.session.resetCounters("unanswered");
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 0,
      unansweredStarts: 0,
      failedAttempts: 1,
      possiblyFailed: 0,
    });
    await on.session.recordIntent(intent("x3", 1));
    await on.session.resetCounters({ failedAttempts: 2 });
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 1,
      failedAttempts: 2,
      possiblyFailed: 0,
    });
    await on.session.resetCounters({ unackedStarts: 3 });
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 3,
      unansweredStarts: 0,
      failedAttempts: 2,
    });
  });

  it("an acknowledgement ends the starts that a person has set while its exchange was open, unless it was tried before", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    for (const [id, ends] of [
      ["x1", 1],
      ["x2", 2],
    ] as const) {
      const base = (await known(on.session)).generations[0]?.generation ?? 0;
      await on.session.recordIntent(intent(id, base));
      await on.session.recordStarted(id, started(`made by ${id}`));
      await on.session.resetCounters({ unackedStarts: 4 });
      for (let end = 0; end < ends; end += 1) await on.session.recordEnding(id, true);
      await on.session.acknowledge(id);
      expect(await known(on.session)).toMatchObject({ unackedStarts: ends === 1 ? 0 : 4 });
    }
  });

  it("an acknowledgement takes back failures of starts since that its token disproves, and no others", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    await on.session.recordIntent(intent("x1", 1));
    await on.session.recordStarted("x1", started("second"));
    await on.session.recordIntent(intent("x2", 1));
    await on.session.recordIntent(intent("x3", 2));
    await on.session.recordEnding("x1", true);
    await on.session.acknowledge("x1");
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 2,
      failedAttempts: 1,
      possiblyFailed: 1,
    });
  });

  it("what was handed out is known elsewhere, and a token that is no UTF-8 comes back as it was", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "credit-card/online" });
    await on.session.recordIntent(intent("x1", 1));
    await on.session.recordStarted("x1", started("second", { token: "\ud800 alone" }));
    expect(await on.session.token("x1")).toBe("\ud800 alone");
    expect((await known(on.session)).generations.map((g) => g.elsewhere)).toEqual([false, true]);
    await on.session.markElsewhere([2]);
    expect((await known(on.session)).generations.map((g) => g.elsewhere)).toEqual([true, true]);
  });
});
