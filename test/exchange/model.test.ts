import fc from "fast-check";
import { expect, test } from "vitest";
import { asVaultError } from "../../src/errors.ts";
import { acknowledgeLeft } from "../../src/exchange/acknowledge.ts";
import { deleteVault } from "../../src/exchange/delete.ts";
import type { Credentials } from "../../src/exchange/records.ts";
import type { ExchangeRequest } from "../../src/exchange/run.ts";
import { runExchange } from "../../src/exchange/run.ts";
import { sequences } from "../support/campaign.ts";
import type { Weather } from "./world.ts";
import { Crash, World } from "./world.ts";

/** One thing that happens to the vault. */
type Happening =
  | { do: "get" | "update"; noAck: boolean; discard: boolean; fails: boolean; weather: Weather[]; crashAt: number | null }
  | { do: "ack"; weather: Weather[]; crashAt: number | null }
  | { do: "wrong-pair"; weather: Weather[] }
  | { do: "delete"; discard: boolean; weather: Weather[]; crashAt: number | null }
  | { do: "two-at-once"; weather: Weather[] }
  | { do: "time-passes"; seconds: number }
  | { do: "new-process" };

const weather = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Weather>("fine") },
    { weight: 2, arbitrary: fc.constantFrom<Weather>("no-connection", "request-lost", "response-lost", "garbled", "server-error") },
  ),
  { maxLength: 6 },
);
const crashAt = fc.option(fc.integer({ min: 1, max: 60 }), { freq: 3 });
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("get" as const, "update" as const),
      noAck: fc.boolean(),
      discard: fc.boolean(),
      fails: fc.boolean(),
      weather,
      crashAt,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ack" as const), weather, crashAt }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wrong-pair" as const), weather }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("two-at-once" as const), weather }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("time-passes" as const), seconds: fc.constantFrom(1, 30, 61, 3600) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("new-process" as const) }) },
);

function request(world: World, operation: "get" | "update", changes: Partial<ExchangeRequest> & { fails?: boolean } = {}): ExchangeRequest {
  const creditCard = { number: "5555555555554444", name: "Grace Hopper", expiryMonth: 12, expiryYear: 2030 };
  return {
    operation,
    kind: "credit-card/offline",
    force: false,
    noAck: false,
    discardPending: false,
    ...(operation === "update" ? { newVault: { creditCard } } : {}),
    handover: {
      leaves: false,
      counted: async () => Promise.resolve(),
      deliver: async (delivery) => {
        world.step();
        if (changes.fails === true) throw new Error("the reader has gone");
        world.delivered.add(delivery.exchange.id);
        world.step();
        return Promise.resolve();
      },
      confirm: async () => Promise.resolve(),
    },
    ...changes,
  };
}

async function happen(world: World, what: Happening): Promise<void> {
  world.weather = "weather" in what ? [...what.weather] : [];
  world.crashAt = ("crashAt" in what ? what.crashAt : null) ?? Number.POSITIVE_INFINITY;
  switch (what.do) {
    case "time-passes":
      world.time += what.seconds * 1000;
      return;
    case "new-process":
      world.newProcess();
      return;
    case "ack":
      await world.hold(async (context) => await acknowledgeLeft(context, { unread: false, saved: true }));
      return;
    case "wrong-pair": {
      const wrong: Credentials = { encryptedData: `wrong ${world.time}`, payload: "wrong" };
      await world.hold(async (context) => await runExchange(context, request(world, "get", { given: wrong, force: false })));
      return;
    }
    case "delete": {
      const { discard } = what;
      await world.hold(async (context) => await deleteVault(context, { discardPending: discard, force: false, device: undefined }));
      return;
    }
    case "two-at-once": {
      const one = world.hold(async (context) => await runExchange(context, request(world, "get")));
      world.newProcess();
      const other = world.hold(async (context) => await runExchange(context, request(world, "get")));
      await Promise.allSettled([one, other]);
      return;
    }
    case "get":
    case "update": {
      const { noAck, discard, fails } = what;
      await world.hold(async (context) => await runExchange(context, request(world, what.do, { noAck, discardPending: discard, fails })));
    }
  }
}

/** Deaths and the errors of the contract are part of the game; a bug is not. */
async function survive(world: World, what: Happening): Promise<string> {
  try {
    await happen(world, what);
    return "ok";
  } catch (error) {
    if (error instanceof Crash) {
      world.newProcess();
      return "crash";
    }
    const { code } = asVaultError(error);
    if (code === "internal") throw error;
    return code;
  } finally {
    world.crashAt = Number.POSITIVE_INFINITY;
    world.weather = [];
  }
}

async function check(world: World): Promise<void> {
  expect(world.violation).toBeUndefined();
  const truth = world.sandbox.inspect(world.uuid);
  expect(truth.maxFailedAccesses).toBeLessThan(3);
  expect(truth.maxUnackedStarts).toBeLessThan(5);
  const record = await world.record();
  // Forgotten only once the service has said that the vault is deleted.
  if (record === undefined) expect(truth.state).toBe("deleted");
  if (record === undefined || truth.state === "deleted") return;
  expect(record.unackedStarts).toBeGreaterThanOrEqual(truth.unackedStarts);
  expect(record.failedAttempts).toBeGreaterThanOrEqual(truth.failedAccesses);
  const accepted: number[] = [];
  await world.hold(async (context) => {
    for (const { generation, standing } of record.generations) {
      if (standing === "superseded") continue;
      if (world.sandbox.accepts(world.uuid, await context.session.credentials(generation))) accepted.push(generation);
    }
  });
  const { open } = record;
  const isOpen = open !== null && (open.state === "ending" || open.state === "in-doubt");
  const expected = isOpen
    ? [open.baseGeneration, open.newGeneration]
    : record.generations.filter((g) => ["current", "imported"].includes(g.standing)).map((g) => g.generation);
  expect(accepted.length, "the state holds the pair that the service accepts").toBeGreaterThan(0);
  expect(expected, "the program knows which one it is").toEqual(expect.arrayContaining(accepted));
}

/** What a person does in the end: acknowledge, read again; after a lock by the guard, reset and read. */
async function recover(world: World): Promise<void> {
  await survive(world, { do: "ack", weather: [], crashAt: null });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const outcome = await world
      .hold(async (context) => await runExchange(context, request(world, "get", { discardPending: true })))
      .then(
        () => "ok",
        (error: unknown) => asVaultError(error).code,
      );
    await check(world);
    if (outcome === "ok" || world.sandbox.inspect(world.uuid).state === "deleted") return;
    expect(["guard", "rejected"]).toContain(outcome);
    if (outcome !== "guard") continue;
    // The guard wants a person: an administrator unlocks the vault, and the program is told.
    world.sandbox.unlock(world.uuid);
    await world.hold(async (context) => await context.session.resetCounters("all"));
  }
  throw new Error("the vault could not be read again");
}

const deletion: fc.Arbitrary<Happening> = fc.record({ do: fc.constant("delete" as const), discard: fc.boolean(), weather, crashAt });

test("whatever happens to a vault that is to be deleted, its pair is kept until it is, and it is never locked", async () => {
  const mixed = fc.array(fc.oneof({ weight: 3, arbitrary: happening }, { weight: 1, arbitrary: deletion }), {
    minLength: 2,
    maxLength: 12,
  });
  let deleted = 0;
  await fc.assert(
    fc.asyncProperty(mixed, async (happenings) => {
      const world = new World({ seed: "model" });
      await world.hold(async ({ session }) => await session.record({ credentials: world.first, kind: "credit-card/offline" }));
      for (const what of happenings) {
        await survive(world, what);
        await check(world);
      }
      deleted += Number(world.sandbox.inspect(world.uuid).state === "deleted");
      await recover(world);
    }),
    { seed: 20261121, numRuns: sequences, endOnFailure: false },
  );
  expect(deleted).toBeGreaterThan(sequences / 8);
  expect(deleted).toBeLessThan(sequences * 0.95);
});

test.each([
  ["a vault without limit", undefined],
  ["a limited vault", 3],
])("whatever happens to %s, its pair is never lost and it is never locked", async (_name, maxUsage) => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 14 }), async (happenings) => {
      const world = new World({ seed: "model", ...(maxUsage === undefined ? {} : { maxUsage }) });
      await world.hold(async ({ session }) => await session.record({ credentials: world.first, kind: "credit-card/offline" }));
      for (const what of happenings) {
        await survive(world, what);
        await check(world);
      }
      await recover(world);
    }),
    { seed: 20261121, numRuns: sequences, endOnFailure: false },
  );
});
