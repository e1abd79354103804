import { describe, expect, it } from "vitest";
import type { ExchangeContext, Reply, Send } from "../../src/exchange/ports.ts";
import { acknowledgeOpen } from "../../src/exchange/end.ts";
import { runExchange } from "../../src/exchange/run.ts";
import { asVaultError, VaultError } from "../../src/errors.ts";
import { currentIsAccepted, known, knownVault, run, type World } from "./world.ts";
import { handsOver, startOf } from "../support/in-process.ts";

const errorUuid = "0b1d9c1e-6f44-4a57-9a0e-3a86a4f7d0c2";
const answer = (httpStatus: number, responseStatus: unknown): Reply => ({
  type: "answer",
  answer: { httpStatus, body: { responseStatus, errorUuid } },
});
const refusal = answer(400, {
  status: "ERROR",
  code: "E-77",
  detailedErrors: [{ message: "operation not possible" }],
});

/** Runs with a service that gives this answer to each end call, after processing it or not. */
async function failing(
  world: World,
  reply: Reply,
  processed: boolean,
  use: (context: ExchangeContext) => Promise<unknown>,
): Promise<VaultError> {
  const failed = world.hold(async (context) => {
    const call: Send = async (called, signal) => {
      if (called.step !== "end") return await context.service.call(called, signal);
      if (processed) await context.service.call(called, signal);
      return reply;
    };
    await use({ ...context, service: { ...context.service, call } });
  });
  return await failed.then(
    () => expect.fail("it does not fail"),
    (error: unknown) => asVaultError(error),
  );
}

const ack = (context: ExchangeContext): Promise<unknown> =>
  acknowledgeOpen(context, { unread: false, saved: false });
const get = (context: ExchangeContext): Promise<unknown> =>
  runExchange(context, startOf(context.session, "get"), handsOver());

describe("an answer to an end call with neither SUCCESS nor ERROR", () => {
  it.each([
    ["another type", { status: true }],
    ["another word", { status: "DONE" }],
    ["none", {}],
  ])("settles nothing, as it may have been processed (%s)", async (_, responseStatus) => {
    const world = await knownVault();
    await run(world, "get", { dies: true });
    const error = await failing(world, answer(200, responseStatus), true, ack);
    expect(error.code).toBe("pending");
    expect((await known(world)).open).toMatchObject({ state: "ending" });
    expect((await known(world)).open?.endsUnanswered).toBeGreaterThan(0);
    const next = await run(world, "get");
    expect(next.delivered[0]?.settled).toMatchObject([{ outcome: "acknowledged" }]);
    expect(await currentIsAccepted(world)).toBe(true);
    expect(world.sandbox.inspect(world.uuid).maxFailedAccesses).toBe(0);
  });
});

it("a refused application does not have the read repeated that is acknowledged by ack", async () => {
  const world = await knownVault(3);
  const error = await failing(world, answer(401, { status: "ERROR" }), false, get);
  expect(error).toMatchObject({
    code: "pending",
    facts: { next: [{ argv: ["vault", "ack", world.uuid] }] },
  });
  expect(error.facts.hint).not.toMatch(/again/);
});

it("a page in place of an answer does not say how long an end call waits", async () => {
  const world = await knownVault();
  let sent = 0;
  await world.hold(async (context) => {
    const call: Send = async (called, signal) => {
      if (called.step === "end" && (sent += 1) === 1)
        return { type: "answer", answer: { httpStatus: 404, body: {}, retryAfter: 3600 } };
      return await context.service.call(called, signal);
    };
    await get({ ...context, service: { ...context.service, call } });
  });
  expect(sent).toBe(2);
  expect(await currentIsAccepted(world)).toBe(true);
});

describe("an ERROR to an end call is shown whole", () => {
  const shown = {
    message: `the service no longer accepts the token (service: "operation not possible", HTTP 400, error ${errorUuid}); the read was not acknowledged, and the old credentials are still valid`,
    facts: { service: { httpStatus: 400, responseStatus: { code: "E-77" }, errorUuid } },
  };

  it("by get, whose start counts: not safe to repeat without a look", async () => {
    const world = await knownVault();
    const error = await failing(world, refusal, false, get);
    expect(error).toMatchObject({ code: "service", retry: "after-status", ...shown });
    expect(error.facts.spent).toMatchObject({ unackedStarts: 1 });
  });

  it("by ack, which has spent nothing", async () => {
    const world = await knownVault();
    await run(world, "get", { dies: true });
    expect(await failing(world, refusal, false, ack)).toMatchObject({
      code: "service",
      retry: "safe",
      ...shown,
    });
  });

  it("also where it leaves the exchange in doubt", async () => {
    const world = await knownVault();
    await run(world, "get", { dies: true });
    await failing(world, { type: "no-answer", cause: "lost" }, false, ack);
    expect(await failing(world, refusal, false, ack)).toMatchObject({
      code: "in-doubt",
      facts: { service: { httpStatus: 400 } },
    });
  });
});

it("after a 429 that names no time, is tried until --max-wait ends", async () => {
  const world = await knownVault();
  await run(world, "get", { dies: true });
  const began = world.time;
  let lastAt = began;
  const failed = world.hold(async (context) => {
    const call: Send = async () => {
      lastAt = world.time;
      return await Promise.resolve(answer(429, { status: "ERROR" }));
    };
    await ack({ ...context, service: { ...context.service, call } });
  });
  await expect(failed).rejects.toMatchObject({ code: "pending" });
  expect(lastAt - began).toBe(10_000);
});

it("a state that cannot be written before the end call is told with the exchange that waits for it", async () => {
  const world = await knownVault();
  const failed = world.hold(async (context) => {
    const full = new VaultError("state", "the disk is full");
    Object.assign(context.session, { recordEnding: async () => await Promise.reject(full) });
    await get(context);
  });
  await expect(failed).rejects.toMatchObject({
    code: "state",
    facts: { uuid: world.uuid, exchange: { state: "started" } },
  });
});
