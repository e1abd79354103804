import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectExit, firstGetArgs, offlineNote, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { machineFor, readJson } from "../support/machine.ts";
import type { PtyOptions, RunningInPty } from "../support/pty.ts";
import { vaultInPty } from "../support/pty.ts";
import { tempDir } from "../support/temp-dir.ts";

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
  vaultInPty(args, { cwd: machine.home, columns: 120, ...options, env: { ...machine.env, ...options.env } });
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
    const given = ["--base-url", service.baseUrl, "--app-uuid", appUuid, "--api-key", "env:KEY"];
    const run = inPty(machine, ["init", "--profile", "work", ...given]);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text.replaceAll("\r", "")).toMatch(
      /^Saved profile work .*\n.* responds \(in \d+ ms\)\nnext: vault doctor\nnext: vault import --file vaults.ndjson\n$/,
    );
  });

  it.each([/Profile name/, /Base URL/, /Application UUID/, /API key/])("Ctrl-C at %s writes nothing", async (question) => {
    const machine = bare();
    const run = inPty(machine, ["init"]);
    const answers: [RegExp, string][] = [
      [/Profile name/, ""],
      [/Base URL/, "https://vaults.example.com"],
      [/Application UUID/, appUuid],
      [/API key/, apiKey],
    ];
    for (const [shown, answer] of answers) {
      await run.waitFor(shown);
      if (String(shown) === String(question)) break;
      run.type(answer + enter);
    }
    run.type(ctrlC);
    const { code, text } = await run.exit;
    expect(code, text).toBe(130);
    expect(existsSync(machine.configDir)).toBe(false);
  });

  it("asks before it replaces a profile; no is no", async () => {
    const machine = bare();
    const given = ["init", "--profile", "work", "--base-url", "https://vaults.example.com", "--app-uuid", appUuid, "--api-key", "env:KEY"];
    expectExit(await machine.vault(...given), 0);
    const before = readFileSync(configPath(machine), "utf8");
    const run = inPty(machine, [...given, "--rate", "3"]);
    await run.waitFor(/Profile work already exists\. Replace it\?/);
    run.type(`n${enter}`);
    expect((await run.exit).code).toBe(130);
    expect(readFileSync(configPath(machine), "utf8")).toBe(before);
  });

  it("with --no-input or CI it never asks", async () => {
    const machine = bare();
    const { code, text } = await inPty(machine, ["init", "--no-input"]).exit;
    expect(code, text).toBe(2);
    expect(text).toContain("set the base URL of the service with --base-url, VAULTSVC_BASE_URL or the config key baseUrl");
    expect((await inPty(machine, ["init"], { env: { CI: "1" } }).exit).code).toBe(2);
  });
});

describe.concurrent("a live profile", () => {
  it("shows itself on a terminal when it calls the service, unless --quiet, and nowhere else", async () => {
    const lab = await openLab(offlineNote);
    const machine = lab.machine();
    expectExit(await machine.vault("init", "--profile", "prod", "--live"), 0);
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

describe.concurrent("a passphrase", () => {
  it("is asked for twice when it is new, once when it opens; a wrong one is exit 14", async () => {
    const lab = await openLab(offlineNote);
    const machine = lab.machine();
    expectExit(await machine.vault("config", "set", "stateKeySource", "passphrase"), 0);
    const { uuid } = lab.vault;
    const run = inPty(machine, firstGetArgs(machine, lab.vault));
    await run.waitFor(/New passphrase/);
    run.type(`short${enter}`);
    await run.waitFor(/at least 8 characters/);
    run.type(`\x15correct horse${enter}`);
    await run.waitFor(/Repeat the passphrase/);
    run.type(`other${enter}`);
    await run.waitFor(/does not match/);
    run.type(`\x15correct horse${enter}`);
    const first = await run.exit;
    expect(first.code, first.text).toBe(0);
    expect(first.text).not.toContain("correct horse");
    expect(readFileSync(join(machine.configDir, "state.key"), "utf8")).toMatch(
      /^vaultsvc-passphrase-1 [0-9a-f]{16} scrypt:17:8:1 [A-Za-z0-9+/]{22}==\n$/,
    );
    const again = inPty(machine, ["get", uuid]);
    await again.waitFor(/Passphrase \(key [0-9a-f]{16}\)/);
    again.type(`correct horse${enter}`);
    expect((await again.exit).code).toBe(0);
    const wrong = await machine.vaultWith({ env: { VAULTSVC_STATE_PASSPHRASE: "battery staple" } }, "get", uuid);
    expect(wrong).toMatchObject({ code: 14, stdout: "" });
    expect(wrong.stderr).toContain("wrong passphrase");
    expect(wrong.stderr).not.toContain("battery");
    expect(await machine.vault("get", uuid)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("VAULTSVC_STATE_PASSPHRASE") as string,
    });
    expect(await machine.vault("status", uuid)).toMatchObject({ code: 0 });
  });
});
