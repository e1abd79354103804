import { expect, it } from "vitest";
import { describeStore } from "./store-contract.ts";
import {
  elsewhere,
  exchange,
  held,
  imported,
  intent,
  known,
  pair,
  problem,
  standings,
  started,
  startExchange,
  uuid,
  eachOn,
  holdAgain,
} from "./store-fixture.ts";
import { device } from "../support/examples.ts";

/** Which pairs are kept, in which standing, and which are never sent again. */
describeStore("pairs", (make) => {
  const on = eachOn(make, imported);
  it("② proves the old pair and offers the new one; ④ supersedes the old one", async () => {
    await startExchange(on.session, "x1", 1, "second");
    expect(await standings(on.session)).toEqual(["2 offered", "1 current"]);
    expect((await known(on.session)).generations.map((g) => g.proven)).toEqual([false, true]);
    expect(await on.session.isSuperseded(pair("first"))).toBe(false);
    await on.session.recordEnding("x1", true);
    expect(await standings(on.session)).toEqual(["2 offered", "1 current"]);
    await on.session.acknowledge("x1");
    expect(await standings(on.session)).toEqual(["2 current", "1 superseded"]);
    expect((await known(on.session)).generations.map((g) => g.proven)).toEqual([true, true]);
    expect(await on.session.isSuperseded(pair("first"))).toBe(true);
    expect(await on.session.isSuperseded(pair("second"))).toBe(false);
    expect(await on.session.credentials(1)).toEqual(pair("first"));
    expect(await on.session.credentials(2)).toEqual(pair("second"));
  });

  it("④ supersedes the old pair under every generation: imported again with a hashedPin, too", async () => {
    await startExchange(on.session, "x1", 1, "second");
    const credentials = { ...pair("first"), hashedPin: "cGlu" };
    await on.session.recordPair({ credentials, kind: "credit-card/offline" });
    await on.session.recordEnding("x1", true);
    await on.session.acknowledge("x1");
    expect(await standings(on.session)).toEqual(["3 superseded", "2 current", "1 superseded"]);
  });

  it("a refusal supersedes nothing", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await on.session.noteOutcome("x1", "refused", problem, "combination");
    expect(await standings(on.session)).toEqual(["1 imported"]);
    expect(await on.session.isSuperseded(pair("first"))).toBe(false);
  });

  it("a new import stands beside the current pair until a start with it succeeds", async () => {
    await exchange(on.session, "x1", 1, "second");
    expect(
      await on.session.recordPair({ credentials: pair("given"), kind: "credit-card/offline" }),
    ).toBe(3);
    expect(await standings(on.session)).toEqual(["3 imported", "2 current", "1 superseded"]);
    expect(await on.session.isSuperseded(pair("second"))).toBe(false);
    await startExchange(on.session, "x2", 3, "fourth");
    expect(await standings(on.session)).toEqual([
      "4 offered",
      "3 current",
      "2 superseded",
      "1 superseded",
    ]);
    expect(await on.session.isSuperseded(pair("second"))).toBe(true);
  });

  it("the success of the current pair supersedes an import and the offer of an expired exchange", async () => {
    await exchange(on.session, "x1", 1, "second");
    await startExchange(on.session, "x2", 2, "dropped");
    await on.session.recordEnding("x2", true);
    await on.session.settle("x2", "expired", problem);
    await on.session.recordPair({ credentials: pair("given"), kind: "credit-card/offline" });
    expect(await standings(on.session)).toEqual([
      "4 imported",
      "3 void",
      "2 current",
      "1 superseded",
    ]);
    expect(await on.session.isSuperseded(pair("dropped"))).toBe(false);
    await startExchange(on.session, "x3", 2, "fifth");
    expect(await standings(on.session)).toEqual([
      "5 offered",
      "4 superseded",
      "3 superseded",
      "2 current",
      "1 superseded",
    ]);
    expect(await on.session.isSuperseded(pair("dropped"))).toBe(true);
    expect(await on.session.isSuperseded(pair("given"))).toBe(true);
  });

  it("an expired exchange leaves the old pair current and the new one void", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordEnding("x1", true);
    await on.session.settle("x1", "expired", problem);
    expect(await standings(on.session)).toEqual(["2 void", "1 current"]);
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 1,
      open: null,
      last: { state: "expired" },
    });
    expect(await on.session.credentials(2)).toEqual(pair("second"));
  });

  it("in doubt both pairs live; the accepted one wins", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordEnding("x1", true);
    await on.session.settle("x1", "in-doubt", problem);
    expect(await standings(on.session)).toEqual(["2 offered", "1 current"]);
    await startExchange(on.session, "x2", 2, "third");
    expect(await standings(on.session)).toEqual(["3 offered", "2 current", "1 superseded"]);
  });

  it("a pair that is kept twice is refused twice", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordEnding("x1", true);
    await on.session.settle("x1", "expired", problem);
    await on.session.recordPair({ credentials: pair("second"), kind: "credit-card/offline" });
    for (const [id, generation] of [
      ["x2", 3],
      ["x3", 1],
    ] as const) {
      await on.session.recordIntent(intent(id, generation));
      await on.session.noteOutcome(id, "refused", problem, `combination ${id}`);
    }
    expect(await standings(on.session)).toEqual(["3 imported", "2 offered", "1 current"]);
    const { generations } = await known(on.session);
    expect(generations.map(({ refused }) => refused)).toEqual([true, true, true]);
  });

  it("in doubt can end as expired too", async () => {
    await startExchange(on.session, "x1", 1, "second");
    await on.session.recordEnding("x1", true);
    await on.session.settle("x1", "in-doubt", problem);
    await on.session.settle("x1", "expired", problem);
    expect(await standings(on.session)).toEqual(["2 void", "1 current"]);
  });

  it("a superseded pair that is handed out again lives again", async () => {
    await exchange(on.session, "x1", 1, "second");
    expect(await on.session.isSuperseded(pair("first"))).toBe(true);
    await startExchange(on.session, "x2", 2, "first");
    expect(await on.session.isSuperseded(pair("first"))).toBe(false);
    await on.session.recordEnding("x2", true);
    await on.session.acknowledge("x2");
    expect(await on.session.isSuperseded(pair("first"))).toBe(false);
    expect(await on.session.isSuperseded(pair("second"))).toBe(true);
  });

  it("the same pair handed out again does not die", async () => {
    await exchange(on.session, "x1", 1, "first");
    expect(await standings(on.session)).toEqual(["2 current", "1 superseded"]);
    expect(await on.session.isSuperseded(pair("first"))).toBe(false);
  });

  it("a pair of long ago that is handed out again lives again", async () => {
    for (let n = 1; n <= 7; n += 1) await exchange(on.session, `x${n}`, n, `number-${n}`);
    await holdAgain(on);
    await exchange(on.session, "x8", 8, "first");
    expect(await on.session.isSuperseded(pair("first"))).toBe(false);
    expect(await on.session.isSuperseded(pair("number-1"))).toBe(true);
  });

  it("an older pair that a start has proven takes the place of the current one", async () => {
    await exchange(on.session, "x1", 1, "second");
    await startExchange(on.session, "x2", 1, "third");
    expect(await standings(on.session)).toEqual(["3 offered", "2 superseded", "1 current"]);
  });

  it("a superseded pair is never recorded as a new one", async () => {
    await exchange(on.session, "x1", 1, "second");
    const before = await known(on.session);
    const again = { credentials: pair("first"), kind: "generic/offline", label: "Ada" } as const;
    await expect(on.session.recordPair(again)).rejects.toMatchObject({ code: "no-credentials" });
    expect(await known(on.session)).toEqual(before);
  });

  it("keeps the last five superseded pairs, and every fingerprint for ever", async () => {
    for (let n = 1; n <= 8; n += 1) await exchange(on.session, `x${n}`, n, `pair-${n + 1}`);
    expect(await standings(on.session)).toEqual([
      "9 current",
      "8 superseded",
      "7 superseded",
      "6 superseded",
      "5 superseded",
      "4 superseded",
    ]);
    expect(await on.session.credentials(4)).toEqual(pair("pair-4"));
    await expect(on.session.credentials(3)).rejects.toMatchObject({ code: "state" });
    for (const old of ["first", "pair-2", "pair-3", "pair-8"])
      expect(await on.session.isSuperseded(pair(old))).toBe(true);
  });

  it("a pair that is recorded and live is the same generation, brought up to date", async () => {
    const again = {
      credentials: { ...pair("first"), hashedPin: "cGlu" },
      kind: "credit-card/online" as const,
      device,
      label: "Ada",
    };
    expect(await on.session.recordPair(again)).toBe(1);
    expect(await on.session.credentials(1)).toEqual(again.credentials);
    expect(await known(on.session)).toMatchObject({
      kind: "credit-card/online",
      label: "Ada",
      generations: [{ generation: 1, device }],
    });
    expect(
      await on.session.recordPair({ credentials: pair("first"), kind: "credit-card/online" }),
    ).toBe(1);
    expect(await on.session.credentials(1)).toEqual(again.credentials);
    expect(await known(on.session)).toMatchObject({
      label: "Ada",
      generations: [{ generation: 1, device }],
    });
  });

  it("hashedPin and device go from pair to pair, unless others were accepted", async () => {
    await on.session.recordPair({
      credentials: { ...pair("first"), hashedPin: "cGlu" },
      kind: "credit-card/online",
      device,
    });
    await startExchange(on.session, "x1", 1, "second");
    expect(await on.session.credentials(2)).toEqual({ ...pair("second"), hashedPin: "cGlu" });
    await on.session.recordEnding("x1", true);
    await on.session.acknowledge("x1");
    const newer = { ...device, browserVersion: "129.0" };
    await on.session.recordIntent(intent("x2", 2));
    await on.session.recordStarted("x2", started("third", { hashedPin: "bmV3", device: newer }));
    expect(await on.session.credentials(3)).toEqual({ ...pair("third"), hashedPin: "bmV3" });
    expect(await on.session.credentials(2)).toEqual({ ...pair("second"), hashedPin: "bmV3" });
    expect((await known(on.session)).generations.map((g) => g.device)).toEqual([
      newer,
      newer,
      device,
    ]);
    expect(
      await on.session.recordPair({ credentials: pair("given"), kind: "credit-card/online" }),
    ).toBe(4);
    expect(await on.session.credentials(4)).toEqual({ ...pair("given"), hashedPin: "bmV3" });
  });

  it("fingerprints depend on vault and pair alone", async () => {
    const [generation] = (await known(on.session)).generations;
    // Worked out by hand: SHA-256 over each text behind its length.
    expect(generation?.fingerprint).toBe(
      "5910a31aa18a0f624153db41b825150ff54d5e2607d27683c4df489091a009e4",
    );
    const same = await held(on.fixture, uuid.replace(/1$/, "2"));
    await same.recordPair({ credentials: pair("first"), kind: "credit-card/offline" });
    expect((await known(same)).generations[0]?.fingerprint).not.toBe(generation?.fingerprint);
    expect(await same.isSuperseded(pair("first"))).toBe(false);
    await same.release();
  });

  it("keeps vaults of the same uuid at two services apart", async () => {
    await on.session.release();
    on.session = await held(on.fixture, uuid, elsewhere);
    expect(await on.session.read()).toBeNull();
    expect(await on.session.isSuperseded(pair("first"))).toBe(false);
    await expect(on.session.credentials(1)).rejects.toMatchObject({ code: "no-credentials" });
    await expect(on.session.recordIntent(intent("x1", 1))).rejects.toMatchObject({
      code: "no-credentials",
    });
    await on.session.recordPair({ credentials: pair("other"), kind: "generic/offline" });
    expect((await on.fixture.store.find(uuid)).map((v) => v.service)).toEqual([
      elsewhere,
      "https://vault.example/vaultsvc/v1-2",
    ]);
  });
});
