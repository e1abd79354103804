import { copyKeys } from "../support/machine.ts";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isWhole, stride } from "../support/campaign.ts";
import { runKilledAt } from "../support/crash.ts";
import { expectExit, expectFarFromLock, expectInStep } from "../support/lab.ts";
import { disconnected, team } from "../support/shared-state.ts";
import { postgres } from "../support/postgres.ts";
import { tempDir } from "../support/cleanup.ts";

it.each(["to a directory", "from a directory"])(
  "state move %s, killed at each of its steps and given up: one place has everything, and can be used",
  { timeout: 600_000 },
  async (direction) => {
    const server = await postgres();
    // The suite takes each step of its stride in one of the directions.
    const [first, each] = isWhole
      ? [1, 1]
      : [direction.startsWith("to") ? 1 : 1 + stride, 2 * stride];
    for (let n = first; n < 400; n += each) {
      const { lab, uuid, machines, another } = await team();
      const directory = join(tempDir("given-up"), "state");
      const [shared, local] = [machines[1], another(directory)];
      if (direction === "from a directory")
        expectExit(await shared.vault("state", "move", "--to", directory, "--yes"), 0);
      const there = another(server.location(`given_up_${direction.slice(0, 2)}_${n}`));
      expectExit(await there.vault("state", "init"), 0);
      copyKeys(there, local);
      const [from, to] = direction === "to a directory" ? [shared, local] : [local, there];
      const { killed } = await runKilledAt(n, from, [
        "state",
        "move",
        "--to",
        to.stateDir,
        "--yes",
      ]);
      await disconnected(server.sql);
      for (const machine of [shared, there]) {
        const schema = new URL(machine.stateDir).searchParams.get("schema") ?? "";
        await server.sql(`DELETE FROM ${schema}.meta WHERE name = 'closing'`);
      }
      // The mark of the place has no password.
      const claimed = await from.vaultWith(
        { env: { PGPASSWORD: "password" } },
        "state",
        "claim",
        "--yes",
        "--json",
      );
      // Before its fence, a directory is in use, and nothing to be claimed.
      expectExit(claimed, 0, 14, ...(from === local ? [2] : []));
      const reads = [
        await from.vault("get", uuid, "--json"),
        await to.vault("get", uuid, "--json"),
      ];
      const isMoved = reads[0]?.code !== 0;
      expect(
        reads.map(({ code }) => code === 0),
        `step ${n}: ${claimed.stderr}`,
      ).toEqual([!isMoved, isMoved]);
      expect(isMoved).toBe(claimed.code === 14);
      await expectInStep(lab, isMoved ? to : from, uuid);
      expectFarFromLock(lab, uuid);
      // What was given up can be begun again.
      if (!isMoved) expectExit(await from.vault("state", "move", "--to", to.stateDir, "--yes"), 0);
      if (!killed) return;
    }
  },
);
