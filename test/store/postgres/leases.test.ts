import type { Holder } from "../../../src/actor.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { VaultSession } from "../../../src/exchange/ports.ts";
import {
  exchange,
  held,
  imported,
  intent,
  known,
  patient,
  service,
  started,
  uuid,
} from "../../contract/store-fixture.ts";
import { sharedState, type SharedState } from "../../support/shared-state.ts";
import { postgres } from "../../support/postgres.ts";
import { tcpProxy, type Cut } from "../../support/proxies.ts";

let state: SharedState;
beforeEach(async () => {
  state = await sharedState();
});

/** The lease of the vault is over, as after a holder that has died or was stopped. */
const expire = async (): Promise<unknown> =>
  await state.sql(`UPDATE schema.vaults SET ends_at = '-infinity'`);

describe("a lease", () => {
  it("says who has it, and since when, to whoever waits for it and to whoever asks", async () => {
    const session = await held(state);
    let told: Holder | undefined;
    const waiting = state
      .another()
      .lock(service, uuid, { ...patient(state.clock, 50), tell: (holder) => (told = holder) });
    await expect(waiting).rejects.toMatchObject({
      code: "busy",
      facts: { by: { host: "here", pid: 0, user: "tester" } },
    });
    expect(told).toMatchObject({
      by: { user: "tester" },
      since: expect.stringMatching(/^20/) as string,
    });
    const [lock] = await state.store.locks();
    expect(Date.parse(lock?.endsAt ?? "") - Date.parse(lock?.since ?? "")).toBeGreaterThanOrEqual(
      15_000,
    );
    await session.release();
  });

  it("that is over goes to the next, and its former holder writes and sends nothing more", async () => {
    const former = await imported(state);
    await former.recordIntent(intent("x1", 1));
    await expire();
    const next = await state.another().lock(service, uuid, patient(state.clock, 0));
    expect(await known(next)).toMatchObject({
      unackedStarts: 1,
      possiblyFailed: 1,
      last: { id: "x1", state: "intent" },
    });
    await expect(former.recordStarted("x1", started("lost"))).rejects.toMatchObject({
      code: "busy",
      exitCode: 15,
      retry: "after-status",
    });
    await former.release();
    expect(await state.store.locks()).toHaveLength(1);
    await exchange(next, "x2", 1, "second");
    await next.release();
  });

  it("that ends further ahead than a lease lasts, by a database's clock that was set back, is void", async () => {
    const former = await imported(state);
    await former.recordIntent(intent("x1", 1));
    await state.sql("UPDATE schema.vaults SET ends_at = ends_at + interval '1 hour'");
    expect(await state.store.locks()).toEqual([]);
    const next = await state.another().lock(service, uuid, patient(state.clock, 0));
    await expect(former.recordStarted("x1", started("lost"))).rejects.toMatchObject({
      code: "busy",
    });
    await exchange(next, "x2", 1, "second");
    await next.release();
  });

  it("of a holder that lives counts again from its next step, when the database's clock was set back", async () => {
    const session = await imported(state);
    await state.sql("UPDATE schema.vaults SET ends_at = ends_at + interval '1 hour'");
    await session.recordIntent(intent("x1", 1));
    expect(await state.store.locks()).toHaveLength(1);
    await expect(
      state.another().lock(service, uuid, patient(state.clock, 0)),
    ).rejects.toMatchObject({ code: "busy" });
    await session.release();
  });

  it("ends with the acknowledgement after which nothing follows", async () => {
    const session = await imported(state);
    await session.recordIntent(intent("x1", 1));
    await session.recordStarted("x1", started("second"));
    await session.recordEnding("x1", true);
    await session.acknowledge("x1", true);
    expect(await known(session)).toMatchObject({ open: null, last: { state: "acknowledged" } });
    const next = await state.another().lock(service, uuid, patient(state.clock, 0));
    expect(await known(next)).toMatchObject({ open: null, last: { state: "acknowledged" } });
    await session.release();
    expect(await state.store.locks()).toHaveLength(1);
    await expect(session.forget()).rejects.toMatchObject({ code: "internal" });
  });

  it("is enough to send a request for ten seconds, by the clock that says the most, and is renewed then", async () => {
    const session = await held(state);
    await session.ensureHeld();
    state.clock.at += 11_000;
    await session.ensureHeld();
    await state.sql("UPDATE schema.vaults SET epoch = gen_random_uuid()");
    await session.ensureHeld();
    state.clock.at += 11_000;
    await expect(session.ensureHeld()).rejects.toMatchObject({ code: "busy" });
  });
});

/** Each step of an exchange that holds a vault from its import on. */
const steps: ((session: VaultSession) => Promise<unknown>)[] = [
  async (session) => await session.recordIntent(intent("x1", 1)),
  async (session) => await session.recordStarted("x1", started("second")),
  async (session) => await session.recordEnding("x1", true),
  async (session) => await session.acknowledge("x1", true),
];

describe.each(["before", "after"] as const)(
  "a connection that is cut %s the server has it",
  (cut: Cut) => {
    it("at each step of an exchange: it is done once", async () => {
      const proxy = await tcpProxy(await postgres());
      for (const [index] of steps.entries()) {
        const own = await sharedState();
        const session = await own.through(proxy.port).lock(service, uuid, patient(own.clock));
        await session.recordPair({
          credentials: { encryptedData: "data", payload: "payload" },
          kind: "generic/offline",
        });
        for (const [n, step] of steps.entries()) {
          if (n === index) proxy.cutAt(1, cut);
          await step(session);
        }
        expect(await known(session)).toMatchObject({
          unackedStarts: 0,
          failedAttempts: 0,
          last: { id: "x1", state: "acknowledged" },
        });
        await session.release();
        const again = await own.another().lock(service, uuid, patient(own.clock, 0));
        const { generations, last } = await known(again);
        expect(generations.map(({ generation, standing }) => `${generation} ${standing}`)).toEqual([
          "2 current",
          "1 superseded",
        ]);
        expect(last).toMatchObject({ state: "acknowledged", endsUnanswered: 1 });
        const journal = await own.sql("SELECT event FROM schema.journal ORDER BY seq");
        expect(journal.map(({ event }) => event)).toEqual([
          "imported",
          "intent",
          "started",
          "ending",
          "acknowledged",
        ]);
      }
    });

    it("while a vault is being held: it is held once, and by this process", async () => {
      const proxy = await tcpProxy(await postgres());
      for (let n = 1; n <= 6; n += 1) {
        const own = await sharedState();
        const store = own.through(proxy.port);
        proxy.cutAt(n, cut);
        const session = await store
          .lock(service, uuid, patient(own.clock, 5000))
          .catch((error: unknown) => error);
        if (session instanceof Error) expect(session).toMatchObject({ code: "state" });
        else expect(await own.store.locks()).toHaveLength(1);
      }
    });
  },
);

it("a key that was replaced in the middle of an exchange: nothing more is written", async () => {
  const session = await imported(state);
  await session.recordIntent(intent("x1", 1));
  await state.sql("UPDATE schema.meta SET value = 'another' WHERE name = 'key'");
  await expect(session.recordStarted("x1", started("lost"))).rejects.toMatchObject({
    code: "state",
    exitCode: 14,
    message: expect.stringContaining("key of the state was replaced") as string,
  });
  await session.release();
});

it("the journal is pruned when a vault is held, with what runs have begun: what is older than 400 days", async () => {
  const session = await imported(state);
  await exchange(session, "x1", 1, "second");
  await exchange(session, "x2", 2, "third");
  await session.release();
  await state.sql("UPDATE schema.journal SET at = '2020-01-01T00:00:00.000Z'");
  const begun =
    "INSERT INTO schema.runs SELECT 's', $run$r$run$, 'u', exchange, 'get', 'acknowledged', 1 FROM";
  await state.sql(`${begun} (VALUES ('01DX0000000000000000000000')) AS before (exchange)`);
  await state.sql(
    `${begun.replace("'u'", "'v'")} (VALUES ('01Z00000000000000000000000')) AS after (exchange)`,
  );
  await (await held(state)).release();
  expect(await state.sql("SELECT event FROM schema.journal")).toEqual([]);
  expect(await state.sql("SELECT uuid FROM schema.runs")).toEqual([{ uuid: "v" }]);
});
