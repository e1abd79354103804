import { beforeEach, expect, it } from "vitest";
import { describeStore } from "./store-contract.ts";
import type { Holder } from "../../src/actor.ts";
import type { StoreFixture } from "./store-fixture.ts";
import { held, intent, known, pair, patient, service, uuid, eachOn } from "./store-fixture.ts";

const other = (n: number): string => `${uuid.slice(0, -3)}${String(n).padStart(3, "0")}`;

/** One holder at a time, and one queue for the rate limit. */
describeStore("holding a vault", (make) => {
  const on = eachOn(make, held);
  it.each(["the same process", "another process"])(
    "excludes %s, whatever the letter case",
    async (who) => {
      const store = who === "another process" ? on.fixture.another() : on.fixture.store;
      for (const id of [uuid, uuid.toLowerCase()]) {
        const told: Holder[] = [];
        const tell = (holder: Holder): void => void told.push(holder);
        const by = { pid: expect.any(Number) as number };
        await expect(
          store.lock(service, id, { ...patient(on.fixture.clock, 500), tell }),
        ).rejects.toMatchObject({ code: "busy", facts: { uuid: uuid.toLowerCase(), by } });
        expect(told.at(-1)).toMatchObject({ by });
      }
    },
  );

  it("waits with growing, bounded pauses until the deadline, and not beyond it", async () => {
    const { clock } = on.fixture;
    const deadline = clock.elapsed() + 2000;
    await expect(
      on.fixture.another().lock(service, uuid, patient(clock, 2000)),
    ).rejects.toMatchObject({ code: "busy" });
    expect(clock.elapsed()).toBeCloseTo(deadline, 3);
    expect(Math.max(...clock.slept)).toBeLessThanOrEqual(100);
    expect(clock.slept[0]).toBeLessThanOrEqual(10);
    expect(clock.slept.length).toBeGreaterThan(15);
  });

  it("tries once even if the deadline has passed", async () => {
    await on.session.release();
    on.session = await on.fixture.another().lock(service, uuid, patient(on.fixture.clock, -1));
    expect(on.fixture.clock.slept).toEqual([]);
  });

  it("goes on as soon as the holder lets go, with what it did", async () => {
    await on.session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    let sleeps = 0;
    on.fixture.clock.meanwhile = async () => {
      sleeps += 1;
      if (sleeps === 3) await on.session.release();
    };
    const next = await on.fixture.another().lock(service, uuid, patient(on.fixture.clock, 10_000));
    expect(sleeps).toBe(3);
    expect((await known(next)).generations.length).toBe(1);
    await next.release();
  });

  it("waits no longer where the system's clock is set back meanwhile", async () => {
    const { clock } = on.fixture;
    const before = clock.elapsed();
    clock.meanwhile = () => void (clock.at -= 3_600_000);
    await expect(
      on.fixture.another().lock(service, uuid, patient(clock, 5000)),
    ).rejects.toMatchObject({ code: "busy" });
    expect(clock.elapsed() - before).toBeCloseTo(5000, 3);
    await on.session.release();
  });

  it("stops waiting when interrupted", async () => {
    const controller = new AbortController();
    const waiting = { deadline: on.fixture.clock.elapsed() + 10_000, signal: controller.signal };
    on.fixture.clock.meanwhile = () => controller.abort();
    const interrupted = { code: "interrupted", message: "interrupted; nothing was sent" };
    await expect(on.fixture.another().lock(service, uuid, waiting)).rejects.toMatchObject(
      interrupted,
    );
    await on.session.release();
    // Nobody was waited for.
    await expect(on.fixture.store.lock(service, uuid, waiting)).rejects.toMatchObject(interrupted);
  });

  it("holds many vaults in one process at once, each of them against others", async () => {
    const sessions = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => await held(on.fixture, other(n + 10))),
    );
    const rival = on.fixture.another();
    await expect(
      rival.lock(service, other(77), patient(on.fixture.clock, 100)),
    ).rejects.toMatchObject({ code: "busy" });
    await Promise.all(
      sessions.map(
        async (s) => await s.recordPair({ credentials: pair("first"), kind: "generic/offline" }),
      ),
    );
    await Promise.all(sessions.map(async (s) => await s.recordIntent(intent("x1", 1))));
    expect((await on.fixture.store.list()).length).toBe(200);
    await Promise.all(sessions.map(async (s) => await s.release()));
    await (await rival.lock(service, other(77), patient(on.fixture.clock))).release();
  });

  it("keeps nobody from any other vault", async () => {
    const rival = on.fixture.another();
    for (let n = 10; n < 110; n += 1)
      await (await rival.lock(service, other(n), patient(on.fixture.clock, 0))).release();
    expect(on.fixture.clock.slept).toEqual([]);
  });

  it("is seen by others, who has it and since when, and keeps nobody waiting who looks", async () => {
    const since = new Date(on.fixture.clock.now()).toISOString();
    await (await held(on.fixture, other(2))).release();
    for (const store of [on.fixture.store, on.fixture.another()]) {
      const seen = await store.locks();
      expect(seen).toMatchObject([
        { uuid: uuid.toLowerCase(), holder: { pid: expect.any(Number) as number } },
      ]);
      if (!store.isShared) expect(seen[0]?.since).toBe(since);
    }
    on.fixture.clock.at += 1;
    const more = await held(on.fixture, other(3));
    const both = [uuid, other(3)].map((id) => id.toLowerCase());
    expect((await on.fixture.another().locks()).map((lock) => lock.uuid)).toEqual(both);
    await more.release();
    await on.session.release();
    expect(await on.fixture.another().locks()).toEqual([]);
    on.session = await held(on.fixture);
  });

  it("letting go twice lets go once, and nothing is written after it", async () => {
    await on.session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    await on.session.release();
    const next = await held(on.fixture);
    await on.session.release();
    await expect(
      on.fixture.store.lock(service, uuid, patient(on.fixture.clock, 100)),
    ).rejects.toMatchObject({ code: "busy" });
    await expect(on.session.recordIntent(intent("x1", 1))).rejects.toMatchObject({
      code: "internal",
    });
    await next.release();
  });
});

describeStore("the rate limit", (make) => {
  let fixture: StoreFixture;
  beforeEach(async () => {
    fixture = await make();
  });

  /** Milliseconds to a slot; the clock of a database goes on meanwhile. */
  const about = (ms: number): unknown =>
    expect.toSatisfy((wait: number) => wait <= ms && wait > ms - 30_000, `about ${ms}`);

  it("gives out one slot an interval, over all processes, and none before its time", async () => {
    const another = fixture.another();
    expect(await fixture.store.reserveSlot("app", 40_000)).toBe(0);
    expect(await another.reserveSlot("app", 40_000)).toEqual(about(40_000));
    expect(await another.reserveSlot("app", 40_000, 60_000)).toEqual(about(80_000));
    await fixture.pass(10_000);
    expect(await fixture.store.reserveSlot("app", 40_000)).toEqual(about(70_000));
    await fixture.pass(1_000_000);
    expect(await another.reserveSlot("app", 40_000)).toBe(0);
    await fixture.pass(10_000);
    expect(await another.reserveSlot("app", 40_000)).toEqual(about(30_000));
  });

  it("has a queue for each application, and none without a limit", async () => {
    expect(await fixture.store.reserveSlot("app", 40_000)).toBe(0);
    expect(await fixture.store.reserveSlot("other", 40_000)).toBe(0);
    expect(await fixture.store.reserveSlot("app", 0)).toBe(0);
    expect(await fixture.store.reserveSlot("app", 40_000)).toEqual(about(40_000));
  });

  it("lets a queue grow as long as it must, and starts anew when the clock was set back", async () => {
    for (let n = 0; n < 100; n += 1)
      expect(await fixture.store.reserveSlot("app", 40_000)).toEqual(about(n * 40_000));
    await fixture.pass(-80_000);
    expect(await fixture.store.reserveSlot("app", 40_000)).toBe(0);
  });
});
