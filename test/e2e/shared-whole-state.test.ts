import { appendFileSync, cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectError, expectExit, expectFarFromLock, expectInStep, note } from "../support/lab.ts";
import type { Recovery } from "../support/machine.ts";
import { documentOf, errorOf } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";
import { forgetKept, SchemaCopy, team } from "../support/shared-state.ts";
import type { Team } from "../support/shared-state.ts";
import { tempDir } from "../support/cleanup.ts";
import { vaultInPty } from "../support/pty.ts";
import { helpOf } from "../support/help.ts";

/** The first machine acknowledges an exchange, of which a failover leaves nothing. */
async function loseExchange({ schema, sql, uuid, machines }: Team): Promise<void> {
  const copy = new SchemaCopy((await postgres()).sql, schema, `${schema}_standby`);
  await copy.take();
  expectExit(await machines[0].vault("get", uuid, "--json"), 0);
  await copy.putBack();
  await sql("INSERT INTO schema.meta VALUES ('set-back', '2026-11-21T10:00:00.000Z')");
}

describe("the whole of a shared state", () => {
  it("is copied into a file that holds no secret, and brought back; what was used since stays", async () => {
    const { lab, uuid, machines, another } = await team();
    const [first, second, third] = machines;
    const file = join(tempDir("backup"), "state.db");
    expect(documentOf(await first.vault("state", "backup", file, "--json"))).toMatchObject({
      backup: { file, vaults: 1, pending: 0 },
    });
    const { encryptedData, payload } = (await second.exported(uuid)) as {
      encryptedData: string;
      payload: string;
    };
    const text = readFileSync(file, "latin1");
    for (const secret of [encryptedData, payload, note]) expect(text).not.toContain(secret);

    // A file is a state on a machine like any other.
    const apart = another(join(tempDir("apart"), "state"));
    expectExit(await apart.vault("state", "restore", file, "--yes"), 0);
    expect(documentOf(await apart.vault("status", "--json"))).toMatchObject({
      vaults: [{ uuid, proven: false }],
    });

    expectExit(await second.vault("get", uuid, "--json"), 0);
    const restored = await first.vault("state", "restore", file, "--yes", "--json");
    expect(documentOf(restored)).toMatchObject({
      restored: { vaults: [{ uuid, kept: "here", reason: "older" }] },
    });
    const again = await second.vault("get", uuid, "--json");
    expect(documentOf(again).vault.content).toBe(note);
    expect(again.stderr).toBe("");
    await expectInStep(lab, third, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("gives a label to one vault, of two machines at once, also under another key", async () => {
    const { uuid, machines, sql } = await team();
    const [first, second, third] = machines;
    const other = uuid.replace(/^.{8}/, "0f9b1c1e");
    const pair = { PAIR: JSON.stringify({ encryptedData: "data", payload: "payload" }) };
    const more = ["--kind", "generic/offline", "--credentials", "env:PAIR", "--label", "Grace"];
    expectExit(await first.vaultWith({ env: pair }, "import", other, ...more), 0);
    expectExit(await first.vault("label", uuid, "Ada"), 0);
    expectError(await second.vault("label", uuid, "Grace", "--json"), 2, "usage", /already has/);
    const atOnce = async (one: typeof first, two: typeof first, label: string): Promise<void> => {
      const runs = await Promise.all([
        one.vault("label", uuid, label, "--json"),
        two.vault("label", other, label, "--json"),
      ]);
      expect(runs.map(({ code }) => code).toSorted()).toEqual([0, 2]);
    };
    for (let round = 0; round < 5; round += 1) await atOnce(second, third, `round ${round}`);
    const digests = async () =>
      (await sql(`SELECT "labelDigest" FROM schema.vaults ORDER BY uuid`)).map(
        (row) => row["labelDigest"],
      );
    const before = await digests();
    expect(new Set(before).size).toBe(2);
    expect(JSON.stringify(before)).not.toMatch(/null|round|Ada|Grace/);
    expectExit(await first.vault("state", "rekey", "--yes"), 0);
    const after = await digests();
    expect(new Set([...before, ...after]).size).toBe(4);
    await atOnce(first, first, "last");
    // The same by the constraint alone.
    await expect(
      sql(`UPDATE schema.vaults SET "labelDigest" = '${String((await digests())[0])}'`),
    ).rejects.toThrow(/one_label/);
  });

  it("changes its key: who has the old one is told", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    expectExit(await first.vault("get", uuid, "--no-ack", "--json"), 0);
    const { old, token } = (await second.exported(uuid)) as Recovery;
    expect(documentOf(await first.vault("state", "rekey", "--yes", "--json"))).toMatchObject({
      rekeyed: { source: "file", values: 4 },
    });
    expect(await first.exported(uuid)).toMatchObject({ old, token });
    expectError(await second.vault("status", "--json"), 14, "state", /wrong key/);
    expectExit(await first.vault("ack", uuid), 0);
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
      const [key, former] = ["state.key", "former.key"].map((name) =>
        join(first.configDir, name),
      ) as [string, string];
      cpSync(key, former);
      expectExit(await second.vault("state", "rekey", "--yes"), 0);
      cpSync(join(second.configDir, "state.key"), key);
      const sent = lab.service.sandbox.requests().length;
      const stopped = await first.vault("get", uuid, "--json");
      expectError(
        stopped,
        14,
        "state",
        /has lost the last exchange .* is encrypted with key [0-9a-f]{16}, which/,
      );
      expect(lab.service.sandbox.requests()).toHaveLength(sent);
      // A vault that nothing was lost of is no concern of it.
      expectExit(await first.vault("status"), 0);

      if (way === "a person") {
        forgetKept(errorOf(stopped).hint);
        expectExit(await first.vault("get", uuid, "--json"), 6);
        return expectFarFromLock(lab, uuid);
      }
      cpSync(former, key);
      const again = await first.vault(
        "get",
        uuid,
        "--json",
        "--state-key",
        `@${join(second.configDir, "state.key")}`,
      );
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
      if (isShared) expectExit(await second.vaultWith({ env: there }, "state", "init"), 0);
      expectExit(await second.vault("state", "move", "--to", to, "--yes"), 0);
      const again = await first.vaultWith({ env: there }, "get", uuid, "--json");
      expect(documentOf(again).vault.content).toBe(note);
      expect(again.stderr).toContain("had lost the last exchange");
      expect(
        documentOf(await second.vaultWith({ env: there }, "get", uuid, "--json")).vault.content,
      ).toBe(note);
      expectFarFromLock(lab, uuid);
    },
  );

  it("changes its key: another machine takes it with one command, and keeps the secrets of its profiles", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second, third] = machines;
    for (const machine of [second, third]) {
      machine.env["KEY"] = lab.service.application.apiKey;
      expectExit(await machine.vault("config", "set", "apiKey", "env:KEY"), 0);
      machine.env["VAULTSVC_API_KEY"] = "";
      // Leaves an exchange in its outbox.
      expectExit(await machine.vault("get", uuid, "--json"), 0);
    }
    const { stderr } = await first.vault("state", "rekey", "--yes", "--json");
    expect(stderr).toBe("");
    const key = join(first.configDir, "state.key");
    const told = await second.vault("get", uuid, "--json");
    expectError(
      told,
      14,
      "state",
      new RegExp(`wrong key: the secrets in postgres:.* on .* has it in the key file ${key}`),
    );
    expect(helpOf(errorOf(told))).toContain(
      "vault state rekey --state-key @FILE (changes this machine only: FILE is a copy of that key)",
    );
    const copy = second.file("copy.key", readFileSync(key, "utf8"));
    expectError(
      await second.vault("state", "rekey", "--state-key", `@${copy}`, "--json"),
      2,
      "usage",
      /Take over key [0-9a-f]{16}\?.* A state that has it already stays as it is/,
    );
    expectExit(await second.vault("state", "rekey", "--state-key", `@${copy}`, "--yes"), 0);
    expect(readFileSync(join(second.configDir, "state.key"), "utf8")).toBe(
      readFileSync(key, "utf8"),
    );
    expectExit(await second.vault("get", uuid, "--json"), 0);

    // Who puts the new key file in the place of its own has secrets of a profile that need the former one.
    const former = readFileSync(join(third.configDir, "state.key"), "utf8");
    cpSync(key, join(third.configDir, "state.key"));
    const culprit = await third.vault("get", uuid, "--json");
    expectError(
      culprit,
      14,
      "state",
      new RegExp(
        `the config key apiKey of profile default is encrypted with key ${former.split(" ")[1]}`,
      ),
    );
    expect(helpOf(errorOf(culprit))).toMatch(/; vault config set apiKey @FILE --profile default/);
    expectExit(await third.vault("config", "set", "apiKey", "env:KEY"), 0);
    expectExit(await third.vault("get", uuid, "--json"), 0);
    await expectInStep(lab, first, uuid);
  });

  it.each(["passphrase", "given"] as const)(
    "changes its key to one with the source %s: another machine follows by what it is told",
    async (to) => {
      const { lab, uuid, machines } = await team();
      const [first, second] = machines;
      second.env["KEY"] = lab.service.application.apiKey;
      expectExit(await second.vault("config", "set", "apiKey", "env:KEY"), 0);
      second.env["VAULTSVC_API_KEY"] = "";
      // Leaves an exchange in its outbox.
      expectExit(await second.vault("get", uuid, "--json"), 0);
      const isPassphrase = to === "passphrase";
      const secret = isPassphrase ? "correct horse battery" : "7".repeat(64);
      const flag = isPassphrase ? "--new-passphrase" : "--new-state-key";
      const changed = await first.vaultWith(
        { env: { SECRET: secret } },
        "state",
        "rekey",
        flag,
        "env:SECRET",
        "--yes",
      );
      expectExit(changed, 0);
      const key = readFileSync(join(first.configDir, "state.key"), "utf8");
      const copy = second.file("copy.key", key);
      const takeOver = ["state", "rekey", "--state-key"];

      const told = await second.vault("get", uuid, "--json");
      expectError(told, 14, "state", /wrong key/);
      expect(helpOf(errorOf(told))).toContain("vault state rekey --state-key @FILE");
      if (isPassphrase) {
        const missing = await second.vault(...takeOver, `@${copy}`, "--yes", "--json");
        expectError(missing, 2, "usage", /passphrase is missing/);
        second.env["VAULTSVC_STATE_PASSPHRASE"] = "wrong horse battery";
        const wrong = await second.vault(...takeOver, `@${copy}`, "--yes", "--json");
        expectError(wrong, 14, "state", /wrong passphrase/);
        second.env["VAULTSVC_STATE_PASSPHRASE"] = secret;
        const source = await second.vault("get", uuid, "--json");
        expectError(source, 14, "state", /the key source is set to passphrase/);
        const changing = ["state", "rekey", "--to", "passphrase"];
        expect(helpOf(errorOf(source))).toContain(`vault ${changing.join(" ")}`);
        const again = await second.vault(...changing, "--yes", "--json");
        expectError(again, 14, "state", /wrong key/);
        expect(helpOf(errorOf(again))).toContain("vault state rekey --state-key @FILE");
        expectExit(await second.vault(...takeOver, `@${copy}`, "--yes"), 0);
        expect(readFileSync(join(second.configDir, "state.key"), "utf8")).toBe(key);
      } else {
        const named = await second.vault(...takeOver, `@${copy}`, "--yes", "--json");
        expectError(named, 3, "invalid-input", /only names key [0-9a-f]{16}/);
        expect(helpOf(errorOf(named))).toBe(
          "use the key itself, as it was given to --new-state-key",
        );
        const given = second.file("given.key", secret);
        expectExit(await second.vault(...takeOver, `@${given}`, "--yes"), 0);
      }
      expectExit(await second.vault("get", uuid, "--json"), 0);
      await expectInStep(lab, second, uuid);
    },
  );

  it("changes its passphrase: another machine is asked for both", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    const rekey = ["state", "rekey", "--yes"];
    const change = async (from: string, to: string) => {
      const env = { ...first.env, NEW: to, ...(from && { VAULTSVC_STATE_PASSPHRASE: from }) };
      const args = [...rekey, "--new-passphrase", "env:NEW"];
      const { code, text } = await vaultInPty(args, { env, columns: 500 }).exit;
      expect(code, text).toBe(0);
      expect(text).toMatch(/copy .*state\.key there, .* --state-key @COPY \(with the passphrase\)/);
      const key = readFileSync(join(first.configDir, "state.key"), "utf8");
      return { key, copy: second.file("copy.key", key), id: key.split(" ")[1] ?? "" };
    };
    const former = await change("", "the former one");
    const env = { VAULTSVC_STATE_PASSPHRASE: "the former one" };
    expectExit(await second.vaultWith({ env }, ...rekey, "--state-key", `@${former.copy}`), 0);
    // A secret of its profile needs the former key.
    const set = ["config", "set", "apiKey", "env:KEY"];
    expectExit(
      await second.vaultWith({ env: { ...env, KEY: lab.service.application.apiKey } }, ...set),
      0,
    );
    const { key, copy, id } = await change("the former one", "the new one");
    const adopt = [...rekey, "--state-key", `@${copy}`];
    const refused = await second.vaultWith({ env }, ...adopt, "--json");
    expectError(refused, 14, "state", new RegExp(`wrong passphrase for key ${id}`));
    expect(helpOf(errorOf(refused))).toMatch(/ unset it and enter the passphrase when asked$/);
    const asked = vaultInPty(adopt, { env: second.env, columns: 500 });
    await asked.waitFor(new RegExp(`Passphrase \\(key ${id}\\)`));
    asked.type("the new one\r");
    await asked.waitFor(new RegExp(`Passphrase \\(key ${former.id}\\)`));
    asked.type("the former one\r");
    const { code, text } = await asked.exit;
    expect(code, text).toBe(0);
    expect(readFileSync(join(second.configDir, "state.key"), "utf8")).toBe(key);
    const renewed = { VAULTSVC_STATE_PASSPHRASE: "the new one" };
    expectExit(await second.vaultWith({ env: renewed }, "get", uuid, "--json"), 0);
  });

  it("changes its key: another machine that was interrupted while it took it goes on", async () => {
    const { uuid, machines } = await team();
    const [first, second] = machines;
    expectExit(await first.vault("state", "rekey", "--yes"), 0);
    const [key, own] = [first, second].map(({ configDir }) => join(configDir, "state.key")) as [
      string,
      string,
    ];
    const taken = readFileSync(key, "utf8");
    appendFileSync(own, taken);
    expectExit(await second.vault("state", "rekey", "--state-key", `@${key}`, "--yes"), 0);
    expect(readFileSync(own, "utf8")).toBe(taken);
    expectExit(await second.vault("get", uuid, "--json"), 0);
  });

  it("changes its key on two machines at once: one of both wins, the other one lacks the key", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    const [one, other] = await Promise.all(
      [first, second].map(
        async (machine) => await machine.vault("state", "rekey", "--yes", "--json"),
      ),
    );
    const [winner, loser] = one?.code === 0 ? [first, second] : [second, first];
    expect([one?.code, other?.code].sort()).toEqual([0, 14]);
    expectExit(await winner.vault("get", uuid, "--json"), 0);
    const copy = loser.file("copy.key", readFileSync(join(winner.configDir, "state.key"), "utf8"));
    expectExit(await loser.vault("state", "rekey", "--state-key", `@${copy}`, "--yes"), 0);
    expectExit(await loser.vault("get", uuid, "--json"), 0);
    await expectInStep(lab, winner, uuid);
  });

  it("changes its key: one that another state on record is encrypted with stays in the key file", async () => {
    const { uuid, machines, another } = await team();
    const [first] = machines;
    const { location } = await postgres();
    const elsewhere = location("same_key");
    expectExit(await first.vault("state", "init", "--state", elsewhere), 0);
    expectExit(await first.vault("label", uuid, "here"), 0);
    expectExit(await first.vault("state", "rekey", "--yes"), 0);
    expectExit(await first.vault("status", "--state", elsewhere), 0);
    expectExit(await another(elsewhere).vault("status"), 0);
  });

  it("keeps its key where that of a state in a directory with the same key file is changed", async () => {
    const { lab, uuid, machines } = await team();
    const [first] = machines;
    const local = { VAULTSVC_STATE: join(first.home, "another-state") };
    expectExit(await first.vaultWith({ env: local }, "state", "init"), 0);
    expectExit(await first.vaultWith({ env: local }, "state", "rekey", "--yes"), 0);
    expectExit(await first.vault("get", uuid, "--json"), 0);
    await expectInStep(lab, first, uuid);
  });

  it.each(["the former key is given", "the former key file is there, and the new key is given"])(
    "takes a backup that was made before its key was changed: %s",
    async (way) => {
      const { lab, uuid, machines } = await team();
      const [first] = machines;
      const [key, former, changed] = ["state.key", "former.key", "new.key"].map((name) =>
        join(first.configDir, name),
      ) as [string, string, string];
      const file = join(tempDir("backup"), "state.db");
      expectExit(await first.vault("state", "backup", file), 0);
      cpSync(key, former);
      expectExit(await first.vault("state", "rekey", "--yes"), 0);
      expectExit(await first.vault("forget", uuid, "--yes"), 0);
      const refused = await first.vault("state", "restore", file, "--yes", "--json");
      expectError(refused, 14, "state", /wrong key: the secrets in .*state\.db are encrypted/);
      expect(helpOf(errorOf(refused))).toMatch(
        /^use key \w+ with --state-key, or put its key file at/,
      );
      const isGiven = way === "the former key is given";
      if (!isGiven) {
        cpSync(key, changed);
        cpSync(former, key);
      }
      const given = ["--state-key", `@${isGiven ? former : changed}`];
      expectExit(await first.vault("state", "restore", file, "--yes", ...given), 0);
      if (!isGiven) cpSync(changed, key);
      expect(documentOf(await first.vault("get", uuid, "--json")).vault.content).toBe(note);
      expectFarFromLock(lab, uuid);
    },
  );

  it("has a journal, which is replayed", async () => {
    const { uuid, machines } = await team();
    expectExit(await machines[1].vault("label", uuid, "under-the-palm"), 0);
    const { stdout } = await machines[2].vault("audit-replay", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      vaults: [{ uuid, label: "under-the-palm", verdict: "ok" }],
    });
  });
});
