import { expect, it } from "vitest";
import { describeStore } from "./store-contract.ts";
import {
  eachOn,
  elsewhere,
  exchange,
  held,
  imported,
  intent,
  lower,
  pair,
  problem,
  service,
  started,
  uuid,
} from "./store-fixture.ts";

const other = "AAAAAAAA-bbbb-4ccc-8ddd-000000000002";

/** What a command with many vaults reads of all of them, and what it leaves for its repetition. */
describeStore("runs of many vaults", (make) => {
  const on = eachOn(make, imported);
  const runOf = async (run: string, id?: string) =>
    await on.fixture.another().run(service, run, id);

  it("sums up each vault of the service, without its exchanges", async () => {
    const session = await held(on.fixture, other);
    await session.recordPair({
      credentials: pair("other"),
      kind: "credit-card/offline",
      label: "Ada",
    });
    await session.recordIntent(intent("01A", 1));
    await session.recordStarted("01A", started("next", { limited: true }));
    await session.hold("01A", "delivery", { delivered: false, saveOwed: true });
    await session.release();
    const far = await held(on.fixture, other.replace(/2$/, "3"), elsewhere);
    await far.recordPair({ credentials: pair("far"), kind: "generic/offline" });
    await far.release();
    await on.session.recordIntent(intent("01B", 1));
    await on.session.noteOutcome("01B", "no-starts", { ...problem, code: "locked" });
    const counts = {
      unackedStarts: 0,
      unansweredStarts: 0,
      failedAttempts: 0,
      possiblyFailed: 0,
    };
    const known = {
      label: null,
      kind: "credit-card/offline",
      limited: false,
      generations: [{ proven: false, device: null }],
      lastError: null,
      open: null,
      exchanges: [],
      ...counts,
    };
    expect(await on.fixture.another().known(service)).toMatchObject([
      {
        ...known,
        uuid: other.toLowerCase(),
        label: "Ada",
        limited: true,
        unackedStarts: 1,
        generations: [false, true].map((proven) => ({ proven, device: null })),
        open: expect.objectContaining({ id: "01A", state: "held", saveOwed: true }) as unknown,
      },
      {
        ...known,
        uuid: lower,
        lastError: { code: "locked" },
      },
    ]);
  });

  it("leaves out what was forgotten", async () => {
    await on.session.forget();
    expect(await on.fixture.another().known(service)).toEqual([]);
  });

  it("finds the newest exchange of each vault that a run began", async () => {
    await on.session.recordIntent(intent("01A", 1, { run: { name: "may" } }));
    expect(await runOf("may")).toEqual([
      {
        id: "01A",
        uuid: lower,
        operation: "get",
        state: "intent",
        delivered: false,
        digest: null,
        delivery: null,
      },
    ]);
    await on.session.recordStarted("01A", started("second"));
    await on.session.recordEnding("01A", true);
    await on.session.acknowledge("01A");
    await exchange(on.session, "01B", 2, "third");
    const [done] = await runOf("may", uuid);
    expect(done).toMatchObject({ state: "acknowledged", delivered: true });
    await on.session.recordIntent(intent("01C", 3, { run: { name: "july" } }));
    expect(await runOf("may")).toEqual([done]);
    expect(await runOf("july")).toMatchObject([{ state: "intent" }]);
    expect(await runOf("may", other)).toEqual([]);
    expect(await runOf("june")).toEqual([]);
    expect(await on.fixture.another().run(elsewhere, "may")).toEqual([]);
  });

  it("keeps what was to be sent as a sealed digest", async () => {
    await on.session.recordIntent(
      intent("01A", 1, { operation: "update", run: { name: "may", digest: "abc" } }),
    );
    await on.session.noteOutcome("01A", "free", problem);
    await on.session.recordIntent(
      intent("01B", 1, { operation: "update", run: { name: "may", digest: "def" } }),
    );
    expect(await runOf("may")).toEqual([
      {
        id: "01B",
        uuid: lower,
        operation: "update",
        state: "intent",
        delivered: false,
        digest: "def",
        delivery: null,
      },
    ]);
  });
});
