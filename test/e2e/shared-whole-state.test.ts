import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectError, expectExit, expectFarFromLock, expectInStep, note } from "../support/lab.ts";
import type { Recovery } from "../support/machine.ts";
import { documentOf } from "../support/machine.ts";
import { team } from "../support/team.ts";
import { tempDir } from "../support/temp-dir.ts";

describe("the whole of a shared state", () => {
  it("is copied into a file that holds no secret, and brought back; what was used since is offered by who used it", async () => {
    const { lab, uuid, machines, another } = await team();
    const [first, second, third] = machines;
    const file = join(tempDir("backup"), "state.db");
    expect(documentOf(await first.vault("state", "backup", file, "--json"))).toMatchObject({ backup: { file, vaults: 1, pending: 0 } });
    const { encryptedData, payload } = (await second.exported(uuid)) as { encryptedData: string; payload: string };
    const text = readFileSync(file, "latin1");
    for (const secret of [encryptedData, payload, note]) expect(text).not.toContain(secret);

    // A file is a state on a machine like any other.
    const apart = another(join(tempDir("apart"), "state"));
    expectExit(await apart.vault("state", "restore", file, "--yes"), 0);
    expect(documentOf(await apart.vault("status", "--json"))).toMatchObject({ vaults: [{ uuid, proven: false }] });

    expectExit(await second.vault("get", uuid, "--json"), 0);
    const restored = await first.vault("state", "restore", file, "--yes", "--json");
    expect(documentOf(restored)).toMatchObject({ restored: { vaults: 1, merged: true, outdated: 1 } });
    const again = await second.vault("get", uuid, "--json");
    expect(documentOf(again).vault.content).toBe(note);
    expect(again.stderr).toContain("had lost the last exchange");
    await expectInStep(lab, third, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("changes its key: who has the old one is told", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    expectExit(await first.vault("get", uuid, "--no-ack", "--json"), 0);
    const { old, token } = (await second.exported(uuid)) as Recovery;
    expect(documentOf(await first.vault("state", "rekey", "--yes", "--json"))).toMatchObject({ rekeyed: { source: "file", values: 4 } });
    expect(await first.exported(uuid)).toMatchObject({ old, token });
    expectError(await second.vault("status", "--json"), 14, "state", /wrong key/);
    expectExit(await first.vault("ack", uuid), 0);
    await expectInStep(lab, first, uuid);
  });

  it("has a journal, which is replayed", async () => {
    const { uuid, machines } = await team();
    expectExit(await machines[1].vault("label", uuid, "under-the-palm"), 0);
    const { stdout } = await machines[2].vault("audit-replay", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ vaults: [{ uuid, label: "under-the-palm", verdict: "ok" }] });
  });
});
