import { expect, describe, it } from "vitest";
import { expectError, expectExit, expectFarFromLock, expectInStep, note } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { documentOf } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";
import { team } from "../support/team.ts";
import { tempDir } from "../support/temp-dir.ts";
import { join } from "node:path";

describe("a state that is moved", () => {
  it("goes from a database to a directory and back, with all that it holds", async () => {
    const { lab, uuid, machines, another } = await team();
    const [first, second] = machines;
    expectExit(await first.vault("label", uuid, "under-the-palm"), 0);
    expectExit(await first.vault("get", uuid, "--json", "--no-ack"), 0);
    const known = async (machine: Machine): Promise<string> => {
      const { stdout } = await machine.vault("status", "--history", "--json");
      return stdout.replaceAll(/"tokenSecondsLeft": *\d+/g, "");
    };
    const before = await known(second);
    const directory = join(tempDir("moved"), "state");
    const moved = await first.vault("state", "move", "--to", directory, "--yes", "--json");
    expect(documentOf(moved)).toMatchObject({ moved: { to: directory, vaults: 1 } });
    const here = another(directory);
    expect(await known(here)).toBe(before);
    expectError(await second.vault("get", uuid, "--json"), 14, "state", new RegExp(`was moved to ${directory}`));
    expectExit(await here.vault("ack", uuid), 0);
    await expectInStep(lab, here, uuid);

    const { location } = await postgres();
    const back = another(location("moved_back"));
    expectError(await here.vault("state", "move", "--to", back.stateDir, "--yes", "--json"), 14, "state", /nothing is there yet/);
    expectExit(await back.vault("state", "init"), 0);
    expectExit(await here.vault("state", "move", "--to", back.stateDir, "--yes"), 0);
    expectError(await here.vault("get", uuid, "--json"), 14, "state", /was moved to postgres:/);
    expect(documentOf(await back.vault("get", "under-the-palm", "--json"))).toMatchObject({ uuid, vault: { content: note } });
    await expectInStep(lab, back, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("is left where it is if something is in the way", async () => {
    const { machines, another } = await team();
    const { location } = await postgres();
    const other = another(location("in_the_way"));
    expectExit(await other.vault("state", "init"), 0);
    expectExit(await machines[0].vault("state", "move", "--to", other.stateDir, "--yes"), 0);
    const next = await team();
    expectError(await next.machines[0].vault("state", "move", "--to", other.stateDir, "--yes", "--json"), 14, "state");
    expectExit(await next.machines[0].vault("get", next.uuid, "--json"), 0);
    expectError(await other.vault("state", "move", "--to", other.stateDir, "--yes", "--json"), 2, "usage", /that is where the state is/);
    expectError(await other.vault("state", "move", "--json"), 2, "usage", /--to/);
  });
});
