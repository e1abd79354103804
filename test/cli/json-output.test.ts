import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import { expectExit, firstGetArgs, note, offlineCard, openLab, type Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";

const hasJq = spawnSync("jq", ["--version"]).status === 0;
const documents: string[] = [];

/** One document, whole: by JSON.parse, and in the last test, with the others, by jq where there is one. */
function expectOneDocument(stdout: string): unknown {
  expect(stdout.endsWith("\n")).toBe(true);
  documents.push(stdout);
  return JSON.parse(stdout);
}

it.each([
  [["--version", "--json"], {}],
  [["--json", "--version"], {}],
  [["-V", "-o", "json"], {}],
  [["get", "--output=ndjson", "--version"], {}],
  [["-v"], { VAULTSVC_OUTPUT: "json" }],
  [["--version"], { VAULTSVC_OUTPUT: "json" }],
])("vault %j: the version as JSON", async (args, env) => {
  const host = fakeHost({ env });
  expect([await main(args, host), host.err]).toEqual([0, ""]);
  expect(expectOneDocument(host.out)).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
  });
});

it.each(["-qo json", "-vqo json", "-qojson", "-qo ndjson", "-q --output json"])(
  "an error of the command line is JSON with %s",
  async (flags) => {
    const host = fakeHost();
    expect(await main([...flags.split(" "), "status", "x", "y"], host)).toBe(2);
    expect(JSON.parse(host.err)).toMatchObject({ error: { code: "usage" } });
  },
);

it.each<[boolean, string[]]>([
  [true, ["get", "x", "--exec", "curl -o out", "--output=json", "--bogus"]],
  [true, ["get", "x", "--exec", "curl --output out", "--bogus", "-o", "ndjson"]],
  [true, ["get", "-o", "table", "x", "--bogus", "-o", "json"]],
  [false, ["get", "x", "--exec", "jq -o json", "--bogus"]],
  [false, ["run", "x", "--bogus", "--", "jq", "-o", "json", "--json"]],
])("the words of an option's value do not choose the output: %s for %j", async (isJson, args) => {
  const host = fakeHost();
  expect(await main(args, host)).toBe(2);
  expect(host.err.startsWith("{")).toBe(isJson);
});

describe("output for programs", () => {
  let lab: Lab;
  let machine: Machine;
  let uuid: string;
  beforeAll(async () => {
    // Contents that a careless writer of JSON or of lines breaks.
    const content = `${note}\n\u2028\u0000 "}\\ \u001b[31m ünï`;
    lab = await openLab([{ kind: "generic/offline", content }, offlineCard]);
    machine = lab.machine();
    uuid = lab.vault.uuid;
    for (const vault of lab.service.vaults) await machine.ok(...firstGetArgs(machine, vault));
  });

  /** The lists whose entries have a line each in NDJSON; the document of every other command is a line. */
  const lists = ["vaults", "breakers", "acknowledged", "failed", "checks", "settings", "locks"];

  const commands: string[][] = [
    ["get", "UUID"],
    ["get", "UUID", "--dry-run"],
    ["get", "UUID", "--no-ack"],
    ["status"],
    ["status", "UUID", "--history"],
    ["status", "--pending"],
    ["guard"],
    ["guard", "UUID", "--reset", "--yes"],
    ["ack", "UUID"],
    ["ack", "--all"],
    ["export", "UUID"],
    ["info", "UUID"],
    ["doctor"],
    ["config", "list", "--origin"],
    ["config", "path"],
    ["state", "init"],
    ["state", "locks"],
    ["help"],
  ];
  const run = async (args: string[], ...more: string[]): Promise<RunResult> =>
    await machine.vault(...args.map((arg) => (arg === "UUID" ? uuid : arg)), ...more);

  it.each(commands.map((args) => ({ name: args.join(" "), args })))(
    "$name: --json prints one document, ndjson lines, and stderr is empty",
    async ({ args }) => {
      const json = await run(args, "--json");
      expectExit(json, 0);
      expect(json.stderr).toBe("");
      const document = expectOneDocument(json.stdout) as Record<string, unknown[]>;
      const entries = lists.filter((name) => name in document).flatMap((name) => document[name]);
      const isLists = lists.some((name) => name in document);
      if (args.includes("--no-ack")) expectExit(await run(["ack", "UUID"]), 0);
      const ndjson = await run(args, "-o", "ndjson");
      expectExit(ndjson, 0);
      expect(ndjson.stderr).toBe("");
      const lines = ndjson.stdout.split("\n").slice(0, -1);
      expect(lines).toHaveLength(isLists && !args.includes("--all") ? entries.length : 1);
      for (const line of lines) expectOneDocument(`${line}\n`);
    },
  );

  it.each(
    [
      ["get", "UUID"],
      ["get", "UUID", "--reveal"],
      ["get", "UUID", "--dry-run"],
      ["ack", "UUID"],
      ["label", "UUID", "a label"],
      ["status"],
      ["status", "UUID", "--history"],
      ["guard"],
      ["guard", "UUID"],
      ["get", "UUID", "UUID2", "--dry-run"],
      ["get", "UUID", "UUID2", "--reveal"],
      ["info", "UUID"],
      ["doctor"],
      ["config", "list", "--origin"],
      ["config", "path"],
    ].map((args) => ({ args })),
  )(
    "%o: without a terminal a table is lines for programs, in color only where that is forced",
    async ({ args }) => {
      const words = args.map((arg) =>
        arg === "UUID2" ? (lab.service.vaults[1]?.uuid ?? "") : arg,
      );
      const table = await run(words);
      expectExit(table, 0);
      expect(table.stderr).toBe("");
      // oxlint-disable-next-line no-control-regex -- escape sequences are what it is about
      expect(table.stdout).not.toMatch(/\u001b/);
      for (const line of table.stdout.trimEnd().split("\n")) {
        // A field on each side of a tab; neither a rule, nor a heading, nor a time of this place.
        expect(line).toMatch(/^\S[^\t]*\t/);
        expect(line).not.toMatch(
          /──|^(?:Vault|Setting)\t(?:Status|Value)|\d\d:\d\d UTC|ago\b|just now/,
        );
      }
      expect((await run(words, "--color")).stdout).not.toMatch(/──/);
    },
  );

  it("--field prints the exact bytes of a value", async () => {
    const field = await run(["get", "UUID", "--field", "vault.content"]);
    const { vault } = JSON.parse((await run(["get", "UUID", "--json"])).stdout) as {
      vault: { content: string };
    };
    expect(field.stdout).toBe(vault.content);
    expect(vault.content).toContain("\u0000");
  });

  it.each(
    [
      ["get"],
      ["get", "no-uuid"],
      ["get", "UUID", "--no-such-flag"],
      ["no-such-command"],
      ["get", "123e4567-e89b-42d3-a456-426614174000"],
      ["ack", "123e4567-e89b-42d3-a456-426614174000"],
      ["status", "123e4567-e89b-42d3-a456-426614174000"],
      ["get", "UUID", "--base-url", "http://127.0.0.1:9", "--api-prefix", "x y"],
      ["get", "UUID", "--credentials", "@missing.json"],
      ["get", "UUID", "--timeout", "soon"],
      ["status", "--field", "nothing.here"],
    ].map((args) => ({ name: args.join(" "), args })),
  )("$name: the error is one line, the last on stderr, with all its keys", async ({ args }) => {
    const result = await run(args, "--json");
    expect(result.code).toBeGreaterThan(1);
    // `ack` names what failed in its document too.
    if (args[0] === "ack")
      expect(expectOneDocument(result.stdout)).toMatchObject({ acknowledged: [], failed: [{}] });
    else expect(result.stdout).toBe("");
    const lines = result.stderr.split("\n");
    expect(lines.at(-1)).toBe("");
    const { error } = expectOneDocument(`${lines.at(-2)}\n`) as { error: Record<string, unknown> };
    expect(Object.keys(error)).toEqual(
      expect.arrayContaining(["code", "message", "next", "exitCode", "retry"]),
    );
    expect(error).toMatchObject({
      exitCode: result.code,
      retry: expect.stringMatching(/^(safe|after-fix|after-status|never)$/) as string,
    });
    // The same for people: what happened, advice, and the commands to run next; or a rule that has an example.
    const text = await run(args);
    expect(text.code).toBe(result.code);
    expect(text.stderr).toMatch(
      /^vault: .+(?:, such as .+\n|\n(?: {2}hint: .+\n| {2}next: .+\n| {2}hint: .+\n(?: {2}next: .+\n)+))(?: {2}next: .+\n)*$/,
    );
  });
});

it.skipIf(!hasJq)("jq finds as many documents as were printed (skipped without jq)", () => {
  const { stdout } = spawnSync("jq", ["-s", "map(select(. != null)) | length"], {
    input: documents.join(""),
    encoding: "utf8",
  });
  expect(documents.length).toBeGreaterThan(40);
  expect(Number(stdout)).toBe(documents.length);
});
