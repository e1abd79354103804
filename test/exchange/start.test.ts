import { describe, expect, it } from "vitest";
import { asVaultError, VaultError } from "../../src/errors.ts";
import type { ExchangeEvent } from "../../src/exchange/ports.ts";
import { runExchange } from "../../src/exchange/run.ts";
import { currentIsAccepted, ends, known, knownVault, run, starts, type Weather } from "./world.ts";
import { handsOver, startOf } from "../support/in-process.ts";
import { helpOf } from "../support/help.ts";

describe("counting towards a lock", () => {
  it.each<[Weather[], string, { unackedStarts: number; failedAttempts: number }]>([
    [["request-lost"], "network", { unackedStarts: 1, failedAttempts: 1 }],
    [["no-connection"], "ok", { unackedStarts: 0, failedAttempts: 0 }],
  ])("an import that is not proven: %j ends with %s", async (weather, code, counters) => {
    const world = await knownVault();
    world.weather = weather;
    expect((await run(world, "get")).code).toBe(code);
    expect(await known(world)).toMatchObject(counters);
  });

  it("a start without answer is repeated once for a proven pair, after an answered probe, each time counted", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = ["response-lost", "fine", "fine"];
    expect((await run(world, "get")).code).toBe("ok");
    expect(starts(world)).toBe(3);
    expect(await known(world)).toMatchObject({ unackedStarts: 0, failedAttempts: 0 });
    world.weather = ["response-lost", "fine", "response-lost"];
    expect((await run(world, "get")).code).toBe("network");
    expect(await known(world)).toMatchObject({
      unackedStarts: 2,
      failedAttempts: 0,
      possiblyFailed: 0,
    });
  });

  it("a start without answer is not repeated where fewer than two would be left before the limit", async () => {
    const world = await knownVault();
    await run(world, "get");
    for (let held = 0; held < 2; held += 1)
      await run(world, "get", { noAck: true, discardPending: true });
    const before = starts(world);
    world.weather = ["response-lost"];
    expect((await run(world, "get", { discardPending: true })).code).toBe("network");
    expect(starts(world) - before).toBe(1);
    expect(await known(world)).toMatchObject({ unackedStarts: 3 });
  });

  it("nothing is started before the service answers a probe, by the repeat or by a later command", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = Array.from({ length: 99 }, () => "server-error" as const);
    const { error } = await run(world, "get");
    expect(error).toMatchObject({ code: "network", retry: "after-status" });
    expect(starts(world)).toBe(1);
    expect(await known(world)).toMatchObject({ unackedStarts: 1, failedAttempts: 0 });
    world.weather = Array.from({ length: 99 }, () => "server-error" as const);
    expect((await run(world, "get")).error).toMatchObject({ code: "network", retry: "safe" });
    expect(await known(world)).toMatchObject({ unackedStarts: 1, failedAttempts: 0 });
    world.time += 30_000;
    expect((await run(world, "get")).code).toBe("ok");
  });

  it("a wait for a trial is told again once the time that was told has passed, and not before", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = ["response-lost", "server-error"];
    const told: number[] = [];
    await world
      .hold(async (context) => {
        const emit = (event: ExchangeEvent): void => {
          if (event.type === "waiting") told.push(Math.round(event.waitMs / 1000));
        };
        const deadline = world.clock.elapsed() + 60_000;
        const patient = { ...context, emit, deadline };
        return await runExchange(patient, startOf(world, "get"), handsOver());
      })
      .finally(() => (world.weather = []));
    expect(told).toEqual([4, 30]);
  });

  it.each([
    ["of this vault zeroes them", ["unusable"], 0],
    ["of another vault does not", ["of-another"], 2],
  ] as const)("failed attempts begin anew with a success: one %s", async (_, weather, failed) => {
    const world = await knownVault();
    world.weather = ["request-lost"];
    await run(world, "get");
    world.time += 31_000;
    world.weather = [...weather];
    expect((await run(world, "get", { force: true })).code).toBe("service");
    expect(await known(world)).toMatchObject({ unackedStarts: 2, failedAttempts: failed });
  });

  it("a success that cannot be used counts as a start, and is an answer: the next start needs no probe", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = ["unusable"];
    expect((await run(world, "get")).code).toBe("service");
    expect(await known(world)).toMatchObject({ unackedStarts: 1, failedAttempts: 0 });
    const before = ends(world);
    expect((await run(world, "get")).code).toBe("ok");
    // A probe would be an end call, too.
    expect(ends(world) - before).toBe(1);
  });

  it("a proven pair that is stale is never what locks the vault, also where no answer arrives", async () => {
    const world = await knownVault();
    await run(world, "get");
    await world.hold(async ({ session }) => {
      await session.markElsewhere([2]);
      world.colleague(await session.credentials(2));
    });
    for (let tries = 0; tries < 4; tries += 1) {
      world.weather = tries === 0 ? ["response-lost"] : ["fine", "response-lost"];
      expect((await run(world, "get")).code).toMatch(/network|guard/);
      world.time += 300_000;
    }
    expect(world.sandbox.inspect(world.uuid)).toMatchObject({
      state: "active",
      maxFailedAccesses: 2,
    });
  });

  it("a SUCCESS zeroes the failed accesses, only an acknowledgement the starts", async () => {
    const world = await knownVault();
    world.weather = ["request-lost"];
    await run(world, "get");
    await run(world, "get", { noAck: true });
    expect(await known(world)).toMatchObject({ unackedStarts: 2, failedAttempts: 0 });
    await run(world, "get", { discardPending: true });
    expect(await known(world)).toMatchObject({ unackedStarts: 0, failedAttempts: 0 });
  });
});

describe("the time that a start without answer names", () => {
  // Of a vault that was imported, and of one whose credentials only this state knows.
  it.each<[what: string, isProven: boolean, changes: Parameters<typeof run>[2]]>([
    ["imported credentials", false, {}],
    ["credentials of its own", true, {}],
    ["credentials of its own, held", true, { noAck: true }],
  ])(
    "%s: the same command goes out then; none is named where the guard refuses it",
    async (_, isProven, changes) => {
      const world = await knownVault();
      if (isProven) await run(world, "get");
      const told: string[] = [];
      for (;;) {
        const before = (await known(world)).unackedStarts;
        // Each start is lost, a probe before a trial is answered.
        const trial: Weather[] = ["fine", "request-lost"];
        world.weather = isProven && before > 0 ? trial : ["request-lost", ...trial];
        const { code, error } = await run(world, "get", changes);
        if (code === "guard") break;
        expect(code).toBe("network");
        expect((await known(world)).unackedStarts).toBeGreaterThan(before);
        const [, time] = / due at (\S+Z)/.exec(error?.facts.hint ?? "") ?? [];
        told.push(time === undefined ? "none" : "time");
        if (time !== undefined) world.time = Date.parse(time);
      }
      expect(told.at(-1)).toBe("none");
      expect(new Set(told.slice(0, -1))).toEqual(new Set(["time"]));
    },
  );
});

describe("pairs that may not be sent", () => {
  const wrong = (name: string) => ({ encryptedData: name, payload: "payload" });

  it("one wrong import is sent, and not a second one while a proven pair is here: a person chooses", async () => {
    const world = await knownVault();
    await run(world, "get");
    for (const name of ["a", "b"])
      await world.hold(
        async ({ session }) =>
          await session.recordPair({ credentials: wrong(name), kind: "credit-card/offline" }),
      );
    const sent = starts(world);
    const { code, error } = await run(world, "get");
    expect(code).toBe("rejected");
    expect(error?.message).toMatch(/generations 3 \(imported\), 2 \(current\)$/);
    expect(starts(world)).toBe(sent + 1);
    expect((await run(world, "get")).code).toBe("guard");
    expect((await run(world, "get", { generation: 2 })).code).toBe("ok");
    expect(world.sandbox.inspect(world.uuid).maxFailedAccesses).toBe(1);
  });

  it("a state that cannot be read any more after a refusal is told as that, and not as another refusal", async () => {
    const world = await knownVault();
    await run(world, "get");
    await world.hold(
      async ({ session }) =>
        await session.recordPair({ credentials: wrong("a"), kind: "credit-card/offline" }),
    );
    let isLost = false;
    const ended = await world
      .hold(async (context) => {
        const session = new Proxy(context.session, {
          get: (object, name) => {
            if (name === "refusals" && isLost) throw new VaultError("state", "the disk is gone");
            isLost ||= name === "noteOutcome";
            const value = Reflect.get(object, name, object) as unknown;
            return typeof value === "function" ? (value.bind(object) as unknown) : value;
          },
        });
        return await runExchange({ ...context, session }, startOf(world, "get"), handsOver());
      })
      .catch(asVaultError);
    expect(ended).toMatchObject({ code: "state", facts: { spent: { failedAttempts: 1 } } });
  });

  it.each([
    ["without an answer", [], "network"],
    ["refused", ["a"], "rejected"],
  ] as const)(
    "a start %s, and then no place for another: not said to be unsent",
    async (_, imported, code) => {
      const world = await knownVault();
      await run(world, "get");
      for (const name of imported)
        await world.hold(
          async ({ session }) =>
            await session.recordPair({ credentials: wrong(name), kind: "credit-card/offline" }),
        );
      world.weather = code === "network" ? ["request-lost", "fine"] : [];
      let sent = 0;
      const ended = await world
        .hold(async (context) => {
          const call: typeof context.service.call = async (called, signal) => {
            if (called.step === "start") sent += 1;
            return await context.service.call(called, signal);
          };
          const admit = async (): Promise<void> => {
            await Promise.resolve();
            if (sent > 0) throw new VaultError("invalid-input", "the JWT command failed");
          };
          const service = { ...context.service, call, admit };
          return await runExchange({ ...context, service }, startOf(world, "get"), handsOver());
        })
        .catch(asVaultError);
      const error = asVaultError(ended);
      expect(error.code).toBe(code);
      expect(error.retry).not.toBe("safe");
      expect(error.message).toMatch(/then the JWT command failed$/);
    },
  );

  it("a superseded pair is sent only as a generation chosen with --force", async () => {
    const world = await knownVault();
    await run(world, "get");
    await run(world, "get");
    const sent = world.sandbox.requests().length;
    expect((await run(world, "get", { given: world.first })).code).toBe("no-credentials");
    expect((await run(world, "get", { given: world.first, force: true })).code).toBe(
      "no-credentials",
    );
    expect((await run(world, "get", { generation: 1 })).code).toBe("no-credentials");
    expect(world.sandbox.requests().length).toBe(sent);
    expect((await run(world, "get", { generation: 1, force: true })).code).toBe("rejected");
    expect((await run(world, "get")).code).toBe("ok");
    expect(await currentIsAccepted(world)).toBe(true);
  });
});

describe("order", () => {
  it("no end call before the delivery has ended", async () => {
    const world = await knownVault();
    let endsAtDelivery = -1;
    await run(world, "get", {
      handover: handsOver(async () => {
        endsAtDelivery = ends(world);
        expect((await world.record())?.open).toMatchObject({ state: "started", newGeneration: 2 });
      }),
    });
    expect(endsAtDelivery).toBe(0);
    expect(ends(world)).toBe(1);
  });
});

describe("whether a failed start may simply be repeated", () => {
  const unreachable = Array.from({ length: 20 }, () => "no-connection" as const);

  it("yes where nothing was sent, and then nothing is said about counters", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = [...unreachable];
    const { error } = await run(world, "get");
    expect(error).toMatchObject({ code: "network", retry: "safe" });
    expect(error?.facts.spent).toBeUndefined();
  });

  it("the waiting ends when it should where the clock is set back meanwhile", async () => {
    const world = await knownVault();
    for (const operation of ["get", "update"] as const) {
      const before = world.clock.elapsed();
      world.weather = [
        "clock-set-back",
        ...Array.from({ length: 3000 }, () => "no-connection" as const),
      ];
      expect((await run(world, operation)).error).toMatchObject({ code: "network", retry: "safe" });
      expect(world.clock.elapsed() - before).toBeLessThanOrEqual(10_000);
    }
    const before = world.clock.elapsed();
    world.weather = [
      "fine",
      "clock-set-back",
      ...Array.from({ length: 3000 }, () => "no-connection" as const),
    ];
    expect((await run(world, "get")).code).toBe("pending");
    expect(world.clock.elapsed() - before).toBeLessThanOrEqual(10_000);
  });

  it("no where an earlier start of the same command went unanswered", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = ["response-lost", ...unreachable];
    const { error } = await run(world, "get");
    expect(error).toMatchObject({
      code: "network",
      retry: "after-status",
      facts: { spent: { unackedStarts: 1 } },
    });
    expect(helpOf(error?.facts)).toMatch(/it counts as an unacknowledged start; .*; vault status/);
  });

  it("and what became of that start is told, not that its repetition was not sent", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = ["server-error", ...unreachable];
    const { error } = await run(world, "get");
    expect(error?.message).toMatch(/^the start was sent, but .*HTTP 503/);
    expect(error?.facts.hint).toMatch(/; the next trial start is due at/);
    expect(error).toMatchObject({ retry: "after-status", facts: { spent: { unackedStarts: 1 } } });
  });

  it("nor that no connection stood for its repetition, with --force", async () => {
    const world = await knownVault();
    await run(world, "get");
    world.weather = ["server-error", ...unreachable];
    const { error } = await run(world, "get", { force: true });
    expect(error?.message).toMatch(/^the start was sent, but .*HTTP 503/);
    expect(error).toMatchObject({ retry: "after-status", facts: { spent: { unackedStarts: 1 } } });
  });

  it.each([
    [["response-lost"], "waiting", 1],
    [["server-error", "no-connection"], "retrying", 2],
  ] as const)(
    "nor that nothing is pending: %j, and interrupted at %s",
    async (weather, at, times) => {
      const world = await knownVault();
      await run(world, "get");
      world.weather = [...weather];
      const stop = new AbortController();
      let seen = 0;
      const emit = ({ type }: ExchangeEvent): void => {
        if (type === at && ++seen === times) stop.abort();
      };
      const start = { ...startOf(world, "get"), force: at === "retrying" };
      const reading = world.hold(
        async (context) =>
          await runExchange({ ...context, emit, signal: stop.signal }, start, handsOver()),
      );
      const error = asVaultError(await reading.catch((thrown: unknown) => thrown));
      expect(error.message).toMatch(/^interrupted while the start was in progress; .* counts/);
      expect(error).toMatchObject({
        code: "interrupted",
        facts: { exchange: { state: "intent" } },
      });
      expect(error.facts.spent).toMatchObject({ unackedStarts: 1 });
    },
  );
});
