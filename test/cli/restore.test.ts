import { editVaults } from "../support/stored-vaults.ts";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  renameSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import {
  anew,
  backupOf,
  checkpoint,
  damage,
  restoredOf,
  sql,
  warm,
} from "../support/state-file.ts";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  firstGet,
  onlineCard,
  coldLab,
} from "../support/lab.ts";
import type { ErrorCode } from "../support/lab.ts";
import { errorOf, keyFileOf, type Machine } from "../support/machine.ts";
import { vaultInPty } from "../support/pty.ts";
import { tempDir } from "../support/cleanup.ts";
import { device } from "../support/examples.ts";

interface History {
  generations: { proven: boolean }[];
  exchanges: { id: string; state: string }[];
}

async function historyOf(machine: Machine, uuid: string): Promise<History> {
  const { stdout } = await machine.ok("status", uuid, "--history", "--json");
  const [vault] = (JSON.parse(stdout) as { vaults: [History] }).vaults;
  return vault;
}

describe.concurrent("vault state restore", () => {
  it("brings the state back where it was lost: pairs unproven, and the next get goes on", async () => {
    const { lab, machine, uuid, file } = await warm();
    await machine.ok("state", "backup", file);
    const other = anew(lab, machine);
    const result = await other.vault("state", "restore", file, "--json");
    expect(result).toMatchObject({ code: 0, stderr: "" });
    const vaults = [{ uuid, reason: "taken", exchange: null }];
    const state = other.stateDir;
    expect(restoredOf(result)).toMatchObject({ file, state, pending: 0, vaults });
    const names = ["locks", "vault.db", "vault.db-shm", "vault.db-wal"];
    expect(readdirSync(other.stateDir).sort()).toEqual(names);
    expect(statSync(join(other.stateDir, "vault.db")).mode & 0o777).toBe(0o600);
    const { generations } = await historyOf(other, uuid);
    expect(generations.map(({ proven }) => proven)).toEqual([false, false]);
    await other.ok("get", uuid);
    await expectInStep(lab, other, uuid);
    expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
  });

  it("asks where there is a state, and keeps all that is there", async () => {
    const { lab, machine, uuid, file } = await warm();
    await machine.ok("state", "backup", file);
    const extra = "7d9f7c1e-2d3c-4b5a-8697-a8b9cadbecfd";
    await machine.ok("import", extra, ...machine.given(lab.vault.credentials, "generic/offline"));
    const refused = await machine.vault("state", "restore", file, "--json");
    const asked = /Restore 1 vault from the backup into the state in .*\? What is there stays\./;
    expectError(refused, "usage", asked);
    expect(errorOf(refused).help).toContain("--yes");
    const result = await machine.ok("state", "restore", file, "--yes", "--json");
    expect(result.stderr).toBe("");
    const reasons = restoredOf(result).vaults.map((each) => `${each.uuid} ${each.reason}`);
    expect(reasons).toEqual([`${uuid} known`]);
    const { stdout } = await machine.vault("status", "--json");
    const { vaults } = JSON.parse(stdout) as { vaults: { uuid: string }[] };
    expect(vaults.map((vault) => vault.uuid).toSorted()).toEqual([uuid, extra].toSorted());
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });

  it("on a terminal it asks: no leaves all as it was", async () => {
    const { machine, uuid, file } = await warm();
    await machine.ok("state", "backup", file);
    const run = vaultInPty(["state", "restore", file], { env: machine.env, cwd: machine.home });
    await run.waitFor(/Restore 1 vault from the backup into the/);
    run.type("n\r");
    expect(await run.exit).toMatchObject({ code: 130 });
    expect(await machine.status(uuid)).toMatchObject({ status: "ready", proven: true });
    const yes = vaultInPty(["state", "restore", file], { env: machine.env, cwd: machine.home });
    await yes.waitFor(/Restore 1 vault from the backup into the/);
    yes.type("y\r");
    expect(await yes.exit).toMatchObject({ code: 0 });
  });

  it("a key that does not open it is exit 14 and named; nothing is touched", async () => {
    const { lab, machine, uuid, file } = await warm();
    const { keyId } = backupOf(await machine.vault("state", "backup", file, "--json"));
    const other = anew(lab, machine);
    for (const env of [
      { VAULTSVC_STATE_KEY: randomBytes(32).toString("base64") },
      { VAULTSVC_CONFIG_DIR: tempDir("none") },
    ]) {
      const result = await other.vaultWith({ env }, "state", "restore", file, "--json");
      expectError(result, "state", new RegExp(keyId));
    }
    expect(existsSync(other.stateDir)).toBe(false);
    await expectInStep(lab, machine, uuid);
  });

  const halve = (file: string): void =>
    truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096);
  const moveValues = (file: string): void =>
    editVaults(file, ({ sealed: { "credentials.sealed": pairs } }) => {
      for (const generation of Object.keys(pairs)) pairs[generation] = pairs["2"] ?? "";
    });
  const cutDocument = "UPDATE vaults SET doc = substr(doc, 1, 50)";
  const foreign = /the backup cannot be used: .* (?:not a database|not created by this program)/;
  it.each<[string, (file: string) => void, RegExp, ErrorCode?]>([
    ["is not there", (file) => rmSync(file), /no such file: /, "invalid-input"],
    ["is a folder", (file) => (rmSync(file), mkdirSync(file)), /not a file/, "invalid-input"],
    ["is text", (file) => writeFileSync(file, "not a database\n".repeat(500)), foreign],
    ["is empty", (file) => writeFileSync(file, ""), foreign],
    ["is cut", halve, /the backup cannot be used: .* damaged/],
    ["has a damaged page", (file) => damage(file), /damaged/],
    ["has a document that is cut", (file) => sql(file, cutDocument), /damaged \(the document of/],
    ["is another program's", (file) => (rmSync(file), sql(file, "CREATE TABLE t (x)")), foreign],
    ["is of a newer version", (file) => sql(file, "PRAGMA user_version = 99"), /newer version/],
    ["has a value that was moved", moveValues, /the backup cannot be used: .* copied from another/],
  ])(
    "a file that %s is refused, and the state stays",
    async (_, spoil, message, code = "state") => {
      const { lab, machine, uuid, file } = await warm();
      await machine.ok("state", "backup", file);
      spoil(file);
      const result = await machine.vault("state", "restore", file, "--yes", "--json");
      expectError(result, code, message);
      // The way out of a damaged state leads back to the same file.
      expect(result.stderr).not.toContain("vault state restore FILE");
      await expectInStep(lab, machine, uuid);
    },
  );

  it("takes the database of a copied state, with its WAL, as a backup", async () => {
    const { lab, machine, uuid, file } = await warm();
    const copy = join(file, "..", "copied-state");
    cpSync(machine.stateDir, copy, { recursive: true });
    const other = anew(lab, machine);
    const result = await other.ok("state", "restore", join(copy, "vault.db"), "--json");
    expect(result.stderr).toBe("");
    expect(restoredOf(result).vaults).toMatchObject([{ uuid, reason: "taken" }]);
    const alone = join(copy, "alone.db");
    cpSync(join(copy, "vault.db"), alone);
    const { stderr } = await anew(lab, machine).ok("state", "restore", alone);
    expect(stderr).toContain(`warning: ${alone} is the database of a state, without its WAL`);
    await other.ok("get", uuid);
    await expectInStep(lab, other, uuid);
  });

  it("refuses a damaged state; once that is moved aside it restores", async () => {
    const { lab, machine, uuid, file } = await warm();
    await machine.ok("state", "backup", file);
    const other = anew(lab, machine);
    await other.ok("state", "restore", file);
    const again = ["state", "restore", file, "--yes", "--json"];
    // Where no vault of the file is.
    checkpoint(other);
    damage(join(other.stateDir, "vault.db"), "limiter");
    expectError(await other.vault(...again), "state", /damaged/);
    writeFileSync(join(other.stateDir, "vault.db"), "garbage");
    const refused = await other.vault(...again);
    expectError(refused, "state", /damaged/);
    expect(errorOf(refused).help).toContain(`mv ${other.stateDir} ${other.stateDir}.damaged`);
    renameSync(other.stateDir, `${other.stateDir}.damaged`);
    await other.ok(...again);
    await other.ok("get", uuid);
    await expectInStep(lab, other, uuid);
  });

  it("does not take a state for damaged whose WAL has the page that a power loss has torn", async () => {
    const { lab, machine, uuid, file } = await warm();
    await machine.ok("state", "backup", file);
    const torn = anew(lab, machine);
    const open = new DatabaseSync(join(machine.stateDir, "vault.db"));
    open.exec("PRAGMA wal_autocheckpoint = 0; BEGIN IMMEDIATE; PRAGMA user_version = 2; COMMIT");
    cpSync(machine.stateDir, torn.stateDir, { recursive: true });
    open.close();
    const path = join(torn.stateDir, "vault.db");
    writeFileSync(path, Buffer.concat([Buffer.alloc(4096), readFileSync(path).subarray(4096)]));
    const result = await torn.ok("state", "restore", file, "--yes", "--json");
    expect(restoredOf(result)).toMatchObject({ vaults: [{ uuid, reason: "known" }] });
    await torn.ok("get", uuid);
  });

  it("waits for an exchange that is under way, and gives up with exit 15", async () => {
    const { lab, machine, uuid, file } = await warm();
    await machine.ok("state", "backup", file);
    lab.faults("get-start:delay=1m");
    const get = machine.start({}, "get", uuid);
    const sent = (): number => lab.service.sandbox.requests().length;
    await vi.waitFor(() => expect(sent()).toBeGreaterThan(2), 10_000);
    const restore = ["state", "restore", file, "--yes", "--json"];
    expectError(await machine.vault(...restore, "--max-wait", "300ms"), "busy");
    get.kill("SIGKILL");
    await get.exit;
    lab.service.faults.clear();
    await machine.ok(...restore);
    // The start that was killed is remembered, although the backup does not know of it.
    expect(await machine.status(uuid)).toMatchObject({ unackedStarts: 1 });
    expectFarFromLock(lab, uuid);
  });
});

describe.concurrent("a backup that is older than what has happened since", () => {
  it("opens a backup with its own key, where that is not the key of the state", async () => {
    const { machine, uuid, file } = await warm();
    const old = machine.file("old.key", readFileSync(keyFileOf(machine), "utf8"));
    const [given, other] = ["7", "9"].map((digit) => digit.repeat(64));
    await machine.ok("state", "backup", file);
    rmSync(keyFileOf(machine));
    const at = ["--state", join(machine.home, "empty")];
    const refused = await machine.vault("state", "restore", file, ...at, "--json");
    expectError(refused, "state", /the key file .* is missing, and the secrets in .*backup/);
    expect(errorOf(refused).help).toContain("--backup-key");
    const env = { VAULTSVC_STATE_KEY: given, OTHER: other };
    const restore = async (...key: string[]) =>
      await machine.vaultWith({ env }, "state", "restore", file, ...at, ...key, "--json");
    for (const [key, named] of [
      [[], "set key"],
      [["--backup-key", "env:OTHER"], "--backup-key to key"],
    ] as const) {
      const wrong = await restore(...key);
      expectError(wrong, "state", /wrong key: the secrets in .*backup/);
      expect(errorOf(wrong).help).toContain(named);
    }
    expectExit(await restore("--backup-key", `@${old}`), 0);
    await machine.okWith({ env }, "get", uuid, ...at);
    expectError(await machine.vault("get", uuid, ...at, "--json"), "state", /\.key is missing/);
  });

  it("keeps nothing of a vault that was forgotten since, and says so", async () => {
    const { machine, uuid, file } = await warm();
    await machine.ok("state", "backup", file);
    await machine.ok("get", uuid);
    await machine.ok("forget", uuid, "--yes");
    const result = await machine.vault("state", "restore", file, "--yes", "--json");
    expect(restoredOf(result).vaults).toMatchObject([{ uuid, reason: "older" }]);
    const { stdout } = await machine.vault("state", "restore", file, "--yes");
    expect(stdout).toMatch(/: the credentials of the backup were/);
  });

  it("the device that the service accepted goes with the current pair", async () => {
    const { lab, machine, uuid } = await coldLab(onlineCard);
    expectExit(await firstGet(machine, lab.vault), 0);
    const file = join(tempDir("b"), "b");
    await machine.ok("state", "backup", file);
    const { stdout } = await machine.ok("state", "restore", file, "--yes");
    expect(stdout).toContain("\n1 vault: nothing in the backup is new\n");
    const other = machine.file("other.json", { ...device, browserType: "Chrome" });
    const refused = await machine.vault("get", uuid, "--device", `@${other}`, "--json");
    expectError(refused, "guard", /browserType/);
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });

  it("a held exchange whose token is alive stays held; if it was acknowledged since, its end call finds out", async () => {
    const { lab, machine, uuid, file } = await warm();
    await machine.ok("get", uuid, "--no-ack");
    await machine.ok("state", "backup", file);
    const [unused, other] = [anew(lab, machine), anew(lab, machine)];
    for (const each of [unused, other]) await each.ok("state", "restore", file);
    expect((await other.status(uuid)).exchange).toMatchObject({ state: "held" });
    await machine.ok("ack", uuid);
    await machine.ok("get", uuid);
    expectError(await other.vault("get", uuid, "--json"), "pending");
    expectError(await other.vault("ack", uuid, "--json"), "in-doubt");
    await unused.ok("export", uuid);
    expectFarFromLock(lab, uuid);
  });
});
