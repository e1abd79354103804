import { handsOver, startOf } from "../support/in-process.ts";
import { describe, expect, it } from "vitest";
import { acknowledgeOpen } from "../../src/exchange/end.ts";
import { deleteVault, runExchange } from "../../src/exchange/run.ts";
import type { World } from "./world.ts";
import { ack, currentIsAccepted, ends, known, knownVault, run, starts } from "./world.ts";
import { helpOf } from "../support/help.ts";

/** A vault whose exchange has expired by what this state was told, although somebody else had acknowledged it. */
async function expiredHere(): Promise<World> {
  const world = await knownVault();
  world.weather = ["fine", ...Array.from({ length: 12 }, () => "no-connection" as const)];
  await run(world, "get");
  const open = (await known(world)).open?.id ?? "";
  world.acknowledgeElsewhere(await world.hold(async ({ session }) => await session.token(open)));
  world.time += 61_000;
  expect(await ack(world)).toBe("service");
  return world;
}

/** A vault whose acknowledgements went unanswered until the token was dead. */
async function inDoubt(lost: "request-lost" | "response-lost"): Promise<World> {
  const world = await knownVault();
  world.weather = ["fine", ...Array.from({ length: 12 }, () => lost)];
  await run(world, "get");
  world.time += 61_000;
  await ack(world);
  return world;
}

describe("what is left at ②, not delivered", () => {
  it("get starts again with the old pair, and no read is used up unseen", async () => {
    const world = await knownVault(3);
    await run(world, "get", { dies: true });
    expect((await known(world)).open?.state).toBe("started");
    const again = await run(world, "get");
    expect(again.code).toBe("ok");
    expect(again.delivered[0]?.vault["usesRemaining"]).toBe(3);
    expect(again.delivered[0]?.settled).toEqual([]);
    expect(world.sandbox.inspect(world.uuid).usesRemaining).toBe(2);
    expect(await currentIsAccepted(world)).toBe(true);
  });

  it("ack tells when, even if a later start has not arrived", async () => {
    const world = await knownVault();
    await run(world, "get", { dies: true });
    world.weather = ["request-lost"];
    expect((await run(world, "get")).code).toBe("network");
    const choice = { unread: false, saved: false };
    const acknowledged = await world.hold(
      async (context) => await acknowledgeOpen(context, choice),
    );
    expect(acknowledged).toMatchObject({ state: "acknowledged", newGeneration: 2 });
    expect(acknowledged?.acknowledgedAt).toMatch(/^2026-/);
  });

  it("a vault stays limited where a later response does not say how many uses remain", async () => {
    const world = await knownVault(3);
    await run(world, "get");
    world.weather = ["uses-unsaid"];
    await run(world, "get", { dies: true });
    expect(await ack(world)).toBe("pending");
    expect(ends(world)).toBe(1);
  });

  it("get after a left update acknowledges it first: that is what the user had asked for", async () => {
    const world = await knownVault();
    await run(world, "update", { dies: true });
    const read = await run(world, "get");
    expect(read.delivered[0]?.settled).toMatchObject([{ operation: "update", outcome: "applied" }]);
    expect(read.delivered[0]?.vault["creditCard"]).toMatchObject({ number: "5555555555554444" });
  });

  it("what was settled is told at once, before what may take hours", async () => {
    const world = await knownVault();
    await run(world, "update", { dies: true });
    const told: string[] = [];
    await world.hold(async (context) => {
      const emit: typeof context.emit = (event) => {
        told.push(event.type);
        context.emit(event);
      };
      const takes = handsOver(async () => Promise.resolve(void told.push("delivered")));
      await runExchange({ ...context, emit }, startOf(world, "get"), takes);
    });
    const ofBoth = ["acknowledging", "settled", "starting", "delivered", "acknowledging"];
    expect(told).toEqual(ofBoth);
  });

  it("with a dead token the left update was not applied, and that is said", async () => {
    const world = await knownVault();
    await run(world, "update", { dies: true });
    world.time += 61_000;
    const read = await run(world, "get");
    expect(read.delivered[0]?.settled).toMatchObject([
      { operation: "update", outcome: "not-applied" },
    ]);
    expect(read.delivered[0]?.vault["creditCard"]).toMatchObject({ number: "4111111111111111" });
    expect(await currentIsAccepted(world)).toBe(true);
  });

  it("the new pair, given by a script that took it from the output, is not sent: the service does not take it yet", async () => {
    const world = await knownVault();
    await run(world, "get", { dies: true });
    const given = await world.hold(async ({ session }) => await session.credentials(2));
    expect((await run(world, "get", { given })).code).toBe("ok");
    expect(world.sandbox.inspect(world.uuid).maxFailedAccesses).toBe(0);
  });
});

describe("held", () => {
  it("--discard-pending starts anew with the old pair", async () => {
    const world = await knownVault();
    await run(world, "get", { noAck: true });
    expect((await run(world, "get", { discardPending: true })).code).toBe("ok");
    expect(await currentIsAccepted(world)).toBe(true);
  });

  it("a delivery that failed for a reason that nobody foresaw owes the save of what leaves this state", async () => {
    const world = await knownVault();
    const fails = handsOver(async ({ recovery }) => {
      await recovery();
      throw new Error("broken");
    }, true);
    expect((await run(world, "get", { handover: fails })).code).toBe("pending");
    expect((await known(world)).open).toMatchObject({
      state: "held",
      delivered: false,
      saveOwed: true,
    });
    expect(await ack(world, { unread: true })).toBe("pending");
    expect(ends(world)).toBe(0);
  });
});

describe("left at ③", () => {
  it("the end call is sent until it answers, also when our own clock says that the token is dead", async () => {
    const world = await knownVault();
    world.weather = ["fine", "no-connection", "no-connection"];
    const late = await run(world, "get");
    expect(late.code).toBe("ok");
    world.weather = ["fine", ...Array.from({ length: 12 }, () => "no-connection" as const)];
    expect((await run(world, "get")).code).toBe("pending");
    expect((await known(world)).open).toMatchObject({ state: "ending", endsUnanswered: 0 });
    world.time += 61_000;
    const after = await run(world, "get");
    expect(after.code).toBe("ok");
    expect(after.delivered[0]?.settled).toMatchObject([{ outcome: "not-applied" }]);
  });

  it.each([
    ["arrived", "response-lost", "acknowledged", 2],
    ["did not arrive", "request-lost", "not-applied", 1],
  ] as const)(
    "an unanswered end call that %s is in doubt once its token is dead; the next start finds out",
    async (_, lost, outcome, winner) => {
      const world = await knownVault();
      world.weather = ["fine", ...Array.from({ length: 12 }, () => lost)];
      expect((await run(world, "get")).code).toBe("pending");
      world.time += 61_000;
      expect(await ack(world)).toBe("in-doubt");
      expect(await ack(world)).toBe("in-doubt");
      expect((await known(world)).open?.state).toBe("in-doubt");
      const next = await run(world, "get");
      expect(next.code).toBe("ok");
      expect(next.delivered[0]?.settled).toMatchObject([{ outcome }]);
      expect(
        world.sandbox.requests().filter((r) => r.step === "start" && r.status === 200).length,
      ).toBeGreaterThan(1);
      expect(await currentIsAccepted(world)).toBe(true);
      expect((await known(world)).generations.find((g) => g.generation === winner)?.standing).toBe(
        "superseded",
      );
      expect(world.sandbox.inspect(world.uuid).maxFailedAccesses).toBe(winner === 2 ? 0 : 1);
    },
  );

  it("in doubt, nothing is spent where the guard would refuse", async () => {
    const world = await inDoubt("request-lost");
    world.weather = ["request-lost"];
    expect((await run(world, "get")).code).toBe("network");
    const sent = world.sandbox.requests().length;
    expect((await run(world, "get")).code).toBe("guard");
    expect(world.sandbox.requests().length).toBe(sent);
    expect((await run(world, "get", { generation: 1 })).code).toBe("ok");
  });

  it("in doubt, a refusal of one of two pairs accuses nobody", async () => {
    const world = await inDoubt("response-lost");
    const { error } = await run(world, "get", { generation: 1 });
    expect(error?.code).toBe("rejected");
    expect(error?.message).not.toContain("another machine");
    expect((await run(world, "get")).code).toBe("ok");
  });

  it.each(["server-error", "no-connection", "garbled"] as const)(
    "a dead token that the service says nothing definite about (%s) is in doubt after one more try, and a get finds out",
    async (weather) => {
      const world = await knownVault();
      world.weather = ["fine", ...Array.from({ length: 12 }, () => weather)];
      expect((await run(world, "get")).code).toBe("pending");
      world.time += 61_000;
      const before = ends(world);
      world.weather = [weather, "fine", "fine"];
      expect((await run(world, "get")).code).toBe("ok");
      expect(ends(world) - before).toBeLessThanOrEqual(2);
      expect(await currentIsAccepted(world)).toBe(true);
    },
  );

  it("a dead token of an exchange that has left this state is in doubt: somebody else may have acknowledged it", async () => {
    const world = await knownVault();
    world.weather = ["fine", ...Array.from({ length: 12 }, () => "no-connection" as const)];
    const leaving = handsOver(undefined, true);
    expect((await run(world, "get", { handover: leaving })).code).toBe("pending");
    world.time += 61_000;
    expect(await ack(world)).toBe("in-doubt");
  });

  it("an expired exchange is in doubt again when its old credentials are refused; its new ones come next", async () => {
    const world = await expiredHere();
    expect((await known(world)).last?.state).toBe("expired");
    expect((await run(world, "get")).code).toBe("ok");
    expect(await currentIsAccepted(world)).toBe(true);
  });

  it("an expired exchange whose old credentials are given and refused: nothing else is sent for them", async () => {
    const world = await expiredHere();
    const sent = starts(world);
    expect((await run(world, "get", { given: world.first })).code).toBe("rejected");
    expect(starts(world)).toBe(sent + 1);
    expect((await run(world, "get")).code).toBe("ok");
  });

  it("an expired exchange whose old credentials a delete finds refused: the new ones delete the vault", async () => {
    const world = await expiredHere();
    const request = { force: false, discardPending: false };
    const deleted = await world.hold(async (context) => await deleteVault(context, request));
    expect(deleted.generation).toBe(2);
  });

  it("given credentials that what is left supersedes, once it is acknowledged, are not sent, whatever --force says", async () => {
    const world = await knownVault();
    await run(world, "update", { dies: true });
    const before = starts(world);
    const { code, error } = await run(world, "get", { given: world.first, force: true });
    expect(code).toBe("no-credentials");
    expect(error?.message).toMatch(/^the given credentials were superseded/);
    expect(starts(world)).toBe(before);
    expect((await run(world, "get")).code).toBe("ok");
  });

  it("given credentials that were superseded before their vault was forgotten are not sent, and none are stored", async () => {
    const world = await knownVault();
    await run(world, "get");
    await world.hold(async ({ session }) => await session.forget());
    const given = { given: world.first, kind: "credit-card/offline" } as const;
    const { code, error } = await run(world, "get", given);
    expect(code).toBe("no-credentials");
    expect(helpOf(error?.facts)).toMatch(
      /^vault import .* --kind credit-card\/offline --credentials @FILE/,
    );
  });

  it("in doubt with both refused, an import is the way on, and says who has used the vault since", async () => {
    const world = await inDoubt("request-lost");
    const foreign = world.colleague(
      await world.hold(async ({ session }) => await session.credentials(1)),
    );
    const { error } = await run(world, "get");
    expect(error?.code).toBe("rejected");
    expect(error?.message).toMatch(
      /^another machine or program has probably used this vault since 20.*refused/,
    );
    expect(helpOf(error?.facts)).toMatch(/^vault import .*the right credentials/);
    expect(helpOf((await run(world, "get")).error?.facts)).not.toMatch(/--force/);
    await world.hold(async ({ session }) => await session.resetCounters("all"));
    await world.hold(
      async ({ session }) =>
        await session.recordPair({ credentials: foreign, kind: "credit-card/offline" }),
    );
    expect((await run(world, "get")).code).toBe("ok");
    expect(await currentIsAccepted(world)).toBe(true);
  });
});
