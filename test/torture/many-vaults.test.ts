import { describe, expect, it } from "vitest";
import { expectExit, expectFarFromLock, expectInStep, offlineNote, openLab } from "../support/lab.ts";
import { callsSince, expectOrder } from "./call-order.ts";
import { isWhole } from "../support/campaign.ts";
import { tried } from "../support/tally.ts";
import { xargs } from "../support/xargs.ts";

/** The default rate, and one that even a slow machine would be far above. */
const rates = [
  { rate: 25, setting: "", count: isWhole ? 100 : 16 },
  { rate: 6, setting: "6", count: isWhole ? 40 : 12 },
];

describe("xargs -P16 over many vaults", () => {
  it.each(rates)("$count at $rate requests a second: not one 429, one exchange each, and all in step", async (one) => {
    const { rate, setting, count } = one;
    const lab = await openLab(
      Array.from({ length: count }, () => offlineNote),
      { policy: { rate } },
    );
    const { sandbox, vaults } = lab.service;
    const machine = lab.machine({ env: { VAULTSVC_RATE: setting } });
    const lines = vaults.map(({ uuid, kind, credentials }) => JSON.stringify({ uuid, kind, credentials }));
    expectExit(await machine.vault("import", "--file", machine.file("all.ndjson", lines.join("\n"))), 0);
    const { code, stderr } = await xargs(
      vaults.map(({ uuid }) => uuid),
      ["get", "{}", "--json", "--max-wait", "5m"],
      machine.env,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const requests = sandbox.requests();
    expect(requests.filter(({ status }) => status === 429)).toHaveLength(0);
    expect(requests).toHaveLength(2 * count);
    for (const { uuid } of vaults) {
      expectOrder(callsSince(lab, uuid, 0), 0);
      expectFarFromLock(lab, uuid);
      await expectInStep(lab, machine, uuid);
    }
    tried("interleavings of processes", 1);
  });
});
