import { expect, it } from "vitest";
import { asVaultError } from "../../src/errors.ts";
import { previewStart } from "../../src/exchange/start/send.ts";
import type { Start } from "../../src/exchange/start/start.ts";
import { known, knownVault, run, type World } from "./world.ts";
import { startOf } from "../support/in-process.ts";

/** Something that earlier runs have left. */
type Left = (world: World) => Promise<unknown>;

const noConnection = Array.from({ length: 12 }, () => "no-connection" as const);
const forced = (name: string) => ({
  given: { encryptedData: name, payload: "payload" },
  force: true,
});

const nothing: Left = async () => Promise.resolve();
const aRead: Left = async (world) => await run(world, "get");
const readAt2: Left = async (world) => await run(world, "get", { dies: true });
const updateAt2: Left = async (world) => await run(world, "update", { dies: true });
const heldRead: Left = async (world) => await run(world, "get", { noAck: true });
const readAt3: Left = async (world) => {
  world.weather = ["fine", ...noConnection];
  await run(world, "get");
};
const twoRefusals: Left = async (world) => {
  await run(world, "get", forced("a"));
  await run(world, "get", forced("b"));
};
const threeHeld: Left = async (world) => {
  await run(world, "get");
  for (let n = 0; n < 3; n += 1) await run(world, "get", again);
};
const fourLost: Left = async (world) => {
  for (let n = 0; n < 4; n += 1) {
    world.weather = ["response-lost", ...noConnection];
    await run(world, "get");
    world.time += 3_600_000;
  }
};
const again = { noAck: true, discardPending: true };

it.each<[string, Left, "get" | "update", Partial<Omit<Start, "given">>, string]>([
  ["an import", nothing, "get", {}, "start"],
  ["a read", aRead, "get", {}, "start"],
  ["a read", aRead, "update", {}, "start"],
  ["a read at ②", readAt2, "get", {}, "start"],
  ["an update at ②", updateAt2, "get", {}, "end"],
  ["an update at ②", updateAt2, "update", {}, "start"],
  ["a held read", heldRead, "get", {}, "pending"],
  ["a held read", heldRead, "get", { discardPending: true }, "start"],
  ["a read at ③", readAt3, "get", {}, "end"],
  ["two refusals", twoRefusals, "get", {}, "guard"],
  ["three held reads", threeHeld, "get", { discardPending: true }, "start"],
  ["three held reads", threeHeld, "get", again, "guard"],
  ["four lost starts", fourLost, "get", {}, "guard"],
  ["four lost starts", fourLost, "get", { force: true }, "start"],
])(
  "after %s, an exchange does what its preview shows (%#)",
  async (_, left, operation, asked, expected) => {
    const world = await knownVault();
    await left(world);
    world.weather = [];
    const before = world.sandbox.requests().length;
    const start = { ...startOf(world, operation), ...asked };
    const shown = await world
      .hold(async (context) => await previewStart(context, start))
      .catch((error: unknown) => asVaultError(error));
    const ran = await run(world, operation, asked);
    const [first] = world.sandbox.requests().slice(before);
    expect(first?.step ?? ran.code).toBe(expected);
    if (shown instanceof Error) {
      expect(ran.error).toMatchObject({ code: expected, message: shown.message });
      return;
    }
    expect(shown.acknowledges !== null).toBe(expected === "end");
    expect((await known(world)).last?.baseGeneration).toBe(shown.chosen?.generation);
  },
);

it("refuses other credentials where the guard would", async () => {
  const world = await knownVault();
  await fourLost(world);
  const given = { encryptedData: "other", payload: "payload" };
  const start = { ...startOf(world, "get"), given: { type: "pair", credentials: given } } as const;
  const shown = world.hold(async (context) => await previewStart(context, start));
  await expect(shown).rejects.toMatchObject({ code: "guard" });
  expect(await run(world, "get", { given })).toMatchObject({ code: "guard" });
});

it.each([
  ["were refused", nothing],
  [
    "were forgotten",
    async (world: World) => await world.hold(async (c) => await c.session.forget()),
  ],
])(
  "names for other credentials what lets them out once all that are stored %s, as the exchange does",
  async (_, then) => {
    const world = await knownVault();
    world.colleague(world.first);
    await run(world, "get");
    await run(world, "get", forced("wrong"));
    expect(await known(world)).toMatchObject({ failedAttempts: 2 });
    await then(world);
    const given = { encryptedData: "other", payload: "payload" };
    const start = {
      ...startOf(world, "get"),
      given: { type: "pair", credentials: given },
    } as const;
    const shown = await world
      .hold(async (context) => await previewStart(context, start))
      .catch((error: unknown) => asVaultError(error).facts.next);
    const ran = await run(world, "get", { given });
    const words = `vault guard ${world.uuid} --reset --failed N --starts N`;
    expect(ran.error?.facts.next).toContainEqual(
      expect.objectContaining({ argv: words.split(" ") }),
    );
    expect(shown).toContainEqual(expect.objectContaining({ argv: words.split(" ") }));
  },
);
