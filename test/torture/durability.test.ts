import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { VaultSession } from "../../src/exchange/ports.ts";
import { held, intent, known, patient, service, uuid } from "../contract/store-fixture.ts";
import { setStandbys, sharedState, type SharedState } from "../support/shared-state.ts";
import { postgres } from "../support/postgres.ts";
import { tcpProxy } from "../support/proxies.ts";

let state: SharedState;
beforeEach(async () => {
  state = await sharedState();
});
afterEach(async () => {
  await setStandbys(state.sql, "");
  await state.sql("ALTER ROLE postgres RESET ALL");
});

const pair = {
  credentials: { encryptedData: "data", payload: "payload" },
  kind: "generic/offline",
} as const;

/** Waits until a connection waits for a standby (or for a lock), and does something to it; returns its process. */
async function toWaiting(
  what: string,
  except = 0,
  event = "wait_event = 'SyncRep'",
): Promise<number> {
  const sql = `SELECT pid, ${what} AS done FROM pg_stat_activity WHERE ${event} AND pid <> ${except}`;
  let pid = 0;
  const found = async (): Promise<number> =>
    (pid = ((await state.sql(sql))[0]?.["pid"] as number | undefined) ?? 0);
  await expect.poll(found, { timeout: 20_000 }).toBeGreaterThan(0);
  return pid;
}

/** A vault that is held and has a pair, while commits begin to wait for a standby that is not there. */
async function withoutStandby(session: Promise<VaultSession>): Promise<VaultSession> {
  const ready = await session;
  await ready.recordPair(pair);
  await setStandbys(state.sql, "nowhere");
  return ready;
}

const maybe = {
  code: "state",
  message: expect.stringMatching(/a commit may not be durable/) as string,
};

describe("a commit that waits for a standby", () => {
  it("is not taken for done when the wait is canceled", async () => {
    const session = await withoutStandby(held(state));
    const step = expect(session.recordIntent(intent("x1", 1))).rejects.toMatchObject(maybe);
    await toWaiting("pg_cancel_backend(pid)");
    await step;
  });

  it("is not taken for done when the wait is canceled, and the role wants no warnings", async () => {
    await state.sql("ALTER ROLE postgres SET client_min_messages = error");
    const session = await withoutStandby(state.another().lock(service, uuid, patient(state.clock)));
    const step = expect(session.recordIntent(intent("x1", 1))).rejects.toMatchObject(maybe);
    await toWaiting("pg_cancel_backend(pid)");
    await step;
  });

  it("is not taken for done when its connection is ended, and the wait of the look-up is canceled", async () => {
    const session = await withoutStandby(held(state));
    const step = expect(session.recordIntent(intent("x1", 1))).rejects.toMatchObject(maybe);
    const first = await toWaiting("pg_terminate_backend(pid)");
    await toWaiting("pg_cancel_backend(pid)", first);
    await step;
  });

  it("is not taken for done, nor for undone, when nobody answers in time", async () => {
    const store = state.through(Number(new URL(state.location).port), 500);
    const session = await withoutStandby(store.lock(service, uuid, patient(state.clock)));
    await expect(session.recordIntent(intent("x1", 1))).rejects.toMatchObject({
      code: "state",
      retry: "safe",
      message: expect.stringMatching(/no answer in time/) as string,
    });
    await setStandbys(state.sql, "");
    await state.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
    );
    await state.sql(`UPDATE schema.vaults SET ends_at = '-infinity'`);
    const next = await state.another().lock(service, uuid, patient(state.clock, 5000));
    expect(await known(next)).toMatchObject({
      unackedStarts: 1,
      last: { id: "x1", state: "intent" },
    });
    await next.release();
  });

  it("is looked up when its connection is cut: once the standby is there, it was done, and once", async () => {
    const proxy = await tcpProxy(await postgres());
    const session = await withoutStandby(
      state.through(proxy.port).lock(service, uuid, patient(state.clock)),
    );
    const step = session.recordIntent(intent("x1", 1));
    await toWaiting("0");
    proxy.end();
    await toWaiting("0", 0, "wait_event_type = 'Lock'");
    await setStandbys(state.sql, "");
    await step;
    expect(await known(session)).toMatchObject({
      unackedStarts: 1,
      last: { id: "x1", state: "intent" },
    });
    const journal = await state.sql("SELECT event FROM schema.journal ORDER BY seq");
    expect(journal.map(({ event }) => event)).toEqual(["imported", "intent"]);
    await session.release();
  });
});

it("a server that is silent is given up within the patience, and a query asked again by another connection", async () => {
  const proxy = await tcpProxy(await postgres());
  const message = expect.stringMatching(/timeout expired/) as string;
  for (const n of [1, 2]) {
    proxy.cutAt(n, "stalled");
    await expect(state.through(proxy.port, 300).list()).rejects.toMatchObject({
      code: "state",
      retry: "safe",
      message,
    });
  }
  proxy.cutAt(3, "stalled");
  expect(await state.through(proxy.port, 300).list()).toEqual([]);
});
