import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SettingDefinition } from "../src/settings/definitions.ts";
import { settingDefinitions } from "../src/settings/definitions.ts";
import { findProfile } from "../src/settings/profile.ts";
import { resolveSettings } from "../src/settings/settings.ts";
import { errorKinds } from "../src/errors.ts";
import { describeCommand } from "../src/cli/describe.ts";
import { vault } from "../src/commands/program.ts";
import { codeBlocks, section, tableRows } from "./support/markdown.ts";
import { tempDir } from "./support/temp-dir.ts";

const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const program = describeCommand(vault);
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
  scripts: Record<string, string>;
  engines: { node: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies: Record<string, string>;
};
const code = (text: string | undefined): string => (text === undefined ? "" : `\`${text}\``);

describe("the README and the program say the same", () => {
  test("settings", () => {
    const definitions = Object.values<SettingDefinition>(settingDefinitions);
    expect(tableRows(section(readme, "Settings"))).toEqual(
      definitions.map(({ flag, env, key, help }) => [code(flag), code(env), code(key), help]),
    );
  });

  test("exit codes", () => {
    const rows = tableRows(section(readme, "Exit codes")).map(([exit, name, again, meaning = ""]) => [
      exit,
      name,
      again,
      meaning.replaceAll("`", ""),
    ]);
    const kinds = Object.entries(errorKinds).map(([kind, { exitCode, retry, meaning }]) => [String(exitCode), code(kind), retry, meaning]);
    expect(rows).toEqual([["0", "", "", "done"], ...kinds]);
  });

  test("dependencies", () => {
    const rows = tableRows(section(readme, "Dependencies"));
    const installed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies });
    expect(new Set(rows.map(([name]) => name))).toEqual(new Set(installed.map(code)));
    expect(rows.filter((cells) => cells.length !== 3 || cells.includes(""))).toEqual([]);
    expect(rows).toHaveLength(installed.length);
  });

  test("commands", () => {
    const names = program.commands.map((command) => code(`vault ${command.name}`));
    expect(tableRows(section(readme, "Commands")).map(([name]) => name)).toEqual(names);
    const sandbox = program.commands.find((command) => command.name === "sandbox");
    const row = tableRows(section(readme, "Commands")).find(([name]) => name === "`vault sandbox`")?.[1] ?? "";
    for (const { name } of sandbox?.commands ?? []) expect(row).toContain(code(name));
  });

  test("every flag and every variable that it names exists", () => {
    const commands = [program, ...program.commands, ...program.commands.flatMap((command) => command.commands)];
    const flags = commands.flatMap((command) => command.options.flatMap(({ long }) => long ?? []));
    const ofNpm = ["--global"];
    const named = readme.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [];
    expect(named.filter((flag) => ![...flags, ...ofNpm, "--help"].includes(flag))).toEqual([]);
    const variables = Object.values<SettingDefinition>(settingDefinitions).map(({ env }) => env);
    const namedVariables = readme.match(/VAULTSVC_[A-Z_0-9]+/g) ?? [];
    const ofSaveCommand = ["VAULTSVC_EXCHANGE_ID", "VAULTSVC_GIVEN_SHA256"];
    expect(namedVariables.filter((variable) => ![...variables, ...ofSaveCommand].includes(variable))).toEqual([]);
  });

  test("the example of a configuration", async () => {
    const folder = tempDir("config");
    const example = codeBlocks(section(readme, "Settings")).find(({ info }) => info === "json")?.code ?? "";
    writeFileSync(join(folder, "config.json"), example);
    const settings = async (name?: string) => resolveSettings({}, {}, (await findProfile(folder, name)).settings);
    expect(await settings()).toMatchObject({ baseUrl: "https://staging.example.com", policy: { failed: 3, unacked: 5 } });
    expect(await settings("default")).toMatchObject({ baseUrl: "https://vaults.example.com", maxWaitMs: 300_000 });
  });

  test("scripts, and the Node that is needed", () => {
    for (const [, script = ""] of readme.matchAll(/npm (?:run )?(demo|test)\b/g)) expect(manifest.scripts).toHaveProperty(script);
    const versions = [...section(readme, "Install and launch").matchAll(/Node (\d+\.\d+)/g)].map(([, version]) => version);
    expect(readme).toContain(`npm install --global ./vault-${manifest.version}.tgz`);
    expect([...manifest.engines.node.matchAll(/(\d+\.\d+)/g)].map(([, version]) => version)).toEqual(versions);
  });
});

describe("what the documents must not hold", () => {
  const changes = readFileSync(join(root, "CHANGELOG.md"), "utf8");

  test("paths of one machine, addresses of registries, numbers of real cards", () => {
    const text = readme + changes;
    expect(text.match(/(?<![\w$~.])\/(home|root|Users|work|tmp|opt)\b\S*/g) ?? []).toEqual([]);
    expect(text.match(/https?:\/\/(?!127\.0\.0\.1|[\w.-]*example\.com)\S+/g) ?? []).toEqual([]);
    expect([...new Set(text.match(/\b\d{8,19}\b/g))]).toEqual(["4111111111111111"]);
  });

  test("lines too long to read in an editor, but for tables and output", () => {
    const prose = text(readme).concat(text(changes));
    expect(prose.filter((line) => line.length > 140 && !line.startsWith("|"))).toEqual([]);
  });

  test("a version without its entry", () => {
    expect(changes).toContain(`## ${manifest.version}`);
  });
});

/** The lines outside of code blocks. */
function text(markdown: string): string[] {
  return markdown.replaceAll(/^```.*?^```$/gms, "").split("\n");
}
