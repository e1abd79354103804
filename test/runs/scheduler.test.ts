import { expect, it } from "vitest";
import { VaultError } from "../../src/errors.ts";
import type { ServicePart } from "../../src/parts/service.ts";
import { takeTurns } from "../../src/runs/scheduler.ts";
import { fakeBasics, fakeHost } from "../support/fake-host.ts";

it("takes a vault that somebody else has again at the end, but not one whose lock was lost in the middle", async () => {
  const app = { ...fakeBasics(fakeHost()), service: {} as ServicePart };
  const worked: string[] = [];
  const told: string[] = [];
  const vaults = ["held", "lost", "free"].map((uuid) => ({ uuid, label: null }));
  const { left } = await takeTurns(app, vaults, {
    work: async ({ uuid }) => {
      const isFirst = !worked.includes(uuid);
      worked.push(uuid);
      if (uuid === "lost") throw new VaultError("busy", "away too long", { retry: "after-status" });
      if (uuid === "held" && isFirst) throw new VaultError("busy", "another process has it");
      return await Promise.reject(new VaultError("pending", "as good as any other"));
    },
    tell: async ({ uuid }) => await Promise.resolve(void told.push(uuid)),
    concurrency: 1,
    maxFailures: undefined,
  });
  expect(left).toEqual([]);
  expect(worked).toEqual(["held", "lost", "free", "held"]);
  expect(told).toEqual(["lost", "free", "held"]);
});
