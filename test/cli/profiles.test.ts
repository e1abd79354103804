import {
  existsSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectError, expectExit, firstGetArgs, offlineNote, coldLab } from "../support/lab.ts";
import { errorOf, machineFor, readJson, type Machine } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";
import { device } from "../support/examples.ts";
import { commandsOf } from "../support/help.ts";
import { vaultInPty } from "../support/pty.ts";

const apiKey = "0f0e0d0c-0b0a-4900-8807-060504030201";
const appUuid = "123e4567-e89b-42d3-a456-426614174000";
const service = { baseUrl: "https://vaults.example.com", application: { uuid: appUuid, apiKey } };

/** A machine whose environment holds no settings of an application. */
function bare(): Machine {
  return machineFor(service, {
    home: tempDir("bare"),
    env: {
      VAULTSVC_BASE_URL: "",
      VAULTSVC_APP_UUID: "",
      VAULTSVC_API_KEY: "",
      VAULTSVC_RATE: "",
      KEY: apiKey,
    },
  });
}

const init = ["init", "--base-url", service.baseUrl, "--app-uuid", appUuid, "--api-key", "env:KEY"];
const configOf = (machine: Machine) =>
  readJson(join(machine.configDir, "config.json")) as { profiles: Record<string, object> };
const textOf = (machine: Machine): string =>
  readFileSync(join(machine.configDir, "config.json"), "utf8");

describe.concurrent("vault init", () => {
  it("by flags alone makes a profile whose key is sealed, for its owner only", async () => {
    const machine = bare();
    const made = await machine.ok(...init, "--profile", "work", "--rate", "5", "--live", "--json");
    // Nobody is there: what could not be found out is said.
    expect(made.stderr).toMatch(
      /^vault: warning: .*vaults\.example\.com.*\nvault: warning: the application and its key could not be checked\n$/,
    );
    expect(JSON.parse(made.stdout)).toEqual({
      profile: "work",
      path: join(machine.configDir, "config.json"),
      current: true,
    });
    expect(configOf(machine)).toEqual({
      currentProfile: "work",
      profiles: {
        work: {
          baseUrl: service.baseUrl,
          appUuid,
          rateLimit: 5,
          live: true,
          apiKey: expect.stringMatching(/^s1:[0-9a-f]{16}:/) as string,
        },
      },
    });
    expect(textOf(machine)).not.toContain(apiKey);
    expect(statSync(join(machine.configDir, "config.json")).mode & 0o777).toBe(0o600);
    expect(statSync(machine.configDir).mode & 0o777).toBe(0o700);
  });

  it("stores no password of a shared state's address, and says so; nor does config set", async () => {
    const location = "postgres://ada:swordfish@db.example.com/vaults";
    for (const command of [
      [...init, "--state", location],
      ["config", "set", "state", location],
    ]) {
      const machine = bare();
      const set = await machine.okWith({ env: { VAULTSVC_STATE: "" } }, ...command);
      expect(set.stderr).toMatch(/password of the state's address is not stored: set PGPASSWORD/);
      if (command[0] === "init")
        expect(set.stderr).toMatch(/warning: .* db\.example\.com:5432 cannot be reached/);
      expect(configOf(machine).profiles["default"]).toMatchObject({
        state: "postgres://ada@db.example.com/vaults",
      });
      expect(textOf(machine) + set.stdout + set.stderr).not.toContain("swordfish");
      const env = { VAULTSVC_STATE: location };
      for (const look of [
        ["config", "list", "--origin"],
        ["config", "list", "--json"],
        ["config", "path"],
      ]) {
        const { stdout, stderr } = await machine.vaultWith({ env }, ...look);
        expect((stdout + stderr).replaceAll(/\s/g, "")).toMatch(/ada(:••••)?@db\.example\.com/);
        expect(stdout + stderr).not.toContain("swordfish");
      }
    }
  });

  it("the profile is enough to read a vault", async () => {
    const { lab, machine } = await coldLab(offlineNote);
    await machine.ok("state", "init");
    await machine.ok("init");
    const plain = { VAULTSVC_BASE_URL: "", VAULTSVC_APP_UUID: "", VAULTSVC_API_KEY: "" };
    const get = firstGetArgs(machine, lab.vault);
    const read = await machine.okWith({ env: plain }, ...get, "--json");
    expect(read.stderr).toBe("");
  });

  it("never replaces a profile without --force where nobody can be asked", async () => {
    const machine = bare();
    await machine.ok(...init);
    const before = textOf(machine);
    const again = await machine.vault(...init, "--timeout", "1s", "--json");
    expectError(again, "usage", /Profile default already exists/);
    expect(textOf(machine)).toBe(before);
    await machine.ok(...init, "--timeout", "1s", "--force");
    expect(configOf(machine).profiles["default"]).toMatchObject({ timeout: "1s" });
  });

  it("completes a profile that has no service, as config set makes one, and keeps what it has", async () => {
    const machine = bare();
    const state = join(machine.home, "elsewhere");
    await machine.ok("config", "set", "state", state);
    await machine.ok(...init);
    expect(configOf(machine).profiles["default"]).toMatchObject({
      baseUrl: service.baseUrl,
      appUuid,
      state,
    });
    expectError(await machine.vault(...init, "--json"), "usage", /already exists/);
  });

  it("with --force changes what is given, and keeps the rest", async () => {
    const machine = bare();
    const state = join(machine.home, "another-state");
    await machine.ok(...init, "--live", "--timeout", "1s", "--rate", "7");
    await machine.okWith({ env: { VAULTSVC_STATE: "" } }, "config", "set", "state", state);
    await machine.ok("config", "set", "policy.failedAttempts", "4");
    const before = configOf(machine).profiles["default"];
    expect(before).toMatchObject({
      live: true,
      state,
      timeout: "1s",
      rateLimit: 7,
      policy: { failedAttempts: 4 },
    });
    const env = { VAULTSVC_STATE: "" };
    await machine.okWith({ env }, "init", "--timeout", "2s", "--force");
    expect(configOf(machine).profiles["default"]).toEqual({ ...(before as object), timeout: "2s" });
    await machine.okWith({ env }, ...init, "--force");
    const { apiKey: _, ...after } = configOf(machine).profiles["default"] as Record<
      string,
      unknown
    >;
    expect(after).toEqual({ ...(before as object), timeout: "2s", apiKey: undefined });
  });

  it.each([
    [["--profile", "a b"], /^--profile: must be letters/],
    [["--base-url", "http://vaults.example.com"], /^--base-url: http: is allowed/],
    [["--app-uuid", "123"], /^--app-uuid: must be 36/],
    [["--timeout", "soon"], /timeout: must be a duration/],
  ])("%j is refused and nothing is written", async (args, message) => {
    const machine = bare();
    expectError(await machine.vault(...init, ...args, "--json"), "invalid-input", message);
    expect(existsSync(machine.configDir)).toBe(false);
  });
});

describe.concurrent("vault config", () => {
  it("set checks what flags check, and names the key; nothing is written", async () => {
    const machine = bare();
    await machine.ok(...init);
    const before = textOf(machine);
    for (const [key, value, code, message] of [
      ["timeout", "soon", "invalid-input", /^config key timeout: must be a duration/],
      ["rateLimit", "fast", "invalid-input", /^config key rateLimit: must be a whole number/],
      [
        "policy.failedAttempts",
        "0",
        "invalid-input",
        /^config key policy.failedAttempts: must be a whole number/,
      ],
      ["live", "maybe", "invalid-input", /^config key live: must be true or false/],
      ["device", "{", "invalid-input", /^config key device: not valid JSON/],
      ["device", '{"browserType":"Firefox"}', "invalid-input", /^config key device\./],
      ["timeout", "99ms", "invalid-input", /^config key timeout: must be a duration of at least/],
      ["policy.unackedStarts", "1", "invalid-input", /must be a whole number of at least 2$/],
      ["baseUrl", "vaults.example.com", "invalid-input", /^config key baseUrl: must be a URL/],
      ["baseUrl", "http://:x@127.0.0.1", "invalid-input", /^config key baseUrl: must be a URL/],
      ["output", "xml", "usage", /^config key output: must be one of/],
      ["apiKey", "@missing", "invalid-input", /^config key apiKey: cannot read the file/],
      ["policy.unacked", "4", "usage", /^no such config key: policy.unacked$/],
      ["currentProfile", "x", "usage", /^currentProfile is not a setting/],
      ["stateKeySource", "passphrase", "usage", /^no such config key: stateKeySource/],
    ] as const) {
      const result = await machine.vault("config", "set", key, value, "--json");
      expect(errorOf(result)).toMatchObject({
        code,
        message: expect.stringMatching(message) as string,
      });
    }
    expect(textOf(machine)).toBe(before);
    for (const [key, value, line] of [
      ["timeout", "abc", "vault config set timeout VALUE"],
      ["policy.failedAttempts", "1", "vault config set policy.failedAttempts VALUE"],
      ["baseUrl", "x", "vault config set baseUrl VALUE"],
    ] as const) {
      const wrong = errorOf(await machine.vault("config", "set", key, value, "--json"));
      expect(commandsOf(wrong.next)).toEqual([line]);
      expect(wrong.next).toMatchObject([{ fill: ["VALUE"] }]);
    }
  });

  it("what is wrong in a profile is named with the command for that profile", async () => {
    const machine = bare();
    await machine.ok(...init, "--profile", "work");
    const work = ["--profile", "work", "--json"];
    const next = ["vault config set timeout VALUE --profile work"];
    const set = await machine.vault("config", "set", "timeout", "1", ...work);
    expect(commandsOf(errorOf(set).next)).toEqual(next);
    const profiles = { work: { ...configOf(machine).profiles["work"], timeout: "1ms" } };
    writeFileSync(join(machine.configDir, "config.json"), JSON.stringify({ profiles }));
    expect(commandsOf(errorOf(await machine.vault("status", ...work)).next)).toEqual(next);
    await machine.ok("config", "set", "timeout", "30s", "--profile", "work");
    await machine.ok("status", ...work);
  });

  it("set keeps numbers, truths and objects as such; unset takes them away", async () => {
    const machine = bare();
    const file = machine.file("device.json", device);
    for (const [key, value] of [
      ["rateLimit", "7"],
      ["policy.failedAttempts", "4"],
      ["policy.unackedStarts", "6"],
      ["live", "true"],
      ["device", `@${file}`],
      ["state", "./here"],
    ] as const) {
      await machine.ok("config", "set", key, value);
    }
    const state = join(machine.home, "here");
    expect(configOf(machine).profiles["default"]).toEqual({
      rateLimit: 7,
      policy: { failedAttempts: 4, unackedStarts: 6 },
      live: true,
      device,
      state,
    });
    for (const key of ["policy.failedAttempts", "policy.unackedStarts", "live", "device", "state"])
      await machine.ok("config", "unset", key);
    await machine.ok("config", "unset", "timeout");
    expect(configOf(machine).profiles["default"]).toEqual({ rateLimit: 7 });
  });

  it("list --origin says what holds and where it comes from, and shows no secret", async () => {
    const machine = bare();
    await machine.ok(...init, "--profile", "work", "--rate", "5");
    const env = {
      VAULTSVC_TIMEOUT: "9s",
      VAULTSVC_STATE_KEY: Buffer.alloc(32, 1).toString("base64"),
    };
    const list = ["config", "list", "--origin"];
    const result = await machine.okWith({ env }, ...list, "--max-wait", "1m", "--json");
    const { settings, profile } = JSON.parse(result.stdout) as {
      profile: string;
      settings: { key: string; value: unknown; origin: unknown }[];
    };
    expect(profile).toBe("work");
    const found = Object.fromEntries(
      settings.map(({ key, value, origin }) => [key, [value, origin]]),
    );
    expect(found).toMatchObject({
      currentProfile: ["work", "config key currentProfile"],
      baseUrl: [service.baseUrl, "profile work"],
      timeout: ["9s", "variable VAULTSVC_TIMEOUT"],
      maxWait: ["1m", "flag --max-wait"],
      apiPrefix: ["/vaultsvc/v1-2", "default"],
      rateLimit: [5, "profile work"],
      live: [false, "default"],
      debug: [false, "default"],
      "policy.failedAttempts": [3, "default"],
      stateKey: ["••••••••", "variable VAULTSVC_STATE_KEY"],
      device: [null, null],
      apiKey: [expect.stringMatching(/^•{8} \(encrypted with key [0-9a-f]{16}\)$/), "profile work"],
    });
    for (const output of [result.stdout, (await machine.vaultWith({ env }, ...list)).stdout]) {
      expect(output).not.toContain(apiKey);
      expect(output).not.toContain(env.VAULTSVC_STATE_KEY);
    }
  });

  it("a folder of the configuration that others can write to is not called the state", async () => {
    const machine = bare();
    mkdirSync(machine.configDir, { recursive: true });
    chmodSync(machine.configDir, 0o777);
    const refused = await machine.vault("config", "set", "timeout", "3s", "--json");
    expectError(refused, "state", /^the configuration cannot be used: .*: other users can write/);
  });

  it("use chooses a profile, and only one that is there", async () => {
    const machine = bare();
    await machine.ok(...init);
    await machine.ok(...init, "--profile", "other", "--timeout", "4s");
    expect((await machine.vault("config", "get", "timeout")).stdout).toBe("30s\n");
    for (const args of [
      ["config", "use", "nobody"],
      ["status", "--profile", "nobody"],
    ])
      expectError(await machine.vault(...args, "--json"), "usage", /no such profile: nobody/);
    await machine.ok("config", "use", "other");
    expect((await machine.vault("config", "get", "timeout")).stdout).toBe("4s\n");
    const env = { VAULTSVC_PROFILE: "default" };
    expect((await machine.vaultWith({ env }, "config", "get", "timeout")).stdout).toBe("30s\n");
  });

  it("reads the file as a person writes it", async () => {
    const machine = bare();
    const example = {
      currentProfile: "staging",
      profiles: {
        default: { baseUrl: "https://vaults.example.com", maxWait: "5m" },
        staging: { baseUrl: "https://staging.example.com", policy: { failedAttempts: 3 } },
      },
    };
    mkdirSync(machine.configDir, { recursive: true });
    writeFileSync(join(machine.configDir, "config.json"), JSON.stringify(example, null, 2));
    const listed = await machine.vault("config", "list", "--json");
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(listed.stdout)).toMatchObject({
      settings: [
        { key: "baseUrl", value: "https://staging.example.com" },
        { key: "policy.failedAttempts", value: 3 },
      ],
    });
  });

  it("fixes a profile that stops every other command", async () => {
    const machine = bare();
    await machine.ok(...init);
    const path = join(machine.configDir, "config.json");
    const wrong = '"timeout": "soon", "device": "{", "baseUrl"';
    writeFileSync(path, textOf(machine).replace('"baseUrl"', wrong));
    expectError(await machine.vault("status", "--json"), "invalid-input", /config key timeout/);
    expect((await machine.ok("config", "list", "--json")).stdout).toContain("soon");
    expect((await machine.ok("config", "get", "device")).stdout).toBe("{\n");
    await machine.ok("config", "unset", "device");
    await machine.ok("config", "unset", "timeout");
    await machine.ok("status");
  });

  it("changes at the same time are all kept", async () => {
    const machine = bare();
    const names = Array.from({ length: 8 }, (_, index) => `profile-${index}`);
    const codes = await Promise.all(
      names.map(async (name) => (await machine.start({}, ...init, "--profile", name).exit).code),
    );
    expect(codes).toEqual(names.map(() => 0));
    expect(Object.keys(configOf(machine).profiles).sort()).toEqual(names);
    for (const profile of names) {
      const shown = ["config", "get", "apiKey", "--reveal", "--profile", profile];
      expect((await machine.vault(...shown)).stdout).toBe(`${apiKey}\n`);
    }
  });
});

describe.concurrent("a sealed apiKey", () => {
  it("opens in its own profile only", async () => {
    const machine = bare();
    await machine.ok(...init);
    writeFileSync(
      join(machine.configDir, "config.json"),
      textOf(machine).replaceAll("default", "moved"),
    );
    const result = await machine.vault("config", "get", "apiKey", "--reveal", "--json");
    const why =
      /apiKey of profile moved cannot be decrypted: it was changed, or copied from another place/;
    expectError(result, "state", why);
  });

  it("is not revealed in place of the one in use", async () => {
    const machine = bare();
    await machine.ok(...init);
    const other = "99999999-2222-4333-8444-555555555555";
    const get = ["config", "get", "apiKey", "--reveal"];
    const used = await machine.okWith({ env: { VAULTSVC_API_KEY: other } }, ...get);
    expect(used.stdout).toBe(`${other}\n`);
    expect((await machine.ok(...get)).stdout).not.toContain(other);
  });

  it("with its key gone is exit 14 and names the file; it is set again", async () => {
    const { lab, machine, uuid } = await coldLab(offlineNote);
    await machine.ok("init");
    const file = join(machine.configDir, "keys", "config.key");
    const [, id = ""] = textOf(machine).match(/s1:([0-9a-f]{16}):/) ?? [];
    const keyless = { VAULTSVC_API_KEY: "" };
    const get = async () =>
      await machine.vaultWith({ env: keyless }, ...firstGetArgs(machine, lab.vault), "--json");
    const refused = async (why: string) => {
      const result = await get();
      expectError(result, "state", new RegExp(`with key ${id}, and ${file} ${why}`));
      expect(errorOf(result).help).toMatch(
        /^set the secret again; .*put the key file back .*vault config set apiKey @FILE/,
      );
    };
    rmSync(file);
    await refused("is missing");
    expect(existsSync(file)).toBe(false);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      unackedStarts: 0,
      failedAccesses: 0,
    });
    writeFileSync(file, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
    await refused("has key");
    await machine.ok("config", "set", "apiKey", "env:VAULTSVC_API_KEY");
    expectExit(await get(), 0);
  });

  it("written in clear is not used", async () => {
    const { lab, machine } = await coldLab(offlineNote);
    await machine.ok("init");
    const config = configOf(machine);
    writeFileSync(
      join(machine.configDir, "config.json"),
      JSON.stringify({ ...config, profiles: { default: { apiKey } } }),
    );
    const env = { VAULTSVC_API_KEY: "" };
    const clear = await machine.vaultWith({ env }, ...firstGetArgs(machine, lab.vault), "--json");
    expectError(clear, "state", /is stored in plain text/);
    expect(clear.stderr).not.toContain(apiKey);
  });
});

it("on a terminal the settings of a profile stand below the names of the others", async () => {
  const machine = bare();
  for (const name of ["default", "staging", "production"])
    await machine.ok(...init, "--profile", name, "--no-input");
  const list = ["config", "list", "--profile", "staging"];
  const { code, text } = await vaultInPty(list, { cwd: machine.home, env: machine.env }).exit;
  expect(text).toMatch(/^Profile staging \(others: default, production\)\n/);
  expect(code).toBe(0);
});
