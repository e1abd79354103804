import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import {
  expectError,
  expectExit,
  firstGetArgs,
  offlineNote,
  openLab,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { documentOf, errorOf, keyFileOf, type Machine } from "../support/machine.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

async function machineWithoutState(): Promise<Machine> {
  const lab = await openLab(offlineNote);
  return lab.machine();
}

describe.concurrent("vault state init", () => {
  it("creates directory, database and key; a second run changes nothing and says that the state exists", async () => {
    const { lab, machine } = await coldLab(offlineNote);
    const { stateDir: state } = machine;
    const created = await machine.vault("state", "init");
    const keyFile = keyFileOf(machine);
    expect(created).toMatchObject({
      code: 0,
      stdout: `Created the state ${state} (key file ${keyFile})\n`,
      stderr: "",
    });
    expect([state, join(state, "vault.db"), keyFile].map(modeOf)).toEqual([0o700, 0o600, 0o600]);
    const key = readFileSync(keyFile, "utf8");
    const again = await machine.vault("state", "init");
    expect(again).toMatchObject({
      code: 0,
      stdout: `The state ${state} already exists (key file ${keyFile})\n`,
      stderr: "",
    });
    // The first vault is encrypted with this key.
    await machine.ok(...firstGetArgs(machine, lab.vault));
    const json = await machine.vault("state", "init", "--json");
    expect(JSON.parse(json.stdout)).toEqual({ state, keyFile, created: false });
    expect(readFileSync(keyFile, "utf8")).toBe(key);
  });

  it("creates no key file where the key is given", async () => {
    const machine = await machineWithoutState();
    const env = { VAULTSVC_STATE_KEY: Buffer.alloc(32, 7).toString("base64") };
    const result = await machine.okWith({ env }, "state", "init", "--json");
    expect(JSON.parse(result.stdout)).toEqual({
      state: machine.stateDir,
      keyFile: null,
      created: true,
    });
    expect(existsSync(keyFileOf(machine))).toBe(false);
  });

  it("never creates a key where values are encrypted with another", async () => {
    const { machine } = await warmLab(offlineNote);
    rmSync(keyFileOf(machine));
    expectError(await machine.vault("state", "init", "--json"), "state", /\.key is missing/);
    expect(existsSync(keyFileOf(machine))).toBe(false);
  });

  it.each([
    ["a role", "--grant", "vaults"],
    ["another database", "--state", "mysql://db/vaults"],
  ])("of this machine knows nothing of %s", async (_, ...more) => {
    const machine = await machineWithoutState();
    expectError(await machine.vault("state", "init", ...more, "--json"), "usage");
    expect(existsSync(machine.stateDir)).toBe(false);
  });
});

describe.concurrent("vault state locks", () => {
  it("lists none where nothing is in use, and creates nothing", async () => {
    const machine = await machineWithoutState();
    expect(await machine.vault("state", "locks")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    });
    const host = fakeHost({ env: machine.env, home: machine.home, isTTY: true });
    await main(["state", "locks"], host);
    await host.flush();
    expect(host.out).toBe("No vault is in use.\n");
    expect(existsSync(machine.stateDir)).toBe(false);
    const json = await machine.ok("state", "locks", "--json");
    expect(JSON.parse(json.stdout)).toEqual({ locks: [] });
    const unknown = "5a4b0000-0000-4000-8000-000000000000";
    expectError(await machine.vault("forget", unknown, "--yes", "--json"), "no-credentials");
    expect(existsSync(machine.stateDir)).toBe(false);
  });

  it("names who has a vault for as long as a program runs, which keeps nobody from another one or from a backup", async () => {
    const { lab, machine } = await coldLab([offlineNote, offlineNote]);
    const [uuid = "", other = ""] = lab.service.vaults.map((vault) => vault.uuid);
    for (const vault of lab.service.vaults) await machine.ok(...firstGetArgs(machine, vault));
    const go = join(machine.home, "go");
    execFileSync("mkfifo", [go]);
    const run = machine.start({}, "run", uuid, "--stdin", "--", "sh", "-c", `echo up; cat ${go}`);
    await run.waitFor(/up/);
    const by = { pid: run.pid };
    const locks = documentOf(await machine.vault("state", "locks", "--json"));
    expect(locks).toMatchObject({ locks: [{ uuid, holder: by }] });
    await machine.ok("get", other, "--max-wait", "0s");
    const backup = join(machine.home, "backup.db");
    await machine.ok("state", "backup", backup, "--max-wait", "0s");
    for (const args of [
      ["get", uuid],
      ["state", "rekey", "--yes"],
    ]) {
      const busy = await machine.vault(...args, "--max-wait", "100ms", "--json");
      expectError(busy, "busy", new RegExp(`^another process is using vault ${uuid}$`));
      expect(errorOf(busy)).toMatchObject({ uuid, by });
    }
    writeFileSync(go, "");
    expectExit(await run.exit, 0);
    await machine.ok("state", "rekey", "--yes");
  });
});
