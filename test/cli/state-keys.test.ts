import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { scryptSync } from "node:crypto";
import { basename, join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { deriveKey, seal } from "../../src/secrets/sealing.ts";
import {
  expectError,
  expectExit,
  expectInStep,
  firstGetArgs,
  offlineNote,
  openLab,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { errorOf, keyFileOf, type Machine } from "../support/machine.ts";
import { vaultInPty } from "../support/pty.ts";

const rekey = ["state", "rekey", "--yes", "--json"];
const idOf = (machine: Machine): string => basename(keyFileOf(machine), ".key");
const keysOf = ({ configDir }: Machine): string[] => readdirSync(join(configDir, "keys")).sort();
const [first, second] = [7, 9].map((byte) => Buffer.alloc(32, byte).toString("base64")) as [
  string,
  string,
];

describe.concurrent("state rekey", () => {
  it("makes a new key file, and leaves the former one for earlier backups", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const before = idOf(machine);
    await machine.ok("state", "backup", "b.db");
    const result = await machine.ok(...rekey);
    expect(result.stderr).toBe("");
    const { rekeyed } = JSON.parse(result.stdout) as { rekeyed: { to: string } };
    const { to } = rekeyed;
    expect(rekeyed).toEqual({
      from: [before],
      to,
      source: "file",
      keyFile: join(machine.configDir, "keys", `${to}.key`),
      states: [machine.stateDir],
      values: 2,
      machines: [expect.any(String)],
    });
    expect(keysOf(machine)).toEqual([`${before}.key`, `${to}.key`].sort());
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
    await machine.ok("state", "restore", "b.db", "--yes");
  });

  it("says what becomes of both key files", async () => {
    const { machine } = await warmLab(offlineNote);
    const before = keyFileOf(machine);
    const { text } = await vaultInPty(["state", "rekey", "--yes"], {
      env: machine.env,
      columns: 500,
    }).exit;
    expect(text).toContain(`Keep a copy of ${keyFileOf(machine)} elsewhere`);
    expect(text).toContain(
      `${before} now opens only earlier backups and secrets of a profile of version 0.2.0; it may`,
    );
    expect(text).toContain("next: vault state backup FILE");
  });

  it("waits for whoever holds a vault, and gives up with 15; nothing is changed", async ({
    expect,
  }) => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const before = keyFileOf(machine);
    lab.faults("get-start:delay=20s");
    const reading = machine.start({}, "get", uuid);
    await expect.poll(() => lab.service.sandbox.inspect(uuid).counts).toBeDefined();
    const db = new DatabaseSync(join(machine.stateDir, "vault.db"), { readOnly: true });
    await expect
      .poll(
        () => db.prepare("SELECT count(*) AS n FROM journal WHERE event = 'intent'").get()?.["n"],
        { timeout: 10_000 },
      )
      .toBe(2);
    db.close();
    expectError(await machine.vault(...rekey, "--max-wait", "100ms"), "busy");
    expect(keyFileOf(machine)).toBe(before);
    reading.kill("SIGKILL");
    await reading.exit;
    await machine.ok(...rekey);
  });

  it("to a key that is given, which every command needs from then on", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const [before] = keysOf(machine);
    const env = { KEY: first, NEXT: second };
    const to = async (key: string, ...args: string[]) =>
      await machine.vaultWith({ env }, ...rekey, "--new-state-key", key, ...args);
    expectExit(await to("env:KEY"), 0);
    expect(keysOf(machine)).toEqual([before]);
    expectError(await machine.vault("get", uuid, "--json"), "state", /key file .* is missing/);
    const given = { VAULTSVC_STATE_KEY: first };
    await machine.okWith({ env: given }, "get", uuid);
    // A file that is made where keys are given may be on a disk that nobody keeps.
    const missing = await machine.vaultWith({ env: given }, ...rekey);
    expectError(missing, "usage", /^--new-state-key: the new key is missing/);
    expectExit(await to("env:NEXT", "--state-key", "env:KEY"), 0);
    await machine.okWith({ env }, "get", uuid, "--state-key", "env:NEXT");
  });

  it.each([
    [["--new-state-key", "env:HOME"], 3, /^--new-state-key: must be 32 bytes/],
    [["--to", "file"], 2, /unknown option/],
  ] as const)("%j is refused, and nothing is changed", async (args, code, message) => {
    const { machine } = await warmLab(offlineNote);
    const before = keysOf(machine);
    const result = await machine.vault(...rekey, ...args);
    expect(result.code).toBe(code);
    expect(errorOf(result).message).toMatch(message);
    expect(keysOf(machine)).toEqual(before);
    expect((await machine.vault("state", "rekey")).code).toBe(2);
  });
});

describe.concurrent(
  "a wrong key is exit 14 and names the key that is wanted, and where to set it",
  () => {
    it.each([
      ["no file", {}, [], /the key file (\S+) is missing, and/, /^copy it there from its backup/],
      [
        "the variable",
        { VAULTSVC_STATE_KEY: first },
        [],
        /and VAULTSVC_STATE_KEY has key/,
        /^set VAULTSVC_STATE_KEY to key \w+; or leave it out, with the file of that key at /,
      ],
      [
        "the flag",
        { KEY: first },
        ["--state-key", "env:KEY"],
        /and --state-key has key/,
        /^set --state-key to key \w+; or leave it out, with the file of that key at /,
      ],
      [
        "the command",
        { KEY: first },
        ["--profile", "command"],
        /and the config key stateKeyCommand has key/,
        /^set the config key stateKeyCommand to key \w+; or leave it out, with the file of that key at /,
      ],
    ] as const)("%s", async (_, env, args, message, help) => {
      const { lab, machine, uuid } = await warmLab(offlineNote);
      await machine.ok("config", "set", "timeout", "30s");
      await machine.ok("init", "--profile", "command");
      const print = 'printf "%s" "$KEY"';
      await machine.ok("config", "set", "stateKeyCommand", print, "--profile", "command");
      const id = idOf(machine);
      const file = keyFileOf(machine);
      renameSync(file, `${file}.away`);
      const sent = lab.service.sandbox.requests().length;
      const get = ["get", uuid, "--json", ...args];
      const refused = await machine.vaultWith({ env }, ...get);
      expectError(refused, "state", message);
      expect(errorOf(refused).message).toContain(`are encrypted with key ${id}`);
      expect(errorOf(refused).help).toMatch(help);
      // Neither a rekey nor anything else is done with the wrong key, whatever the state.
      const forced = [...rekey, ...args, "--new-state-key", "env:NEW"];
      expectError(
        await machine.vaultWith({ env: { ...env, NEW: second } }, ...forced),
        "state",
        message,
      );
      expect(lab.service.sandbox.requests()).toHaveLength(sent);
      renameSync(`${file}.away`, file);
      await machine.ok("get", uuid);
    });
  },
);

describe.concurrent("a command that prints the key", () => {
  it("gives it to every command, without our secrets in its environment", async () => {
    const { lab, machine, uuid } = await coldLab(offlineNote);
    const file = machine.file("the.key", `${first}\n`);
    const print = `env > '${machine.home}/seen'; cat '${file}'`;
    await machine.ok("config", "set", "stateKeyCommand", print);
    const args = ["--kind", "generic/offline", "--credentials", "env:PAIR"];
    const env = { PAIR: JSON.stringify(lab.vault.credentials) };
    await machine.okWith({ env }, "get", uuid, ...args);
    expect(existsSync(join(machine.configDir, "keys"))).toBe(false);
    const seen = readFileSync(join(machine.home, "seen"), "utf8");
    expect(seen).toContain(`HOME=${machine.home}`);
    expect(seen).not.toContain(lab.service.application.apiKey);
    await machine.ok("state", "backup", "b.db");
    await machine.okWith({ env: { VAULTSVC_STATE_KEY: first } }, "get", uuid);
    const config = readFileSync(join(machine.configDir, "config.json"), "utf8");
    expect(config).not.toContain(first);
  });

  it.each([
    ["exit 3", /^config key stateKeyCommand: the command failed with exit code 3/],
    ["echo no key", /^the config key stateKeyCommand: must be 32 bytes/],
    ["true", /^config key stateKeyCommand: the command printed nothing/],
    ["sleep 30", /^config key stateKeyCommand: the command did not finish within 200ms/],
  ])("%s: nothing is sent", async (command, message) => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const sent = lab.service.sandbox.requests().length;
    await machine.ok("config", "set", "stateKeyCommand", command);
    const timeout = command === "sleep 30" ? "200ms" : "30s";
    const get = ["get", uuid, "--timeout", timeout, "--json"];
    expectError(await machine.vault(...get), "invalid-input", message);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    // A look needs no key.
    await machine.ok("status");
    await machine.ok("config", "unset", "stateKeyCommand");
    await machine.ok("get", uuid);
  });
});

describe.concurrent("vault doctor", () => {
  it("tells the key of a state before and after something is encrypted with it", async () => {
    const { lab, machine } = await coldLab(offlineNote);
    const key = async (): Promise<string | undefined> => {
      const { stdout } = await machine.vault("doctor", "--offline", "--json", "--fail-on", "never");
      const { checks } = JSON.parse(stdout) as { checks: { check: string; message: string }[] };
      return checks.find(({ check }) => check === "key")?.message;
    };
    const folder = join(machine.configDir, "keys");
    expect(await key()).toBe(`none yet; the first read or import creates a key file in ${folder}`);
    await machine.ok("state", "init");
    const file = keyFileOf(machine);
    const made = `key ${idOf(machine)} (key file ${file})`;
    expect(await key()).toBe(`${made}, nothing is encrypted yet`);
    await machine.ok(...firstGetArgs(machine, lab.vault));
    expect(await key()).toBe(`${made}, opens every encrypted value (2)`);
  });
});

describe.concurrent("the secrets of the configuration have a key of their own", () => {
  it("which a given key, another key of the state and a rekey leave alone", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const set = ["config", "set", "apiKey", "env:VAULTSVC_API_KEY"];
    await machine.okWith({ env: { VAULTSVC_STATE_KEY: second } }, ...set);
    const file = join(machine.configDir, "keys", "config.key");
    const key = readFileSync(file, "utf8");
    const env = { VAULTSVC_API_KEY: "" };
    await machine.okWith({ env }, "get", uuid);
    // One for all profiles.
    await machine.ok("init", "--profile", "other");
    for (const profile of ["default", "other"]) {
      const shown = ["config", "get", "apiKey", "--reveal", "--profile", profile];
      await machine.okWith({ env }, ...shown);
    }
    await machine.ok(...rekey, "--new-state-key", `@${machine.file("k", first)}`);
    expect(readFileSync(file, "utf8")).toBe(key);
    const given = { ...env, VAULTSVC_STATE_KEY: first };
    await machine.okWith({ env: given }, "get", uuid);
  });
});

describe.concurrent("a key that version 0.2.0 has left in state.key", () => {
  /** A machine whose key is in the former file, with an API key that is sealed with it. */
  async function former(line: (id: string, key: Buffer) => string, made = Buffer.alloc(32, 7)) {
    const lab = await openLab(offlineNote);
    const given = { VAULTSVC_STATE_KEY: made.toString("base64") };
    const machine = lab.machine({ env: given });
    const args = ["--kind", "generic/offline", "--credentials", "env:PAIR"];
    const env = { PAIR: JSON.stringify(lab.vault.credentials) };
    await machine.okWith({ env }, "get", lab.vault.uuid, ...args);
    delete machine.env["VAULTSVC_STATE_KEY"];
    const { id } = deriveKey(made);
    const path = join(machine.configDir, "state.key");
    await machine.ok("config", "set", "timeout", "30s");
    const text = `vaultsvc-given-1 0011223344556677\n${line(id, made)}\n`;
    writeFileSync(path, text, { mode: 0o600 });
    return { lab, machine, id, path, text };
  }

  it("is copied into a file of its own, and the former file is left as it is", async () => {
    const { lab, machine, id, path, text } = await former(
      (id, key) => `vaultsvc-key-1 ${id} ${key.toString("base64")}`,
    );
    await machine.ok("get", lab.vault.uuid);
    expect(keysOf(machine)).toEqual([`${id}.key`]);
    expect(readFileSync(path, "utf8")).toBe(text);
    rmSync(path);
    await machine.ok("get", lab.vault.uuid);
  });

  it("opens the secrets of profiles that were sealed with it, of which a rekey tells", async () => {
    const { lab, machine, id } = await former(
      (id, key) => `vaultsvc-key-1 ${id} ${key.toString("base64")}`,
    );
    const place = { profile: "default", key: "apiKey" };
    const { apiKey } = lab.service.application;
    const profile = { apiKey: seal(deriveKey(Buffer.alloc(32, 7)), place, apiKey) };
    const config = join(machine.configDir, "config.json");
    writeFileSync(config, JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 });
    machine.env["VAULTSVC_API_KEY"] = "";
    await machine.ok("get", lab.vault.uuid);
    const tty = { env: machine.env, columns: 500 };
    const { text } = await vaultInPty(["state", "rekey", "--yes"], tty).exit;
    expect(text).toContain(`${id}.key now opens only earlier backups and secrets of a profile`);
    await machine.ok("get", lab.vault.uuid);
  });

  it("is printed by a command where it is derived from a passphrase", async () => {
    const salt = Buffer.alloc(16, 1);
    const cost = { N: 2 ** 14, r: 8, p: 1, maxmem: 256 * 2 ** 14 * 8 };
    const made = scryptSync("correct horse", salt, 32, cost);
    const { lab, machine } = await former(
      (id) => `vaultsvc-passphrase-1 ${id} scrypt:14:8:1 ${salt.toString("base64")}`,
      made,
    );
    const refused = errorOf(await machine.vault("get", lab.vault.uuid, "--json"));
    expect(refused.message).toMatch(/is derived from a passphrase/);
    const [, ...set] = refused.next?.[0]?.argv ?? [];
    const told = set.map((word) => word.replace("PASSPHRASE", "correct horse"));
    await machine.ok(...told);
    await machine.ok("get", lab.vault.uuid);
  });

  it("is printed by a command where it is in the keyring of the operating system", async () => {
    const { lab, machine, id } = await former((id) => `vaultsvc-keyring-1 ${id}`);
    const refused = await machine.vault("get", lab.vault.uuid, "--json");
    expectError(refused, "state", /is in the keyring of the operating system/);
    expect(errorOf(refused).help).toContain(
      `vault config set stateKeyCommand 'secret-tool lookup service vaultsvc username ${id}'`,
    );
    // As secret-tool prints it.
    await machine.ok("config", "set", "stateKeyCommand", `printf ${first}`);
    await machine.ok("get", lab.vault.uuid);
  });
});

describe.concurrent("the program's own files", () => {
  it("are not written over by what a flag names", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("config", "set", "timeout", "10s");
    const sent = lab.service.sandbox.requests().length;
    for (const name of [
      relative(machine.home, keyFileOf(machine)),
      "config/keys/config.key",
      "config/state.key",
      "config/config.json",
      "state/vault.db",
    ]) {
      const path = join(machine.home, name);
      const before = existsSync(path) ? readFileSync(path) : null;
      for (const args of [
        ["get", uuid, "--credentials-out", path],
        ["state", "backup", path, "--force"],
      ]) {
        expectError(await machine.vault(...args, "--json"), "invalid-input", /this program's own/);
      }
      expect(existsSync(path) ? readFileSync(path) : null).toEqual(before);
    }
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
  });

  it("a configuration that others can write to is not used: it may name a command", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    await machine.ok("config", "set", "timeout", "10s");
    chmodSync(join(machine.configDir, "config.json"), 0o666);
    expectError(await machine.vault("get", uuid, "--json"), "state", /other users can write/);
  });
});
