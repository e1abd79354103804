import { expect, it } from "vitest";
import { describeStore } from "./store-contract.ts";
import type { Breaker, Seen, ServiceBreaker } from "../../src/exchange/breaker.ts";
import { after, applyTo, BreakerChanged, closed } from "../../src/exchange/breaker.ts";
import type { Store, VaultSession } from "../../src/exchange/ports.ts";
import {
  eachOn,
  elsewhere,
  held,
  imported,
  intent,
  known,
  pair,
  patient,
  service,
  started,
  uuid,
} from "./store-fixture.ts";

const second = `${uuid.slice(0, -3)}002`;
const opened = async (breaker: ServiceBreaker): Promise<Breaker> =>
  await applyTo(breaker, { type: "lost", at: breaker.now(), startedAt: 1, httpStatus: 503 });
const closing = async (breaker: ServiceBreaker): Promise<Breaker> =>
  await applyTo(breaker, { type: "answered", at: breaker.now() });
const claiming = (breaker: Breaker, at: number): Seen => ({
  at,
  breaker,
  claim: after(breaker, { type: "claimed", at }),
});

/** The circuit breaker: one for a service, for all processes; a trial is claimed with its ①, by one of them. */
describeStore("the circuit breaker", (make) => {
  const on = eachOn(make, imported);
  const here = (): ServiceBreaker => on.fixture.store.breaker(service);
  const counted = async (session: VaultSession): Promise<number> =>
    (await known(session)).unackedStarts;
  const another = async (store: Store): Promise<VaultSession> => {
    const session = await store.lock(service, second, patient(on.fixture.clock));
    await session.recordPair({ credentials: pair("second"), kind: "credit-card/offline" });
    return session;
  };

  it("is closed where nothing has happened, and nothing is written for that", async () => {
    expect(await here().read()).toEqual(closed);
    expect(await on.fixture.store.breakers()).toEqual([]);
    await applyTo(here(), { type: "found", startedAt: 0 });
    expect(await on.fixture.store.breakers()).toEqual([]);
  });

  it("is what another process has made of it, for its service alone; who locks a vault knows it", async () => {
    const there = on.fixture.another();
    const open = await opened(there.breaker(service));
    expect(open).toMatchObject({
      version: 1,
      lostAt: expect.any(Number) as number,
      httpStatus: 503,
    });
    expect(here().known).toEqual(closed);
    expect(await here().read()).toEqual(open);
    expect(here().known).toEqual(open);
    expect(await on.fixture.store.breaker(elsewhere).read()).toEqual(closed);
    await closing(here());
    const session = await another(there);
    await session.read();
    expect(there.breaker(service).known).toMatchObject({
      lostAt: null,
      since: expect.any(Number) as number,
    });
    expect(await there.breakers()).toMatchObject([{ service, version: 2, lostAt: null }]);
    await session.release();
  });

  it("keeps every change, whoever makes them at the same time, and however many races are lost", async () => {
    const both = [here(), on.fixture.another().breaker(service)] as const;
    await opened(here());
    await Promise.all(
      Array.from(
        { length: 60 },
        async (_, n) => await applyTo(both[n % 2 ? 1 : 0], { type: "claimed", at: n }),
      ),
    );
    expect(await here().read()).toMatchObject({ version: 61, lostTrials: 60 });
  });

  it("lets a start out that has seen it closed only while it is; then nothing is recorded", async () => {
    const seen = { at: 0, breaker: here().known, claim: null };
    await on.session.recordIntent(intent("x1", 1, { seen }));
    await opened(on.fixture.another().breaker(service));
    await expect(on.session.recordIntent(intent("x2", 1, { seen }))).rejects.toThrow(
      BreakerChanged,
    );
    expect(await counted(on.session)).toBe(1);
    // The vault is still held, and its next steps are written.
    await closing(here());
    await on.session.recordIntent(
      intent("x2", 1, { seen: { at: 0, breaker: await here().read(), claim: null } }),
    );
    await on.session.recordStarted("x2", started("next"));
    expect(await counted(on.session)).toBe(2);
  });

  it("gives one trial to one of two, and the other one nothing: no start is recorded for it", async () => {
    const there = on.fixture.another();
    const other = await another(there);
    const open = await opened(here());
    await there.breaker(service).read();
    const seen = claiming(open, here().now());
    const outcomes = await Promise.allSettled([
      on.session.recordIntent(intent("x1", 1, { seen })),
      other.recordIntent(intent("y1", 1, { seen })),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
      reason: expect.any(BreakerChanged) as Error,
    });
    expect((await counted(on.session)) + (await counted(other))).toBe(1);
    expect(await here().read()).toMatchObject({ version: 2, lostTrials: 1 });
    await other.release();
  });

  it("gives the probe before it to one of two", async () => {
    const open = await opened(here());
    const probing = after(open, { type: "probing", at: here().now() });
    const both = [here(), on.fixture.another().breaker(service)];
    const done = await Promise.all(both.map(async (one) => await one.replace(open, probing)));
    expect(done.toSorted()).toEqual([false, true]);
    expect(await here().read()).toEqual(probing);
  });

  it("is gone past by force, open or not", async () => {
    await opened(here());
    await on.session.recordIntent(intent("x1", 1, { seen: null }));
    expect(await counted(on.session)).toBe(1);
    expect(await here().read()).toMatchObject({ version: 1 });
  });
});

describeStore("the circuit breaker of a vault that is new", (make) => {
  const on = eachOn(make, held);
  it("needs no vault", async () => {
    await opened(on.fixture.store.breaker(elsewhere));
    expect(await on.fixture.another().breakers()).toMatchObject([{ service: elsewhere }]);
  });
});
