import { describe, expect, it } from "vitest";
import { fingerprint } from "../../src/protocol/fingerprint.ts";
import { fleet, type Rule } from "../support/gateway.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { Dice } from "../support/dice.ts";
import { expectExit, expectFarFromLock, outcomesOf } from "../support/lab.ts";
import { errorOf } from "../support/machine.ts";
import { helpOf } from "../support/help.ts";

interface Status {
  generations?: { generation: number; fingerprint: string }[];
}

const vaults = 100;
const runs = isWhole ? 40 : 2;

/** Codes of failures that the same line continues by itself. */
const passing = ["network", "pending", "in-doubt"];

describe("a network that loses 20 % of all answers, before or after the service has processed the call", () => {
  it(`${runs} runs over ${vaults} vaults: nothing is lost or locked, and hardly a read is stopped`, async () => {
    const { gateway, vault, lab, machine, uuids } = await fleet(vaults);
    // Each vault has dice of its own: who is first on a busy machine does not change what is lost of which.
    const dice = uuids.map((uuid, n) => ({ uuid, own: new Dice(`lost answers ${n}`) }));
    const losing = (path: string): Rule => {
      const own = dice.find(({ uuid }) => path.includes(uuid))?.own;
      if (own?.chance(0.2) !== true) return "pass";
      return own.chance(0.5) ? "drop" : "lose";
    };
    gateway.be({ starts: (_, path) => losing(path), ends: losing, probes: "pass" });
    let [stopped, doubtful] = [0, 0];
    /** Reads with the credentials that the service accepts: the audit log shows which ones were refused. */
    const readChosen = async (uuid: string, more: readonly string[]): Promise<void> => {
      const right = `sha256:${fingerprint(uuid, lab.service.sandbox.inspect(uuid).pair)}`;
      const { vaults: known } = JSON.parse(
        (await vault("status", uuid, "--history", "--json")).stdout,
      ) as { vaults: Status[] };
      const found = known[0]?.generations?.find((one) => one.fingerprint === right);
      await vault(
        "get",
        uuid,
        "--generation",
        String(found?.generation),
        ...more,
        "--json",
        "--max-wait",
        "2h",
      );
    };
    for (let run = 1; run <= runs; run += 1) {
      const line = ["get", "--all", "-o", "ndjson", "--run", `run-${run}`, "--max-wait", "2h"];
      let left = vaults;
      for (let tries = 0; left > 0; tries += 1) {
        expect(tries, "the same line continues a run").toBeLessThan(20);
        const result = await vault(...line);
        expect(outcomesOf(result), result.stderr).toHaveLength(vaults);
        const others = outcomesOf(result).filter(
          ({ ok, error }) => !ok && !passing.includes(error?.code ?? ""),
        );
        // Stopped until a person comes: by the guard, when it is their turn or in the plan already.
        for (const { skipped, error } of others) expect(skipped ?? error?.code).toBe("guard");
        for (const { uuid } of others) {
          const { exchange } = await machine.status(uuid);
          // In doubt, credentials are not sole: an acknowledgement was processed, and its answer lost.
          if (exchange?.state === "in-doubt") doubtful += 1;
          else stopped += 1;
          // As the message asks: a person chooses among several candidates, or copies what the audit log shows.
          const alone = await vault("get", uuid, "--json", "--max-wait", "2h");
          const [, force] = /--generation \d+( --force)?/.exec(
            alone.code === 8 ? helpOf(errorOf(alone)) : "",
          ) ?? [null];
          if (force !== null)
            await readChosen(uuid, force === undefined ? [] : ["--force", "--yes"]);
          const { failedAccesses, unackedStarts } = lab.service.sandbox.inspect(uuid);
          // Four starts that were processed, and not one answer arrived: the next one would lock it, and only an administrator helps.
          const isLast = unackedStarts >= 4;
          if (isLast) lab.service.sandbox.unlock(uuid);
          const numbers = isLast
            ? []
            : ["--failed", `${failedAccesses}`, "--starts", `${unackedStarts}`];
          expectExit(await vault("guard", uuid, "--reset", ...numbers, "--yes"), 0);
        }
        left = outcomesOf(result).filter(({ ok }) => !ok).length;
      }
      for (const uuid of uuids) expectFarFromLock(lab, uuid);
    }
    // The answers of that many starts were lost at least.
    expect(gateway.starts()).toBeGreaterThan(vaults * runs * 1.15);
    expect(stopped).toBeLessThanOrEqual((vaults * runs) / 200);
    tried("reads with 20 % lost answers", vaults * runs);
    tried("of them stopped until a person came", stopped);
    tried("reads in doubt, of these, that a person had to decide", doubtful);
  });
});
