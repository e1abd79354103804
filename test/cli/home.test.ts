import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { httpServer } from "../support/servers.ts";
import { asOther, mayBeOther, othersDir } from "../support/disks.ts";
import type { JsonError } from "../support/machine.ts";
import { runVault, startVault, type RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const uuid = "5a4b3c2d-1e0f-4a1b-8c2d-3e4f5a6b7c8d";
const pair = { encryptedData: "some-data", payload: "some-payload" };
const apiKey = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const appUuid = "11111111-2222-4333-8444-555555555555";
const given = [uuid, "--kind", "generic/offline", "--credentials", "env:PAIR"];
const get = ["get", ...given, "--app-uuid", appUuid, "--api-key", "env:API_KEY", "--json"];

/** Where a relative home, or a relative folder of its own, would have the configuration looked for. */
const folders = [
  ".config/vaultsvc",
  "Library/Preferences/vaultsvc",
  "home/.config/vaultsvc",
  "home/Library/Preferences/vaultsvc",
  "xdg/vaultsvc",
  "own",
];

/** A folder that somebody else has filled: each configuration in it has a profile `planted`, with a command and a service. */
async function plantedFolder() {
  const asked: string[] = [];
  const { url } = await httpServer(({ url = "" }, response) => {
    asked.push(url);
    response.end("{}");
  });
  const cwd = tempDir("planted");
  const marker = join(cwd, "ran");
  const planted = { baseUrl: url, jwt: { command: `touch ${marker}; echo a.b.c` } };
  for (const folder of folders) {
    mkdirSync(join(cwd, folder), { recursive: true, mode: 0o700 });
    const config = JSON.stringify({ profiles: { planted } });
    writeFileSync(join(cwd, folder, "config.json"), config, { mode: 0o600 });
  }
  const files = (): string[] => readdirSync(cwd, { recursive: true, encoding: "utf8" }).sort();
  const before = files();
  const usual = { API_KEY: apiKey, PAIR: JSON.stringify(pair), VAULTSVC_STATE: tempDir("state") };
  const run = async (
    env: Record<string, string | undefined>,
    ...args: string[]
  ): Promise<RunResult> => await runVault(args, { cwd, env: { ...usual, ...env } });
  const expectUntouched = (): void => {
    expect(existsSync(marker)).toBe(false);
    expect(asked).toEqual([]);
    expect(files()).toEqual(before);
  };
  return { run, expectUntouched };
}

const homes: [string, Record<string, string | undefined>][] = [
  ["an empty HOME", { HOME: "" }],
  ["no HOME", { HOME: undefined }],
  ["HOME=.", { HOME: "." }],
  ["a relative HOME", { HOME: "home" }],
  ["a relative XDG_CONFIG_HOME", { HOME: "", XDG_CONFIG_HOME: "xdg", XDG_STATE_HOME: "xdg" }],
];

describe("nothing is looked for in the current folder", () => {
  it.each(homes)("%s: no configuration, so no command that it names", async (_, env) => {
    const { run, expectUntouched } = await plantedFolder();
    const { code, stderr } = await run(env, ...get, "--profile", "planted");
    expect(stderr).toMatch(/no such profile: planted \(--profile, VAULTSVC_PROFILE or/);
    expect(code).toBe(2);
    expectUntouched();
  });

  it.each(homes)("%s: the home of the password database", async (_, env) => {
    const { run, expectUntouched } = await plantedFolder();
    const none = { ...env, VAULTSVC_STATE: undefined };
    const { code, stdout } = await run(none, "config", "path", "--json");
    expect(code).toBe(0);
    const paths = Object.values(JSON.parse(stdout) as Record<string, string>);
    expect(paths.filter((path) => path.startsWith(userInfo().homedir))).toHaveLength(3);
    expectUntouched();
  });

  it("a relative VAULTSVC_CONFIG_DIR is refused", async () => {
    const { run, expectUntouched } = await plantedFolder();
    const planted = [...get, "--profile", "planted"];
    for (const args of [planted, ["status"], ["config", "path"], ["doctor"]]) {
      const { code, stderr, stdout } = await run({ VAULTSVC_CONFIG_DIR: "own" }, ...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/VAULTSVC_CONFIG_DIR: must be an absolute path/);
    }
    expectUntouched();
  });

  it.each([[{ VAULTSVC_CONFIG_DIR: "own" }], [{ VAULTSVC_OUTPUT: "bogus" }]])(
    "help and completion are there to set right what is wrong: %j",
    async (env) => {
      const { run, expectUntouched } = await plantedFolder();
      for (const [line, start] of [
        ["help get", "Usage: vault get"],
        ["help settings", "# "],
        ["help json get", "{"],
        ["completion bash", "# shellcheck"],
      ] as const)
        expect(await run(env, ...line.split(" "))).toMatchObject({
          code: 0,
          stderr: "",
          stdout: expect.stringMatching(new RegExp(`^${start}`)) as string,
        });
      expectUntouched();
    },
  );
});

describe.skipIf(!mayBeOther)(
  "a user who is in no password database (needs an administrator)",
  () => {
    const runAsOther = async (
      env: Record<string, string>,
      ...args: string[]
    ): Promise<RunResult> => {
      const [options, ...words] = asOther(args, { cwd: othersDir(), env: { HOME: "", ...env } });
      return await startVault(words, options).exit;
    };

    it("without a home: says which variable, and reads nothing", async () => {
      const { code, stderr, stdout } = await runAsOther({}, "status", "--json");
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      const { error } = JSON.parse(stderr) as { error: JsonError };
      expect(error.code).toBe("usage");
      expect(error.message).toMatch(/HOME/);
      expect(error.next).toMatchObject([{ argv: ["export", "HOME=/path/to/home"] }]);
    });

    it("needs none where both folders are named, nor for help", async () => {
      const folder = othersDir();
      const env = {
        VAULTSVC_CONFIG_DIR: join(folder, "config"),
        VAULTSVC_STATE: join(folder, "state"),
      };
      expect(await runAsOther(env, "status", "--json")).toMatchObject({
        code: 0,
        stdout: '{\n  "vaults": []\n}\n',
        stderr: "",
      });
      // Completion asks for it only where a path begins with ~.
      const pairs = JSON.stringify(pair);
      const imported = ["import", ...given, "--base-url", "https://vaults.example.com"];
      expect((await runAsOther({ ...env, PAIR: pairs }, ...imported)).code).toBe(0);
      expect((await runAsOther(env, "__complete", "get", "")).stdout).toContain(uuid);
      for (const words of [["--help"], ["help", "get"], ["completion", "bash"]])
        expect(await runAsOther({}, ...words)).toMatchObject({ code: 0, stderr: "" });
    });
  },
);
