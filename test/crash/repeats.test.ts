import { describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectFarFromLock,
  expectInStep,
  firstGetArgs,
  offlineCard,
  openLab,
} from "../support/lab.ts";

/** Without probes, which name no vault. */
const requestsOf = ({ service, vault }: Lab) =>
  service.sandbox.requests().filter(({ uuid }) => uuid === vault.uuid);

describe.concurrent("a pair that is not proven here", () => {
  it.each(["drop-before", "drop-after", "cut", "garbage", "error-after=502"])(
    "start:%s: is sent once and not repeated, counts as a failed access too, and is not sent a third time",
    async (action) => {
      const lab = await openLab(offlineCard);
      const { service, vault } = lab;
      const machine = lab.machine();
      const get = [...firstGetArgs(machine, vault), "--json"];
      lab.faults(`get-start:${action}*all`);
      for (const round of [1, 2]) {
        expectError(await machine.vault(...get), "network");
        expect(requestsOf(lab)).toHaveLength(round);
        expect(await machine.status(vault.uuid)).toMatchObject({
          unackedStarts: round,
          failedAttempts: round,
        });
      }
      for (const args of [get, ["get", vault.uuid, "--json"]])
        expectError(await machine.vault(...args), "guard");
      expect(requestsOf(lab)).toHaveLength(2);
      expectFarFromLock(lab, vault.uuid);
      service.faults.clear();
      service.sandbox.unlock(vault.uuid);
      await machine.ok("guard", vault.uuid, "--reset", "--yes");
      // The service answers again, which only a person knows: the probe let out its one trial.
      await machine.ok("guard", vault.uuid, "--reset", "--unanswered", "--yes");
      await machine.ok(...get);
      await expectInStep(lab, machine, vault.uuid);
    },
  );
});

describe.concurrent("an unanswered start of a proven pair", () => {
  it("is not repeated where its credentials are known elsewhere", async () => {
    const lab = await openLab(offlineCard);
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    await machine.ok("export", uuid);
    lab.faults("get-start:drop-before*all");
    for (const [code, requests] of [
      ["network", 3],
      ["network", 4],
      ["guard", 4],
    ] as const) {
      expectError(await machine.vault("get", uuid, "--json"), code);
      expect(requestsOf(lab)).toHaveLength(requests);
    }
  });
});
