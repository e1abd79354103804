import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectInStep,
  firstGetArgs,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { vaultInPty } from "../support/pty.ts";
import { helpOf } from "../support/help.ts";

const root = join(import.meta.dirname, "..", "..");
const rekey = ["state", "rekey", "--yes", "--json"];
const keyFile = (machine: Machine): string =>
  readFileSync(join(machine.configDir, "state.key"), "utf8");
const rekeyedOf = (result: RunResult) =>
  (
    JSON.parse(result.stdout) as {
      rekeyed: { from: string[]; to: string; source: string; states: string[]; values: number };
    }
  ).rekeyed;

/** Two vaults, each in a state of its own, with one configuration and so one key file. */
async function twoStates(): Promise<{
  lab: Lab;
  machine: Machine;
  other: Machine;
  uuids: string[];
}> {
  const lab = await openLab([offlineNote, offlineNote]);
  const machine = lab.machine();
  const other = lab.machine({ home: machine.home, stateDir: join(machine.home, "other") });
  const [first, second] = lab.service.vaults;
  if (first === undefined || second === undefined) throw new Error("two vaults are needed");
  expectExit(await machine.vault(...firstGetArgs(machine, first)), 0);
  expectExit(await other.vault(...firstGetArgs(other, second)), 0);
  return { lab, machine, other, uuids: [first.uuid, second.uuid] };
}

describe.concurrent("state rekey", () => {
  it("changes every state that was begun with the key file, and says so in each journal", async () => {
    const { lab, machine, other, uuids } = await twoStates();
    const [, before] = keyFile(machine).split(" ");
    const result = await machine.vault(...rekey);
    expectExit(result, 0);
    expect(result.stderr).toBe("");
    const rekeyed = rekeyedOf(result);
    for (const name of ["vault.db", "vault.db-wal"]) {
      const path = join(machine.stateDir, name);
      const bytes = existsSync(path) ? readFileSync(path, "latin1") : "";
      expect(bytes.includes(`s1:${before}:`), `${name} holds values of the old key`).toBe(false);
    }
    expect(rekeyed).toMatchObject({
      from: [before],
      source: "file",
      states: [other.stateDir, machine.stateDir].sort(),
      values: 4,
    });
    expect(keyFile(machine).startsWith(`vaultsvc-key-1 ${rekeyed.to} `)).toBe(true);
    for (const [index, each] of [machine, other].entries()) {
      expectExit(await each.vault("get", uuids[index] ?? ""), 0);
      await expectInStep(lab, each, uuids[index] ?? "");
      const db = new DatabaseSync(join(each.stateDir, "vault.db"));
      expect(db.prepare("SELECT uuid, detail FROM journal WHERE event = 'rekeyed'").all()).toEqual([
        { uuid: uuids[index], detail: JSON.stringify({ from: before, to: rekeyed.to, values: 2 }) },
      ]);
      db.close();
    }
  });

  it("does nothing while one of them is away, unless it is told to go on without it", async () => {
    const { machine, other } = await twoStates();
    const before = keyFile(machine);
    renameSync(other.stateDir, `${other.stateDir}-away`);
    const refused = await machine.vault(...rekey);
    expectError(refused, 14, "state", /is missing: .*other; nothing was changed/);
    expect(helpOf(errorOf(refused))).toContain("--skip-missing");
    expect(keyFile(machine)).toBe(before);
    const forced = await machine.vault(...rekey, "--skip-missing");
    expectExit(forced, 0);
    expect(forced.stderr).toMatch(
      /^vault: warning: the state .*other is missing and keeps its old key\n$/,
    );
  });

  it("waits for whoever holds a vault, and gives up with 15; nothing is changed", async () => {
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    const before = keyFile(machine);
    lab.faults("get-start:delay=20s");
    const reading = machine.start({}, "get", lab.vault.uuid);
    await expect.poll(() => lab.service.sandbox.inspect(lab.vault.uuid).counts).toBeDefined();
    const db = new DatabaseSync(join(machine.stateDir, "vault.db"), { readOnly: true });
    await expect
      .poll(
        () => db.prepare("SELECT count(*) AS n FROM journal WHERE event = 'intent'").get()?.["n"],
        { timeout: 10_000 },
      )
      .toBe(2);
    db.close();
    expectError(await machine.vault(...rekey, "--max-wait", "100ms"), 15, "busy");
    expect(keyFile(machine)).toBe(before);
    reading.kill("SIGKILL");
    await reading.exit;
    expectExit(await machine.vault(...rekey), 0);
  });

  it("to a given key: the key file only names it, and without it every command says so", async () => {
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    const key = machine.file("new.key", Buffer.alloc(32, 5).toString("base64"));
    expectExit(await machine.vault(...rekey, "--new-state-key", `@${key}`), 0);
    expect(keyFile(machine)).toMatch(/^vaultsvc-given-1 [0-9a-f]{16}\n$/);
    const without = await machine.vault("get", lab.vault.uuid, "--json");
    expectError(without, 14, "state", /must be given/);
    expectExit(await machine.vault("get", lab.vault.uuid, "--state-key", `@${key}`), 0);
    expectExit(await machine.vault(...rekey, "--to", "file", "--state-key", `@${key}`), 0);
    expect(keyFile(machine)).toMatch(/^vaultsvc-key-1 /);
    expectExit(await machine.vault("get", lab.vault.uuid), 0);
  });

  it("says what becomes of earlier backups, without a question too", async () => {
    const { machine } = await twoStates();
    const { text } = await vaultInPty(["state", "rekey", "--yes"], { env: machine.env }).exit;
    expect(text).toMatch(/Earlier backups .* need the old key/);
    expect(text).toContain("vault state backup FILE");
  });

  it.each([
    [["--to", "paper"], 3, /^--to: must be one of file, passphrase, keyring, given/],
    [
      ["--to", "file", "--new-passphrase", "env:HOME"],
      2,
      /^--new-passphrase is for --to passphrase/,
    ],
    [["--to", "given"], 2, /^the new key is missing/],
    [["--to", "passphrase"], 2, /^the new passphrase is missing/],
    [["--new-state-key", "env:HOME"], 3, /^--new-state-key: must be 32 bytes/],
  ] as const)("%j is refused, and nothing is changed", async (args, code, message) => {
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    const before = keyFile(machine);
    const result = await machine.vault(...rekey, ...args);
    expect(result.code).toBe(code);
    expect(errorOf(result).message).toMatch(message);
    expect(keyFile(machine)).toBe(before);
    expect((await machine.vault("state", "rekey")).code).toBe(2);
  });

  it("a damaged value stops it before anything is changed", async () => {
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    const before = keyFile(machine);
    const db = new DatabaseSync(join(machine.stateDir, "vault.db"));
    db.exec(
      "UPDATE credentials SET sealed = substr(sealed, 1, length(sealed) - 8) || 'AAAAAAA=' WHERE generation = 1",
    );
    const values = db.prepare("SELECT sealed FROM credentials").all();
    expectError(await machine.vault(...rekey), 14, "state", /cannot be decrypted/);
    expect(keyFile(machine)).toBe(before);
    expect(db.prepare("SELECT sealed FROM credentials").all()).toEqual(values);
    db.close();
  });
});

describe.concurrent("a key in the keyring of the operating system", () => {
  /** The installed program beside a package that keeps passwords in a folder. */
  function installed(): { bin: string; keyring: string } {
    const place = tempDir("installed");
    const keyring = join(place, "keyring");
    for (const name of ["bin", "dist", "package.json"])
      cpSync(join(root, name), join(place, name), { recursive: true });
    const fake = join(place, "node_modules", "@napi-rs", "keyring");
    mkdirSync(fake, { recursive: true });
    mkdirSync(keyring);
    writeFileSync(join(fake, "package.json"), '{"name":"@napi-rs/keyring","main":"index.cjs"}');
    writeFileSync(
      join(fake, "index.cjs"),
      `const fs = require("node:fs");
      exports.AsyncEntry = class {
        constructor(service, name, options) {
          if (options?.linux?.store !== "secret-service") throw new Error("a keyring that forgets");
          this.path = ${JSON.stringify(keyring)} + "/" + service + "-" + name;
        }
        async getPassword() { return fs.existsSync(this.path) ? fs.readFileSync(this.path, "utf8") : null; }
        async setPassword(text) { fs.writeFileSync(this.path, text); }
        async deletePassword() { fs.rmSync(this.path); }
      };`,
    );
    return { bin: join(place, "bin", "vault.js"), keyring };
  }

  it("is used, renewed and left; the key file only names it", async () => {
    const { bin, keyring } = installed();
    const lab = await openLab(offlineNote);
    const machine = lab.machine();
    const run = async (...args: string[]): Promise<RunResult> =>
      await machine.start({ bin }, ...args).exit;
    expectExit(await run("config", "set", "stateKeySource", "keyring"), 0);
    expectExit(await run(...firstGetArgs(machine, lab.vault)), 0);
    const [, first = ""] = /^vaultsvc-keyring-1 ([0-9a-f]{16})\n$/.exec(keyFile(machine)) ?? [];
    expect(existsSync(join(keyring, `vaultsvc-${first}`))).toBe(true);
    const again = await run(...rekey);
    expectExit(again, 0);
    expect(rekeyedOf(again)).toMatchObject({ from: [first], source: "keyring" });
    expect(existsSync(join(keyring, `vaultsvc-${first}`))).toBe(false);
    expectExit(await run("get", lab.vault.uuid), 0);
    rmSync(join(keyring, `vaultsvc-${rekeyedOf(again).to}`));
    expectError(
      await run("get", lab.vault.uuid, "--json"),
      14,
      "state",
      /keyring does not have key/,
    );
  });

  it("where none answers it is exit 14 before anything is sent or written, never a key file instead", async () => {
    const lab = await openLab(offlineNote);
    const machine = lab.machine();
    // No session, so that also a machine that has a keyring has none here.
    const env = { DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent/bus" };
    expectExit(await machine.vault("config", "set", "stateKeySource", "keyring"), 0);
    const result = await machine.vaultWith({ env }, ...firstGetArgs(machine, lab.vault), "--json");
    expectError(result, 14, "state", /no operating system keyring responds/);
    expect(existsSync(join(machine.configDir, "state.key"))).toBe(false);
    expect(lab.service.sandbox.inspect(lab.vault.uuid).unackedStarts).toBe(0);
    const doctor = await machine.vaultWith(
      { env },
      "doctor",
      "--offline",
      "--json",
      "--fail-on",
      "never",
    );
    expectExit(doctor, 0);
    const { checks } = JSON.parse(doctor.stdout) as {
      checks: { check: string; level: string; message: string }[];
    };
    const key = {
      check: "key",
      level: "error",
      message: expect.stringMatching(/no operating system keyring responds/) as string,
    };
    expect(checks).toContainEqual(expect.objectContaining(key));
  });
});

describe.concurrent("a rekey loses no state", () => {
  it("that was restored into another folder, or that was moved", async () => {
    const lab = await openLab([offlineNote, offlineNote]);
    const [first, second] = lab.service.vaults;
    if (first === undefined || second === undefined) throw new Error("two vaults are needed");
    const machine = lab.machine();
    expectExit(await machine.vault(...firstGetArgs(machine, first)), 0);
    expectExit(await machine.vault("state", "backup", "b.db"), 0);
    expectExit(await machine.vault(...firstGetArgs(machine, second)), 0);
    expectExit(await machine.vault("state", "restore", "b.db", "--yes"), 0);
    const moved = join(machine.home, "moved");
    expectExit(
      await machine.vault("state", "restore", "b.db", "--state", join(machine.home, "elsewhere")),
      0,
    );
    renameSync(join(machine.home, "elsewhere"), moved);
    expectExit(await machine.vault("get", first.uuid, "--state", moved, "--dry-run"), 0);
    const refused = await machine.vault(...rekey, "--json");
    expectError(
      refused,
      14,
      "state",
      /a state that is encrypted with this key is missing: .*elsewhere/,
    );
    expectExit(await machine.vault(...rekey, "--skip-missing"), 0);
    for (const [uuid, state] of [
      [first.uuid, machine.stateDir],
      [second.uuid, machine.stateDir],
      [first.uuid, moved],
    ] as const) {
      expectExit(await machine.vault("export", uuid, "--state", state), 0);
    }
  });

  it("of the machine that this one is a copy of", async () => {
    const lab = await openLab(offlineNote);
    const original = lab.machine();
    expectExit(await original.vault(...firstGetArgs(original, lab.vault)), 0);
    expectExit(await original.vault("get", lab.vault.uuid), 0);
    const home = tempDir("copied");
    cpSync(original.home, home, { recursive: true });
    const copy = lab.machine({ home });
    const result = await copy.vault(...rekey);
    expectExit(result, 0);
    expect(result.stderr).toMatch(/uses the key file .*, and keeps its key/);
    expectExit(await original.vault("get", lab.vault.uuid), 0);
    expectExit(await copy.vault("export", lab.vault.uuid), 0);
  });

  it("that is away: what opens it stays in the key file", async () => {
    const { machine, other, uuids } = await twoStates();
    renameSync(other.stateDir, `${other.stateDir}-away`);
    expectExit(await machine.vault(...rekey, "--skip-missing"), 0);
    renameSync(`${other.stateDir}-away`, other.stateDir);
    expectExit(await other.vault("export", uuids[1] ?? ""), 0);
  });

  it("a key file that is lost is not made anew while a state needs it", async () => {
    const { machine, other } = await twoStates();
    rmSync(join(machine.configDir, "state.key"));
    const fresh = [
      "import",
      "123e4567-e89b-42d3-a456-426614174000",
      "--kind",
      "generic/offline",
      "--credentials",
      "env:PAIR",
    ];
    const pair = { PAIR: JSON.stringify({ encryptedData: "a", payload: "b" }) };
    const refused = await machine.vaultWith(
      { env: pair },
      ...fresh,
      "--state",
      join(machine.home, "third"),
      "--json",
    );
    expectError(refused, 14, "state", /key file .* is missing/);
    expect(errorOf(refused).message).toContain(other.stateDir);
    expect(existsSync(join(machine.configDir, "state.key"))).toBe(false);
  });
});

describe.concurrent("the program's own files", () => {
  it("are not written over by what a flag names", async () => {
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    expectExit(await machine.vault("config", "set", "timeout", "10s"), 0);
    const sent = lab.service.sandbox.requests().length;
    for (const name of [
      "config/state.key",
      "config/config.json",
      "config/state.key.states",
      "state/vault.db",
    ]) {
      const path = join(machine.home, name);
      const before = existsSync(path) ? readFileSync(path) : null;
      for (const args of [
        ["get", lab.vault.uuid, "--credentials-out", path],
        ["state", "backup", path, "--force"],
      ]) {
        expectError(
          await machine.vault(...args, "--json"),
          3,
          "invalid-input",
          /this program's own/,
        );
      }
      expect(existsSync(path) ? readFileSync(path) : null).toEqual(before);
    }
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
  });

  it("a configuration that others can write to is not used: it may name a command", async () => {
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    expectExit(await machine.vault("config", "set", "timeout", "10s"), 0);
    chmodSync(join(machine.configDir, "config.json"), 0o666);
    expectError(
      await machine.vault("get", lab.vault.uuid, "--json"),
      14,
      "state",
      /other users can write/,
    );
  });
});
