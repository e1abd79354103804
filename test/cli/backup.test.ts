import { storedVaults } from "../support/stored-vaults.ts";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Pair } from "../../src/protocol/answers.ts";
import { backupOf, warm } from "../support/state-file.ts";
import {
  coldLab,
  expectError,
  expectExit,
  expectInStep,
  importAll,
  offlineNote,
} from "../support/lab.ts";
import { errorOf, keyFileOf } from "../support/machine.ts";
import { Secrets } from "../support/secret-search.ts";
import { tempDir } from "../support/cleanup.ts";

describe.concurrent("vault state backup", () => {
  it("writes one file, sealed, and says what it holds and that the key is not in it", async () => {
    const { machine, uuid, file } = await warm();
    await machine.ok("get", uuid, "--no-ack");
    const result = await machine.vault("state", "backup", file);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout.trimEnd().split("\n")).toEqual([
      `Copied 1 vault (1 exchange pending) to ${file}`,
      `Not in it: key file ${keyFileOf(machine)}. The backup cannot be opened without it; keep a copy of it elsewhere.`,
    ]);
    expect(readdirSync(join(file, ".."))).toEqual(["backup.db"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(keyFileOf(machine), "utf8").trim();
    const secrets = new Secrets();
    secrets.add("key", key);
    const exported = (await machine.exported(uuid)) as { old: Pair; new: Pair; token: string };
    for (const [name, pair] of Object.entries({ old: exported.old, new: exported.new })) {
      secrets.add(`${name} encryptedData`, pair.encryptedData);
      secrets.add(`${name} payload`, pair.payload);
    }
    secrets.add("token", exported.token);
    expect(secrets.count).toBe(6);
    expect(secrets.in(readFileSync(file))).toEqual([]);
  });

  it("holds what is in the WAL, and is consistent while other processes go on", async () => {
    const { lab, machine } = await coldLab([offlineNote, offlineNote, offlineNote]);
    await importAll(lab, machine);
    const folder = tempDir("backups");
    let running = true;
    const readers = lab.service.vaults.map(async ({ uuid }) => {
      while (running) await machine.ok("get", uuid, "--max-wait", "10h");
    });
    const files = ["1", "2", "3", "4"].map((name) => join(folder, name));
    for (const file of files) {
      const made = await machine.vault("state", "backup", file, "--json");
      expect(backupOf(made)).toMatchObject({ file, vaults: 3 });
    }
    running = false;
    await Promise.all(readers);
    for (const file of files) {
      const db = new DatabaseSync(file, { readOnly: true });
      expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      // Of each vault either no exchange, or whole steps of one: the pair that it names is there.
      for (const { exchanges, credentials } of storedVaults(file)) {
        const numbers = [null, ...credentials.map(({ generation }) => generation)];
        for (const { newGeneration } of exchanges) expect(numbers).toContain(newGeneration);
      }
      db.close();
    }
    for (const { uuid } of lab.service.vaults) await expectInStep(lab, machine, uuid);
  });

  it("replaces a file only with --force, and never the key file or anything in the folder of the state", async () => {
    const { machine, file } = await warm();
    writeFileSync(file, "precious");
    const refused = await machine.vault("state", "backup", file, "--json");
    expectError(refused, "invalid-input", /already exists/);
    expect(errorOf(refused).help).toContain("--force");
    expect(readFileSync(file, "utf8")).toBe("precious");
    chmodSync(file, 0o644);
    await machine.ok("state", "backup", file, "--force");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = keyFileOf(machine);
    const before = readFileSync(key);
    const inState = ["vault.db", "vault.db-wal", "other.db", "locks/x"];
    for (const [path, why] of [
      ...[key, ...inState.map((name) => join(machine.stateDir, name))].map(
        (path) => [path, /this program's own/] as const,
      ),
      [join(file, "..", "none", "b"), /does not exist/],
      [join(file, ".."), /not a file/],
    ] as const) {
      const backup = await machine.vault("state", "backup", path, "--force", "--json");
      expectError(backup, "invalid-input", why);
    }
    expect(readFileSync(key)).toEqual(before);
  });

  it("needs a state, and makes none", async () => {
    const { machine } = await coldLab(offlineNote);
    const backup = await machine.vault("state", "backup", join(tempDir("b"), "b"), "--json");
    expectError(backup, "state", /no state/);
    expect(existsSync(machine.stateDir)).toBe(false);
  });

  it("is read back, and so needs the key", async () => {
    const { machine, file } = await warm();
    const env = { VAULTSVC_CONFIG_DIR: tempDir("no-key") };
    const refused = await machine.vaultWith({ env }, "state", "backup", file);
    expectExit(refused, 14);
    expect(refused.stderr).toMatch(/key file .* is missing/);
    expect(existsSync(file)).toBe(false);
  });
});
