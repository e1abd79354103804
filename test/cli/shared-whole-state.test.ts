import { cpSync, readFileSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectError, expectExit, expectFarFromLock, expectInStep, note } from "../support/lab.ts";
import type { Pair } from "../../src/protocol/answers.ts";
import { documentOf, errorOf, keyFileOf, type Machine, type Recovery } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";
import { forgetKept, SchemaCopy, team, type Team } from "../support/shared-state.ts";
import { tempDir } from "../support/cleanup.ts";

/** Copies the file of the new key of a state, and no other. */
function copyNewest(from: Machine, to: Machine): void {
  const file = keyFileOf(from);
  cpSync(file, join(to.configDir, "keys", basename(file)));
}

/** The first machine acknowledges an exchange, of which a failover leaves nothing. */
async function loseExchange({ schema, uuid, machines }: Team): Promise<void> {
  const copy = new SchemaCopy((await postgres()).sql, schema, `${schema}_standby`);
  await copy.take();
  await machines[0].ok("get", uuid, "--json");
  await copy.putBack();
}

describe("the whole of a shared state", () => {
  it("is copied into a file that holds no secret, and brought back; what was used since stays", async () => {
    const { lab, uuid, machines, another } = await team();
    const [first, second, third] = machines;
    const file = join(tempDir("backup"), "state.db");
    expect(documentOf(await first.vault("state", "backup", file, "--json"))).toMatchObject({
      backup: { file, vaults: 1, pending: 0 },
    });
    const { encryptedData, payload } = (await second.exported(uuid)) as Pair;
    const text = readFileSync(file, "latin1");
    for (const secret of [encryptedData, payload, note]) expect(text).not.toContain(secret);

    // A file is a state on a machine like any other.
    const apart = another(join(tempDir("apart"), "state"));
    await apart.ok("state", "restore", file, "--yes");
    expect(documentOf(await apart.vault("status", "--json"))).toMatchObject({
      vaults: [{ uuid, proven: false }],
    });

    await second.ok("get", uuid, "--json");
    const restored = await first.vault("state", "restore", file, "--yes", "--json");
    expect(documentOf(restored)).toMatchObject({
      restored: { vaults: [{ uuid, reason: "older" }] },
    });
    const again = await second.vault("get", uuid, "--json");
    expect(documentOf(again).vault.content).toBe(note);
    expect(again.stderr).toBe("");
    await expectInStep(lab, third, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("changes its key: who has the old one is told", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    await first.ok("get", uuid, "--no-ack", "--json");
    const { old, token } = (await second.exported(uuid)) as Recovery;
    expect(documentOf(await first.vault("state", "rekey", "--yes", "--json"))).toMatchObject({
      rekeyed: { source: "file", values: 4 },
    });
    expect(await first.exported(uuid)).toMatchObject({ old, token });
    expectError(await second.vault("status", "--json"), "state", /key file .* is missing/);
    await first.ok("ack", uuid);
    await expectInStep(lab, first, uuid);
  });

  it("changes its key, and with it what the machine has kept: a failover before that has lost an exchange", async () => {
    const all = await team();
    const { lab, uuid, machines } = all;
    await loseExchange(all);
    expect(documentOf(await machines[0].vault("state", "rekey", "--yes", "--json"))).toMatchObject({
      rekeyed: { source: "file" },
    });
    const again = await machines[0].vault("get", uuid, "--json");
    expect(documentOf(again).vault.content).toBe(note);
    expect(again.stderr).toContain("had lost the last exchange");
    await expectInStep(lab, machines[0], uuid);
  });

  it.each(["the former key", "a person"])(
    "changes its key elsewhere: who has kept a lost exchange needs %s",
    async (way) => {
      const all = await team();
      const { lab, uuid, machines } = all;
      const [first, second] = machines;
      await loseExchange(all);
      const former = keyFileOf(first);
      const aside = join(first.home, "former.key");
      await second.ok("state", "rekey", "--yes");
      renameSync(former, aside);
      copyNewest(second, first);
      const sent = lab.service.sandbox.requests().length;
      const stopped = await first.vault("get", uuid, "--json");
      const why = /has lost the last exchange .* is encrypted with key [0-9a-f]{16}, which/;
      expectError(stopped, "state", why);
      expect(lab.service.sandbox.requests()).toHaveLength(sent);
      // A vault that nothing was lost of is no concern of it.
      await first.ok("status");

      if (way === "a person") {
        forgetKept(errorOf(stopped).hint);
        expectExit(await first.vault("get", uuid, "--json"), 6);
        return expectFarFromLock(lab, uuid);
      }
      renameSync(aside, former);
      const again = await first.vault("get", uuid, "--json");
      expect(documentOf(again).vault.content).toBe(note);
      await expectInStep(lab, second, uuid);
    },
  );

  it.each(["database", "directory"])(
    "is moved to a %s after a failover has lost an exchange: who has kept that offers it at the new place",
    async (place) => {
      const all = await team();
      const { lab, uuid, machines } = all;
      const [first, second] = machines;
      await loseExchange(all);
      const isShared = place === "database";
      const to = isShared
        ? (await postgres()).location("moved_after_loss")
        : join(tempDir("apart"), "state");
      const there = { VAULTSVC_STATE: to };
      if (isShared) await second.okWith({ env: there }, "state", "init");
      await second.ok("state", "move", "--to", to, "--yes");
      const again = await first.vaultWith({ env: there }, "get", uuid, "--json");
      expect(documentOf(again).vault.content).toBe(note);
      expect(again.stderr).toContain("had lost the last exchange");
      const last = await second.vaultWith({ env: there }, "get", uuid, "--json");
      expect(documentOf(last).vault.content).toBe(note);
      expectFarFromLock(lab, uuid);
    },
  );

  it("changes its key: the other machines are named, and need a copy of its file", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    second.env["KEY"] = lab.service.application.apiKey;
    await second.ok("config", "set", "apiKey", "env:KEY");
    second.env["VAULTSVC_API_KEY"] = "";
    // Leaves an exchange in its outbox.
    await second.ok("get", uuid, "--json");
    const rekeyed = documentOf(await first.vault("state", "rekey", "--yes", "--json"));
    const keyFile = keyFileOf(first);
    expect(rekeyed).toMatchObject({ rekeyed: { keyFile, machines: ["desk"] } });
    const told = await second.vault("get", uuid, "--json");
    const why =
      /the key file .* is missing, and the secrets in postgres:.* are encrypted with key \w+$/;
    expectError(told, "state", why);
    expect(errorOf(told).help).toMatch(/^copy it there .* from another machine/);
    copyNewest(first, second);
    await second.ok("get", uuid, "--json");
    await expectInStep(lab, first, uuid);
  });

  it("changes its key to one that is given: a machine that gives the former one writes nothing", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    const former = { VAULTSVC_STATE_KEY: `@${keyFileOf(second)}` };
    const next = "7".repeat(64);
    const env = { SECRET: next };
    const rekey = ["state", "rekey", "--new-state-key", "env:SECRET", "--yes"];
    await first.okWith({ env }, ...rekey);
    const told = await second.vaultWith({ env: former }, "get", uuid, "--json");
    expectError(told, "state", /wrong key: .* VAULTSVC_STATE_KEY has key \w+; nothing was changed/);
    const given = { VAULTSVC_STATE_KEY: next };
    await second.okWith({ env: given }, "get", uuid, "--json");
    second.env["VAULTSVC_STATE_KEY"] = next;
    await expectInStep(lab, second, uuid);
  });

  it("changes its key on two machines at once: one of both wins, the other one lacks the key", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    const rekey = async (machine: Machine) =>
      await machine.vault("state", "rekey", "--yes", "--json");
    const [one, other] = await Promise.all([first, second].map(rekey));
    const [winner, loser] = one?.code === 0 ? [first, second] : [second, first];
    expect([one?.code, other?.code].sort()).toEqual([0, 14]);
    await winner.ok("get", uuid, "--json");
    copyNewest(winner, loser);
    await loser.ok("get", uuid, "--json");
    await expectInStep(lab, winner, uuid);
  });

  it("has a journal, which is replayed", async () => {
    const { uuid, machines } = await team();
    await machines[1].ok("label", uuid, "under-the-palm");
    const { stdout } = await machines[2].vault("audit-replay", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      vaults: [{ uuid, label: "under-the-palm", verdict: "ok" }],
    });
  });
});
