import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { expectExit, expectFarFromLock, expectInStep, offlineNote, openLab } from "../support/lab.ts";
import { cleanEnv, vaultBin } from "../support/run-vault.ts";
import { callsSince, expectOrder } from "./call-order.ts";
import { isWhole } from "../support/campaign.ts";
import { tried } from "../support/tally.ts";

/** The default rate, and one that even a slow machine would be far above. */
const rates = [
  { rate: 25, setting: "", count: isWhole ? 100 : 16 },
  { rate: 6, setting: "6", count: isWhole ? 40 : 12 },
];

/** The shell's own way to do many things at once: `xargs -P16`, with a process of the program for each vault. */
async function xargs(uuids: readonly string[], env: Record<string, string>): Promise<{ code: number | null; stderr: string }> {
  const command = ["-P16", "-I{}", process.execPath, vaultBin, "get", "{}", "--json", "--max-wait", "5m"];
  // For writing only: "ignore" would be the same to the program as a closed standard output.
  const nowhere = openSync("/dev/null", "w");
  const child = spawn("xargs", command, { env: cleanEnv({ env }), stdio: ["pipe", nowhere, "pipe"] });
  closeSync(nowhere);
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  child.stdin?.end(uuids.join("\n"));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stderr };
}

describe("xargs -P16 over many vaults", () => {
  // Repeated, because a process that the machine stops for longer than the margin, between its clock and its socket, is late.
  it.each(rates)("$count at $rate requests a second: not one 429, one exchange each, and all in step", { retry: 2 }, async (one) => {
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
