import { describe, expect, it } from "vitest";
import { ack, currentIsAccepted, known, knownVault, run, starts, type World } from "./world.ts";

const lost = (times: number) => Array.from({ length: times }, () => "request-lost" as const);

/** A vault in doubt whose old pair is valid. */
async function inDoubt(): Promise<World> {
  const world = await knownVault();
  world.weather = ["fine", ...lost(12)];
  await run(world, "get");
  world.time += 61_000;
  expect(await ack(world)).toBe("in-doubt");
  return world;
}

describe("--force lets the requests of one command through", () => {
  it("and never the automatic repetition that would lock the vault", async () => {
    const world = await knownVault();
    await run(world, "get");
    for (let left = 0; left < 2; left += 1) await run(world, "get", { dies: true });
    const before = starts(world);
    world.weather = Array.from({ length: 9 }, () => "response-lost" as const);
    expect((await run(world, "get", { force: true })).code).toBe("network");
    expect(starts(world) - before).toBe(1);
    expect(world.sandbox.inspect(world.uuid)).toMatchObject({ state: "active", unackedStarts: 3 });
  });

  it("in doubt also for the second pair", async () => {
    const world = await inDoubt();
    world.weather = lost(1);
    expect((await run(world, "get")).code).toBe("network");
    expect((await run(world, "get", { force: true })).code).toBe("ok");
    expect(await known(world)).toMatchObject({ failedAttempts: 0, possiblyFailed: 0 });
  });

  it("in doubt, with one attempt left before the last, nothing is tried until a person chooses", async () => {
    const world = await inDoubt();
    world.weather = ["response-lost"];
    expect((await run(world, "get")).code).toBe("network");
    const { error } = await run(world, "get");
    expect(error).toMatchObject({ code: "guard" });
    expect(error?.message).toMatch(/generations 2 \(offered\), 1 \(current\)/);
    expect(world.sandbox.inspect(world.uuid)).toMatchObject({ failedAccesses: 1 });
    expect((await run(world, "get", { generation: 1 })).code).toBe("ok");
    expect(world.sandbox.inspect(world.uuid)).toMatchObject({
      state: "active",
      maxFailedAccesses: 1,
    });
    expect(await currentIsAccepted(world)).toBe(true);
  });
});
