import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withoutPassword } from "../../src/protocol/address.ts";
import { firstGetArgs, offlineNote, openLab, coldLab } from "../support/lab.ts";
import { machineFor, readJson, copyKeys, type Machine } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";
import { vaultInPty, type PtyOptions, type RunningInPty } from "../support/pty.ts";
import { tempDir } from "../support/cleanup.ts";

const apiKey = "0f0e0d0c-0b0a-4900-8807-060504030201";
const appUuid = "123e4567-e89b-42d3-a456-426614174000";
const enter = "\r";
const ctrlC = "\x03";

const bare = (): Machine =>
  machineFor(
    { baseUrl: "", application: { uuid: "", apiKey: "" } },
    { home: tempDir("init"), env: { VAULTSVC_RATE: "", KEY: apiKey, UUID: appUuid } },
  );
const inPty = (machine: Machine, args: readonly string[], options: PtyOptions = {}): RunningInPty =>
  vaultInPty(args, {
    cwd: machine.home,
    columns: 120,
    ...options,
    env: { ...machine.env, ...options.env },
  });
const answersFor = (baseUrl: string): [question: RegExp, answer: string][] => [
  [/Profile name/, ""],
  [/Base URL/, baseUrl],
  [/Application UUID/, appUuid],
  [/API key/, apiKey],
];
const configPath = (machine: Machine): string => join(machine.configDir, "config.json");

describe.concurrent("vault init on a terminal", () => {
  it("asks for what is missing, again where an answer does not fit, and shows no key", async () => {
    const machine = bare();
    const run = inPty(machine, ["init"]);
    await run.waitFor(/Profile name/);
    run.type(enter);
    await run.waitFor(/Base URL of the service/);
    run.type(`vaults.example.com${enter}`);
    await run.waitFor(/must be a URL/);
    run.type(`\x15https://vaults.example.com${enter}`);
    await run.waitFor(/Application UUID/);
    run.type(appUuid + enter);
    await run.waitFor(/API key/);
    run.type(`short${enter}`);
    await run.waitFor(/must be 36 characters/);
    run.type(`\x15${apiKey}${enter}`);
    await run.waitFor(/Is this production/);
    run.type(`y${enter}`);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text).toContain(`Saved profile default (${configPath(machine)})`);
    // Nobody is there; the profile is saved all the same.
    expect(text).toMatch(/warning: .*vaults\.example\.com/);
    expect(text).toMatch(/^next: vault doctor\r?$/m);
    expect(text).not.toContain(apiKey);
    expect(readJson(configPath(machine))).toMatchObject({
      currentProfile: "default",
      profiles: { default: { baseUrl: "https://vaults.example.com", appUuid, live: true } },
    });
    expect((await machine.vault("config", "get", "apiKey", "--reveal")).stdout).toBe(`${apiKey}\n`);
  });

  it("says that the service responds, and what to do next", async () => {
    const { service } = await openLab(offlineNote);
    const machine = bare();
    const { uuid, apiKey: key } = service.application;
    machine.env["RIGHT"] = key;
    const at = ["--base-url", service.baseUrl, "--app-uuid", uuid];
    const given = [...at, "--api-key", "env:RIGHT"];
    const run = inPty(machine, ["init", "--profile", "work", ...given]);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text.replaceAll("\r", "")).toMatch(
      // A busy machine has time to say what is waited for.
      /^Saved profile work [^]* responds \(in [\d.]+ ?m?s\)\n(?:Waiting for .*\n)?next: vault doctor\nnext: vault import\n$/,
    );
    const wrong = [...at, "--api-key", "env:KEY", "--force", "--profile", "work"];
    const refused = await machine.ok("init", ...wrong);
    expect(refused.stderr).toMatch(
      /^vault: warning: the application: refused by the service \(service: .*HTTP 401.*: check --app-uuid, --api-key/,
    );
  });

  it.each([/Profile name/, /Base URL/, /Application UUID/, /API key/])(
    "Ctrl-C at %s writes nothing",
    async (question) => {
      const machine = bare();
      const run = inPty(machine, ["init"]);
      for (const [shown, answer] of answersFor("https://vaults.example.com")) {
        await run.waitFor(shown);
        if (String(shown) === String(question)) break;
        run.type(answer + enter);
      }
      run.type(ctrlC);
      const { code, text } = await run.exit;
      expect(code, text).toBe(130);
      expect(existsSync(machine.configDir)).toBe(false);
    },
  );

  it("asks before it changes a profile; no is no", async () => {
    const machine = bare();
    const at = ["--base-url", "https://vaults.example.com", "--app-uuid", appUuid];
    const given = ["init", "--profile", "work", ...at, "--api-key", "env:KEY"];
    await machine.ok(...given);
    const before = readFileSync(configPath(machine), "utf8");
    const run = inPty(machine, [...given, "--rate", "3"]);
    await run.waitFor(/Profile work already exists\. Change it\?/);
    run.type(`n${enter}`);
    expect((await run.exit).code).toBe(130);
    expect(readFileSync(configPath(machine), "utf8")).toBe(before);
  });

  it("run again offers what the profile has: with Enter alone nothing changes", async () => {
    const machine = bare();
    const given = ["--base-url", "http://127.0.0.1:1", "--app-uuid", appUuid, "--live"];
    await machine.ok("init", ...given, "--api-key", "env:KEY");
    const before = readJson(configPath(machine));
    const run = inPty(machine, ["init", "--force"], { env: { VAULTSVC_STATE: "" } });
    for (const question of [
      /Profile name .*\(default\)/,
      /Base URL of the service \(http:\/\/127\.0\.0\.1:1\)/,
      /Application UUID \(123e4567-e89b-42d3-a456-426614174000\)/,
      /API key \(Enter keeps the present one\)/,
      /Place of the state/,
      /Is this production\? .*Y\/n/,
    ]) {
      await run.waitFor(question);
      run.type(enter);
    }
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(readJson(configPath(machine))).toEqual(before);
  });

  it("with --no-input or CI it never asks", async () => {
    const machine = bare();
    const { code, text } = await inPty(machine, ["init", "--no-input"]).exit;
    expect(code, text).toBe(2);
    expect(text).toContain(
      "set the base URL of the service with --base-url, VAULTSVC_BASE_URL or the config key baseUrl",
    );
    expect((await inPty(machine, ["init"], { env: { CI: "1" } }).exit).code).toBe(2);
  });
});

describe.concurrent("vault init asks for the place of the state", () => {
  /** Answers all questions; that for the place again where the answer before cannot be used. */
  async function answered(
    machine: Machine,
    places: readonly string[],
    env: PtyOptions["env"] = {},
  ): Promise<{ code: number | null; text: string }> {
    const run = inPty(machine, ["init"], { columns: 250, env: { VAULTSVC_STATE: "", ...env } });
    for (const [shown, answer] of answersFor("http://127.0.0.1:1")) {
      await run.waitFor(shown);
      run.type(answer + enter);
    }
    for (const place of places) {
      await run.waitFor(place === places[0] ? /Place of the state/ : /> the address of the state/);
      run.type(`\x15${place}${enter}`);
    }
    await run.waitFor(/Is this production/);
    run.type(enter);
    return await run.exit;
  }
  const stateIn = (machine: Machine): unknown =>
    (readJson(configPath(machine)) as { profiles: { default: { state?: string } } }).profiles
      .default.state;

  it("on this machine, with Enter: the profile does not name it", async () => {
    const machine = bare();
    const { code, text } = await answered(machine, [""]);
    expect(code, text).toBe(0);
    expect(text).toContain(
      "Place of the state, such as postgres://user@host/database (on this machine)",
    );
    expect(stateIn(machine)).toBeUndefined();
  });

  it("a shared one that is not there yet: the next step is to make it; then it is found, and its key is not here", async () => {
    const server = await postgres();
    const location = server.location("asked_for");
    const machine = bare();
    const { code, text } = await answered(machine, [location]);
    expect(code, text).toBe(0);
    expect(text).toMatch(/warning: the .* of the state's address is not stored: set PGPASSWORD/);
    expect(text).toMatch(/warning: the state postgres:.* cannot be used: it holds no state/);
    expect(text.replaceAll(/\s+/g, " ")).toContain(
      `next: vault state init --state '${withoutPassword(location)}' next: vault doctor`,
    );
    expect(text).not.toContain(":password@");
    expect(stateIn(machine)).toBe(withoutPassword(location));
    const env = { VAULTSVC_STATE: "", PGPASSWORD: "password" };
    await machine.okWith({ env }, "state", "init");

    const another = bare();
    const told = await answered(another, [withoutPassword(location)], env);
    expect(told.code, told.text).toBe(0);
    expect(told.text).toMatch(/warning: the key file .* is missing/);
    expect(told.text.replaceAll(/\s+/g, " ")).toContain(
      "or from another machine that uses this state",
    );
    rmSync(configPath(another));
    copyKeys(machine, another);
    const found = await answered(another, [withoutPassword(location)], env);
    expect(found.code, found.text).toBe(0);
    expect(found.text).not.toMatch(/warning: the state/);
  });

  it("again where the address cannot be used; one that cannot be reached is stored, with a warning", async () => {
    const machine = bare();
    const places = ["postgres://127.0.0.1:0/v", "postgres://ada@127.0.0.1:1/v"];
    const { code, text } = await answered(machine, places);
    expect(code, text).toBe(0);
    expect(text).toMatch(/> the address of the state .* a port is not a number/);
    expect(text).toMatch(/warning: the state .* cannot be reached/);
    expect(stateIn(machine)).toBe("postgres://ada@127.0.0.1:1/v");
  });
});

describe.concurrent("a live profile", () => {
  it("shows itself on a terminal when it calls the service, unless --quiet, and nowhere else", async () => {
    const { lab, machine } = await coldLab(offlineNote);
    await machine.ok("init", "--profile", "prod", "--live");
    const line = `Production profile prod: ${lab.service.baseUrl}`;
    const first = await inPty(machine, firstGetArgs(machine, lab.vault)).exit;
    expect(first.code, first.text).toBe(0);
    expect(first.text.split(line)).toHaveLength(2);
    const { uuid } = lab.vault;
    expect((await inPty(machine, ["get", uuid, "--quiet"]).exit).text).not.toContain(line);
    expect((await inPty(machine, ["status"]).exit).text).not.toContain(line);
    expect(await machine.vault("get", uuid)).toMatchObject({ code: 0, stderr: "" });
  });
});
