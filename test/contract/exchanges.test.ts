import { expect, it } from "vitest";
import { describeStore } from "./store-contract.ts";
import {
  exchange,
  imported,
  intent,
  known,
  patient,
  problem,
  service,
  started,
  startExchange,
  uuid,
  eachOn,
} from "./store-fixture.ts";

/** The steps of an exchange: states, counters, conditions. */
describeStore("the steps of an exchange", (make) => {
  const on = eachOn(make, imported);
  const counters = async () => {
    const { unackedStarts, failedAttempts, possiblyFailed } = await known(on.session);
    return [unackedStarts, failedAttempts, possiblyFailed];
  };
  const state = async () => (await known(on.session)).last?.state;
  const refused = async (id: string, generation: number) => {
    await on.session.recordIntent(intent(id, generation));
    await on.session.noteOutcome(id, "refused", problem, "combination");
  };
  const ending = async (id: string, generation = 2) => {
    await startExchange(on.session, id, generation, `after-${id}`);
    await on.session.recordEnding(id, true);
  };

  it("① counts a start, and one that possibly failed", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await on.session.recordIntent(intent("x2", 1));
    expect(await counters()).toEqual([2, 2, 2]);
    const { last, open } = await known(on.session);
    expect(open).toBeNull();
    expect(last).toEqual({
      id: "x2",
      operation: "get",
      kind: "credit-card/offline",
      state: "intent",
      externalRef: "ref-x2",
      baseGeneration: 1,
      newGeneration: null,
      startedAt: "2026-11-21T10:00:00.000Z",
      tokenExpiry: null,
      usesRemaining: null,
      limited: false,
      holdReason: null,
      delivered: false,
      saveOwed: false,
      endsUnanswered: 0,
      acknowledgedAt: null,
      adopted: false,
      given: null,
      by: {
        host: expect.any(String) as string,
        user: expect.any(String) as string,
        pid: expect.any(Number) as number,
      },
    });
  });

  it("① refuses an id that exists, and a generation that does not", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await expect(on.session.recordIntent(intent("x1", 1))).rejects.toMatchObject({
      code: "state",
    });
    await expect(on.session.recordIntent(intent("x2", 9))).rejects.toMatchObject({
      code: "state",
    });
    expect(await counters()).toEqual([1, 1, 1]);
  });

  it("takes back exactly what ① counted", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await on.session.recordIntent(intent("x2", 1));
    await on.session.noteOutcome("x2", "free", problem);
    expect(await counters()).toEqual([1, 1, 1]);
    expect(await state()).toBe("discarded");
    await on.session.noteOutcome("x1", "free", problem);
    expect(await counters()).toEqual([0, 0, 0]);
    await expect(on.session.noteOutcome("x1", "free", problem)).rejects.toMatchObject({
      code: "state",
    });
  });

  it("stays in the journal, with who ended it; one that was never sent does not count", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordIntent(intent("x2", 1));
    await on.session.noteOutcome("x2", "free", problem);
    await startExchange(on.session, "x3", 1, "third");
    const by = { pid: expect.any(Number) as number };
    const { store } = on.fixture;
    expect(await store.past(service, uuid)).toMatchObject([
      { exchange: { id: "x3", state: "started" } },
      { exchange: { id: "x1", operation: "get", state: "discarded", by }, changedBy: by },
    ]);
    expect(await store.past(service, uuid, "x1")).toHaveLength(1);
    expect(await store.past(service, uuid, "x9")).toEqual([]);
  });

  it("leaves an unanswered start as it is, with the error", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await on.session.noteOutcome("x1", "none", problem);
    expect(await state()).toBe("intent");
    expect(await counters()).toEqual([1, 1, 1]);
    expect((await known(on.session)).lastError).toEqual({
      at: "2026-11-21T10:00:00.000Z",
      ...problem,
    });
  });

  it("counts refused credentials once and remembers the combination", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await on.session.noteOutcome("x1", "refused", problem, "combination-a");
    expect(await counters()).toEqual([0, 1, 0]);
    expect(await state()).toBe("rejected");
    await on.session.recordIntent(intent("x2", 1));
    await on.session.noteOutcome("x2", "refused", problem, "combination-b");
    expect(await counters()).toEqual([0, 2, 0]);
    expect((await known(on.session)).generations[0]?.refused).toBe(true);
    expect(await on.session.refusals()).toEqual(["combination-a", "combination-b"]);
  });

  it("neither counts nor remembers a combination when the vault is locked or gone", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await on.session.noteOutcome("x1", "no-starts", problem);
    expect(await state()).toBe("rejected");
    expect(await counters()).toEqual([0, 0, 0]);
  });

  it.each([
    ["left with an export", async () => await on.session.markElsewhere([2])],
    ["were refused", async () => await refused("x9", 2)],
    ["may have been followed", async () => await ending("x9")],
  ])("credentials that %s are not sole any more", async (_why, happens) => {
    await exchange(on.session, "x1", 1, "second");
    await happens();
    expect((await known(on.session)).generations.find((g) => g.generation === 2)).toMatchObject({
      sole: false,
    });
  });

  it("② stores what the response said, forgives failures and the accepted combination, keeps the starts", async () => {
    await on.session.recordIntent(intent("x0", 1));
    await on.session.noteOutcome("x0", "refused", problem, "combination-of-second");
    await on.session.recordIntent(intent("x1", 1, { kind: "credit-card/online" }));
    const facts = {
      usesRemaining: 3,
      limited: true,
      expiryDate: "2027-01-01T00:00:00Z",
      autoLockDate: "2027-02-01T00:00:00Z",
      dateCreated: "2025-01-01T00:00:00Z",
      lastModified: "2026-01-01T00:00:00Z",
    };
    expect(await known(on.session)).toMatchObject({ lastReadAt: null });
    await on.session.recordStarted("x1", started("second", facts));
    expect(await known(on.session)).toMatchObject({
      ...facts,
      kind: "credit-card/online",
      lastReadAt: "2026-11-21T10:00:00.000Z",
      unackedStarts: 1,
      failedAttempts: 0,
      lastError: null,
    });
    expect((await known(on.session)).open).toMatchObject({
      id: "x1",
      state: "started",
      baseGeneration: 1,
      newGeneration: 2,
      tokenExpiry: "2026-11-21T10:05:00Z",
      usesRemaining: 3,
      limited: true,
      delivered: false,
    });
    expect(await on.session.refusals()).not.toContain("combination-of-second");
    expect(await on.session.token("x1")).toBe("token-of-second");
  });

  it("② ends every other exchange of the vault: there is never more than one open", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await startExchange(on.session, "x2", 1, "second");
    await startExchange(on.session, "x3", 1, "third");
    const states = (await known(on.session)).exchanges.map((e) => `${e.id} ${e.state}`);
    expect(states).toEqual(["x3 started", "x2 discarded", "x1 discarded"]);
    await expect(on.session.token("x2")).rejects.toMatchObject({ code: "state" });
  });

  it("② returns what is told of what was left: nothing of what is simply begun again", async () => {
    const { session } = on;
    const no = { delivered: false, saveOwed: false };
    const endless = async (id: string): Promise<void> => {
      await session.recordEnding(id, true);
      await session.settle(id, "in-doubt", problem);
    };
    const startAgain = async (id: string, base: number, facts = {}) => {
      await session.recordIntent(intent(id, base));
      return await session.recordStarted(id, started(`of ${id}`, facts));
    };
    const told = (id: string, outcome: string) => ({ exchange: { id }, operation: "get", outcome });
    await startExchange(session, "x1", 1, "second");
    expect(await startAgain("x2", 1)).toBeNull();
    expect(await startAgain("x3", 1, { discardPending: true })).toMatchObject(
      told("x2", "not-applied"),
    );
    await session.hold("x3", "no-ack", no);
    expect(await startAgain("x4", 1)).toMatchObject(told("x3", "not-applied"));
    await endless("x4");
    expect(await startAgain("x5", 1)).toMatchObject(told("x4", "not-applied"));
    await endless("x5");
    const made = (await known(session)).open?.newGeneration ?? 0;
    expect(await startAgain("x6", made)).toMatchObject(told("x5", "acknowledged"));
    await endless("x6");
    const other = { encryptedData: "data of another", payload: "payload of another" };
    const generation = await session.recordPair({
      credentials: other,
      kind: "credit-card/offline",
    });
    expect(await startAgain("x7", generation)).toMatchObject(told("x6", "in-doubt"));
  });

  it("② settles an exchange in doubt by the pair that was accepted", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordEnding("x1", true);
    await on.session.settle("x1", "in-doubt", problem);
    expect(await state()).toBe("in-doubt");
    await startExchange(on.session, "x2", 2, "third");
    await on.session.recordEnding("x2", true);
    await on.session.settle("x2", "in-doubt", problem);
    await startExchange(on.session, "x3", 2, "fourth");
    const states = (await known(on.session)).exchanges.map((e) => `${e.id} ${e.state}`);
    expect(states).toEqual(["x3 started", "x2 expired", "x1 acknowledged"]);
  });

  it("holds with the reason and what is owed, and once delivered stays delivered", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.hold("x1", "save-cmd", { delivered: true, saveOwed: true });
    expect((await known(on.session)).open).toMatchObject({
      state: "held",
      holdReason: "save-cmd",
      delivered: true,
      saveOwed: true,
    });
    await on.session.hold("x1", "no-ack", { delivered: false, saveOwed: false });
    expect((await known(on.session)).open).toMatchObject({
      state: "held",
      holdReason: "no-ack",
      delivered: true,
      saveOwed: false,
    });
    await on.session.recordEnding("x1", false);
    await expect(
      on.session.hold("x1", "no-ack", { delivered: true, saveOwed: false }),
    ).rejects.toMatchObject({ code: "state" });
  });

  it("③ counts each end call, and gives back the one that was answered", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordEnding("x1", false);
    await on.session.recordEnding("x1", true);
    expect((await known(on.session)).open).toMatchObject({
      state: "ending",
      endsUnanswered: 2,
      delivered: true,
    });
    await on.session.settle("x1", "ending", problem);
    expect((await known(on.session)).open).toMatchObject({
      state: "ending",
      endsUnanswered: 1,
      delivered: true,
    });
    expect((await known(on.session)).lastError).toMatchObject(problem);
  });

  it("④ zeroes the starts and erases the token", async () => {
    await on.session.recordIntent(intent("x0", 1));
    await on.session.noteOutcome("x0", "free", problem);
    on.fixture.clock.at += 1000;
    expect(await exchange(on.session, "x1", 1, "second")).toBe(2);
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 0,
      open: null,
      lastError: null,
    });
    expect((await known(on.session)).last).toMatchObject({
      state: "acknowledged",
      acknowledgedAt: "2026-11-21T10:00:01.000Z",
    });
    await expect(on.session.token("x1")).rejects.toMatchObject({ code: "state" });
  });

  it.each([
    ["acknowledge", async () => await on.session.acknowledge("x1")],
    ["settle, expired", async () => await on.session.settle("x1", "expired", problem)],
    ["settle, in doubt", async () => await on.session.settle("x1", "in-doubt", problem)],
    ["settle, ending", async () => await on.session.settle("x1", "ending", problem)],
    ["noteOutcome, free", async () => await on.session.noteOutcome("x1", "free", problem)],
    [
      "noteOutcome, refused",
      async () => await on.session.noteOutcome("x1", "refused", problem, "combination"),
    ],
    ["noteOutcome, none", async () => await on.session.noteOutcome("x1", "none", problem)],
    ["recordStarted", async () => await on.session.recordStarted("x1", started("third"))],
  ])("%s refuses an exchange that is at ②, and changes nothing", async (_, step) => {
    await startExchange(on.session, "x1", 1, "second");
    const before = await known(on.session);
    await expect(step()).rejects.toMatchObject({ code: "state" });
    expect(await known(on.session)).toEqual(before);
  });

  it.each([
    ["recordEnding", async () => await on.session.recordEnding("x1", true)],
    ["noteSaved", async () => await on.session.noteSaved("x1", "of another document")],
    [
      "hold",
      async () => await on.session.hold("x1", "no-ack", { delivered: true, saveOwed: false }),
    ],
    ["settle, expired", async () => await on.session.settle("x1", "expired", problem)],
  ])("%s refuses an exchange that is over, and one that is not there", async (_, step) => {
    await expect(step()).rejects.toMatchObject({ code: "state" });
    await exchange(on.session, "x1", 1, "second");
    const before = await known(on.session);
    await expect(step()).rejects.toMatchObject({ code: "state" });
    expect(await known(on.session)).toEqual(before);
  });

  it("keeps what was done for the next process", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.hold("x1", "no-ack", { delivered: true, saveOwed: false });
    const before = await known(on.session);
    await on.session.release();
    on.session = await on.fixture.another().lock(service, uuid, patient(on.fixture.clock));
    expect(await known(on.session)).toEqual(before);
    expect(await on.session.token("x1")).toBe("token-of-second");
  });
});
