import { describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  callsSince,
  expectFarFromLock,
  expectInStep,
  expectOrder,
  importAll,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { certificateAuthority } from "../support/keys.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { tcpProxy } from "../support/proxies.ts";
import { startTlsFront } from "../support/gateway.ts";
import { xargs } from "../support/run-vault.ts";

/** The default rate, also far away and behind TLS, where a connection takes three round trips; and one that a slow machine is above, too. */
const rates = [
  { rate: 25, where: "here", setting: "", count: isWhole ? 100 : 16 },
  { rate: 25, where: "120 ms away", setting: "", count: isWhole ? 100 : 16 },
  { rate: 6, where: "here", setting: "6", count: isWhole ? 40 : 12 },
];

/** The address of the service, and flags, by a way that takes so long, behind TLS. */
async function farAway(lab: Lab): Promise<{ env: Record<string, string>; flags: string[] }> {
  const authority = certificateAuthority();
  const { port } = await startTlsFront(
    lab.service.baseUrl,
    authority.issue({ dns: "vault.example" }),
  );
  const far = await tcpProxy({ port }, 60);
  return {
    env: { VAULTSVC_BASE_URL: `https://127.0.0.1:${far.port}` },
    flags: ["--ca", lab.machine().file("ca.pem", authority.cert)],
  };
}

describe("xargs -P16 over many vaults", () => {
  it.each(rates)(
    "$count at $rate requests a second, $where: not one 429, one exchange each, and all in step",
    async (one) => {
      const { rate, where, setting, count } = one;
      const lab = await openLab(
        Array.from({ length: count }, () => offlineNote),
        { policy: { rate } },
      );
      const { sandbox, vaults } = lab.service;
      const { env, flags } = where === "here" ? { env: {}, flags: [] } : await farAway(lab);
      const machine = lab.machine({ env: { ...env, VAULTSVC_RATE: setting } });
      await importAll(lab, machine);
      const { code, stderr } = await xargs(
        vaults.map(({ uuid }) => uuid),
        ["get", "{}", "--json", "--max-wait", "5m", ...flags],
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
    },
  );
});
