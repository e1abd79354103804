import { actorOf } from "../../src/actor.ts";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaults } from "../../src/protocol/limits.ts";
import { openService } from "../../src/service/client.ts";
import { traced } from "../../src/service/trace.ts";
import { SqliteState } from "../../src/store/sqlite/store.ts";
import { offlineNote, openLab } from "../support/lab.ts";
import type { Service } from "../../src/exchange/ports.ts";
import { Dice } from "../support/dice.ts";
import { fakeHost } from "../support/fake-host.ts";
import { readWith, realClock } from "../support/in-process.ts";
import { tempDir } from "../support/cleanup.ts";
import { endCall, httpServer, json, never, startCall, success } from "../support/servers.ts";
import { application } from "../support/examples.ts";

const { apiPrefix } = defaults;
const clock = realClock;
const nothing = (): undefined => undefined;
const noLimit = { rate: 0, clock, reserveSlot: async () => Promise.resolve(0) };

describe("several exchanges at a time", () => {
  test("each call has a connection that no other one is using, and the next calls use the same", async () => {
    let arrived = 0;
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const server = await httpServer((...given) => {
      if ((arrived += 1) === 3) resolve();
      void all.then(() => json(200, success)(...given));
    });
    const clients = openService({
      service: `${server.url}${apiPrefix}`,
      application,
      version: "test",
      timeoutMs: 5000,
      limit: noLimit,
    });
    const three = [1, 2, 3].map(() => clients({ learnSecret: nothing }));
    await Promise.all(three.map(async (client) => await client.call(startCall, never)));
    expect(server.connections.length).toBe(3);
    await Promise.all(three.map(async (client) => await client.call(endCall, never)));
    for (const client of three) await client.call(endCall, never);
    expect(server.connections.length).toBe(3);
    expect(server.requests.length).toBe(9);
  });

  test("each learns its own secrets, and --debug counts the calls of all", async () => {
    const server = await httpServer(
      json(200, { ...success, vault: { credentials: { payload: "of-the-answer" } } }),
    );
    const calls: number[] = [];
    const target = {
      service: `${server.url}${apiPrefix}`,
      application,
      version: "test",
      timeoutMs: 5000,
    };
    const shown = traced(
      target,
      ({ call }) => calls.push(Number(call)),
      () => 0,
    );
    const clients = openService({ ...target, limit: noLimit, shown });
    const [one, two] = [new Set<string>(), new Set<string>()];
    await clients({ learnSecret: (secret) => one.add(secret) }).call(startCall, never);
    await clients({ learnSecret: (secret) => two.add(secret) }).call(endCall, never);
    expect([...one]).toEqual(
      expect.arrayContaining([startCall.credentials.payload, "of-the-answer"]),
    );
    expect(two).toContain(endCall.token);
    expect(two).not.toContain(startCall.credentials.payload);
    expect(calls).toEqual([1, 1, 2, 2]);
  });

  test("64 vaults at a time are read at the rate of the service, which refuses not one call", async () => {
    const rate = 60;
    let underWay = 0;
    const dice = new Dice("many at once");
    // Time passes for those who wait, and not while the machine is busy.
    const clock = fakeHost({ isBusy: () => underWay > 0 });
    const lab = await openLab(
      Array.from({ length: 64 }, () => offlineNote),
      { policy: { rate }, now: () => clock.now() },
    );
    const { baseUrl, application: user, vaults, sandbox } = lab.service;
    const folder = tempDir("many");
    const keySource = { folder: join(folder, "keys") };
    const store = new SqliteState({
      directory: join(folder, "state"),
      keySource,
      clock,
      by: actorOf(process.pid),
      warn: nothing,
    });
    const reserveSlot = async (intervalMs: number, longestMs: number): Promise<number> =>
      await store.reserveSlot("limited", intervalMs, longestMs);
    const serviceName = `${baseUrl}${apiPrefix}`;
    const target = { service: serviceName, application: user, version: "test", timeoutMs: 30_000 };
    const clients = openService({ ...target, limit: { rate, clock, reserveSlot } });
    for (const { uuid, kind, credentials } of vaults) {
      const session = await store.lock(serviceName, uuid, {
        deadline: clock.elapsed() + 10_000,
        signal: never,
      });
      await session.recordPair({ credentials, kind });
      await session.release();
    }
    /** A client whose answers are on their way for a while, so that calls of many are under way at a time. */
    const far = (): Service => {
      const client = clients({ learnSecret: nothing });
      const call: Service["call"] = async (...given) => {
        underWay += 1;
        const reply = await client.call(...given).finally(() => (underWay -= 1));
        await clock.sleep(dice.between(5, 200));
        return reply;
      };
      return { ...client, call };
    };
    const began = clock.elapsed();
    const read = async (uuid: string): Promise<void> =>
      await readWith({ store, clock, serviceName, service: far() }, uuid);
    await Promise.all(vaults.map(async ({ uuid }) => await read(uuid)));
    const seconds = (clock.elapsed() - began) / 1000;
    const statuses = sandbox.requests().map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(statuses.length).toBe(128);
    // At the rate, 128 calls take 2.2 seconds, and the last answer is under way for a fifth of one.
    expect(seconds).toBeGreaterThan(2.1);
    expect(seconds).toBeLessThan(2.6);
  });
});
