import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { roles } from "../../src/audit/read/item.ts";
import { descriptor } from "../../src/commands/audit-replay.ts";
import { pathOf, type CliCommand, type CliOption } from "../../src/cli/commander.ts";
import type { Machine } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";
import { below, program } from "../support/program.ts";
import { machineWithVaults, pair, vaults } from "./support.ts";

const [labelled, bare, office] = vaults;
let machine: Machine;

beforeAll(async () => {
  machine = await machineWithVaults();
});

/** Returns the candidates for the last word, and the directive. Checks that stderr is empty and the exit code is 0. */
async function ask(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const { code, stdout, stderr } = await machine.vaultWith({ env }, "__complete", ...words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").slice(0, -1);
}

const values = (lines: readonly string[]): string[] =>
  lines.map((line) => line.split("\t")[0] ?? "");

/** What is offered for the value of an option, where that is a list. */
function listOf(
  command: CliCommand | undefined,
  flag: string,
): { words: readonly string[]; end: string } {
  const option = command?.options.find(({ long }) => long === flag) as CliOption | undefined;
  const { argChoices: words = [], values } = option ?? {};
  return values?.from === "list"
    ? { words: values.values, end: values.values[0]?.endsWith("=") ? ":nospace" : ":done" }
    : { words, end: ":done" };
}

describe("whatever the commands hold is offered", () => {
  const all = [program, ...below(program)].map(
    (command) => [pathOf(command).join(" "), command] as const,
  );
  test.each(all)("%s", async (_name, command) => {
    const words = pathOf(command).slice(1);
    const flags = values(await ask([...words, "--"]));
    const own = command === program ? [] : [...command.options, { long: "--help" }];
    const shared = [...program.options, { long: "--help" }];
    expect(flags).toEqual([...new Set([...own, ...shared].map(({ long }) => long)), ":done"]);
    if (command.commands.length > 0)
      expect(values(await ask([...words, ""]))).toEqual([
        ...command.commands.map((each) => each.name()),
        ":done",
      ]);
    for (const { long = "" } of command.options) {
      const { words: offered, end } = listOf(command, long);
      if (offered.length === 0) continue;
      expect(values(await ask([...words, long, ""]))).toEqual([...offered, end]);
      expect(values(await ask([...words, `${long}=`]))).toEqual([
        ...offered.map((each) => `${long}=${each}`),
        end,
      ]);
    }
  });

  const offeredFor = (name: string, flag: string): readonly string[] =>
    listOf(
      program.commands.find((command) => command.name() === name),
      flag,
    ).words;

  const audit = descriptor.options;

  test("what is offered for --fail-on is what it takes", async () => {
    const offered = offeredFor("status", "--fail-on");
    expect(offered).toHaveLength(8);
    expect((await machine.vault("status", "--fail-on", offered.join(","))).code).toBe(17);
    expect(offeredFor("audit-replay", "--fail-on")).toHaveLength(4);
  });

  test("what is offered for --where is what it takes", () => {
    const offered = offeredFor("audit-replay", "--where");
    expect(offered).toHaveLength(4);
    const { parse } = audit["--where <key=value...>"];
    expect(offered.map((key) => parse(`${key}x`))).toEqual(
      offered.map((key) => ({ key: key.slice(0, -1), value: "x" })),
    );
  });

  test("what is offered for --what-if and --map is what they take, and nothing is left out", () => {
    const changes = offeredFor("audit-replay", "--what-if");
    expect(changes).toHaveLength(2);
    for (const change of changes) audit["--what-if <change>"].parse(`${change}3`);
    const columns = offeredFor("audit-replay", "--map").map((column) => `${column}x`);
    expect(audit["--map <columns>"].parse(columns.join(","))).toEqual(
      Object.fromEntries(roles.map((role) => [role, "x"])),
    );
  });
});

test.each<[string, string[]]>([
  ["sta", ["status", "state", ":done"]],
  ["stat", ["status", "state", ":done"]],
  ["state", ["state", ":done"]],
  ["get --kind credit-card/o", ["credit-card/online", "credit-card/offline", ":done"]],
  ["get --json --js", [":done"]],
  ["get 1 -- --js", [":done"]],
  ["-qo ", ["table", "json", "ndjson", ":done"]],
  ["-qon", [":done"]],
  [
    "status --fail-on pending,",
    ["locked", "pending", "at-risk", "rejected", "in-doubt", "gone", "unverified", "any"]
      .map((each) => `pending,${each}`)
      .concat(":done"),
  ],
  [
    "audit-replay --fail-on at-risk,",
    ["locked", "at-risk", "open-exchange", "unknown"]
      .map((each) => `at-risk,${each}`)
      .concat(":done"),
  ],
  ["audit-replay --what-if lock-after-f", ["lock-after-failed=", ":nospace"]],
  ["audit-replay --map ac", ["action=", ":nospace"]],
  [
    "audit-replay --map time=when,",
    ["time", "action", "vault", "outcome", "ip", "ref", "endpoint", "app", "id", "reason"]
      .map((role) => `time=when,${role}=`)
      .concat(":nospace"),
  ],
  ["audit-replay a.ndjson ", [":files"]],
  ["get --credentials ", ["@", "env:", "-", ":nospace"]],
  ["get --credentials @f", [":files @"]],
  ["get --credentials=@f", [":files --credentials=@"]],
  ["update --card-number @", [":files @"]],
  ["--device @", [":files @"]],
  ["import --file ", [":files"]],
  ["sandbox start --data ", [":directories"]],
  ["get --external-ref ", [":done"]],
  ["status --field ", [":done"]],
  ["gett ", [":done"]],
  ["sandbox nothing ", [":done"]],
  ["--profile get sta", ["status", "state", ":done"]],
  ["get --external-ref import --rebi", [":done"]],
  [
    "help sandbox ",
    [
      ...(program.commands
        .find((command) => command.name() === "sandbox")
        ?.commands.map((command) => command.name()) ?? []),
      ":done",
    ],
  ],
  ["help reco", ["recovery", ":done"]],
  ["help nothing ", [":done"]],
  ["completion ", ["bash", "zsh", "fish", ":done"]],
])("%s", async (line, expected) => {
  expect(values(await ask(line.split(" ")))).toEqual(expected);
});

test("a flag that is there already is not offered again, in whichever form it was given", async () => {
  const offered = values(
    await ask(["get", "-o", "json", "--reveal", "--kind=generic/offline", "-"]),
  );
  expect(offered).toContain("--json");
  for (const flag of ["--output", "--reveal", "--kind"]) expect(offered).not.toContain(flag);
});

describe("vaults", () => {
  test("with their labels as plain text, or their kind", async () => {
    const all = [
      `${labelled.uuid}\t${labelled.shown}`,
      `${office.uuid}\t${office.shown}`,
      `${bare.uuid}\t${bare.kind}`,
      ":done",
    ];
    expect(await ask(["get", ""])).toEqual(all);
    for (const command of ["ack", "status", "guard", "export", "forget"])
      expect(await ask([command, ""])).toEqual(all);
    expect(await ask(["sandbox", "unlock", ""])).toEqual(all);
    expect(await ask(["status", "1111"])).toEqual([all[0], ":done"]);
  });

  test("by label, where the command takes one; not where the line has the vault already", async () => {
    const offered = [`${office.label}\t${office.uuid}`, ":done"];
    expect(await ask(["get", "Off"])).toEqual(offered);
    expect(await ask(["audit-replay", "--vault", "off"])).toEqual(offered);
    expect(await ask(["get", bare.uuid, "off"])).toEqual(offered);
    for (const line of [
      ["import", "off"],
      ["get", office.label, "off"],
      ["get", office.label, "333"],
      ["get", office.uuid, "off"],
      // Its label cannot be typed.
      ["get", "it"],
    ])
      expect(await ask(line)).toEqual([":done"]);
  });

  test("those that status lists, whatever base URL is set, and no others", async () => {
    const listed = async (of: Machine): Promise<string[]> => {
      const { stdout } = await of.vault("status", "--json");
      return (JSON.parse(stdout) as { vaults: { uuid: string }[] }).vaults
        .map(({ uuid }) => uuid)
        .toSorted();
    };
    const elsewhere = { VAULTSVC_BASE_URL: "https://elsewhere.example.com" };
    expect(
      values(await ask(["get", ""], elsewhere))
        .slice(0, -1)
        .toSorted(),
    ).toEqual(await listed(machine));
    const copy = machine.copy();
    await copy.vault("forget", bare.uuid, "--yes");
    const { stdout } = await copy.vault("__complete", "get", "");
    expect(values(stdout.trim().split("\n")).slice(0, -1)).toEqual(await listed(copy));
  });

  test("of the state that the line, the environment or the profile names", async () => {
    const home = tempDir("home");
    const other = { VAULTSVC_STATE: "", HOME: home, VAULTSVC_CONFIG_DIR: join(home, "config") };
    expect(await ask(["get", ""], other)).toEqual([":done"]);
    expect(values(await ask(["--state", machine.stateDir, "get", "1"], other))).toEqual([
      labelled.uuid,
      ":done",
    ]);
    expect(values(await ask([`--state=${machine.stateDir}`, "get", "1"], other))).toEqual([
      labelled.uuid,
      ":done",
    ]);
    mkdirSync(join(home, "config"));
    const profiles = { default: {}, kept: { state: machine.stateDir } };
    writeFileSync(join(home, "config", "config.json"), JSON.stringify({ profiles }));
    expect(await ask(["get", "1"], other)).toEqual([":done"]);
    expect(values(await ask(["get", "--profile", "kept", "1"], other))).toEqual([
      labelled.uuid,
      ":done",
    ]);
    expect(values(await ask(["get", "1"], { ...other, VAULTSVC_PROFILE: "kept" }))).toEqual([
      labelled.uuid,
      ":done",
    ]);
    expect(await ask(["--profile", ""], other)).toEqual(["default", "kept", ":done"]);
  });
});

describe("it writes nothing, needs no key, and never fails aloud", () => {
  const files = (folder: string): Record<string, unknown> =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => {
        const stats = statSync(join(folder, name));
        // The index of a WAL is memory that processes share: its marks come and go.
        const content =
          stats.isFile() && !name.endsWith("-shm")
            ? readFileSync(join(folder, name)).toString("base64")
            : "";
        return [
          name,
          {
            mode: stats.mode,
            size: stats.size,
            content,
            changed: name.endsWith("-shm") ? 0 : stats.mtimeMs,
          },
        ];
      }),
    );

  test.each<[string, (state: string) => void, boolean]>([
    ["a state in use", () => {}, true],
    ["a state at rest", (state) => new DatabaseSync(join(state, "vault.db")).close(), true],
    ["a state whose WAL has no index", (state) => rmSync(join(state, "vault.db-shm")), false],
    [
      "a database of something else",
      (state) => writeDatabase(state, "PRAGMA application_id = 1"),
      false,
    ],
    ["a newer state", (state) => writeDatabase(state, "PRAGMA user_version = 4711"), false],
    ["a damaged one", (state) => damage(state), false],
    ["one that others can write to", (state) => chmodSync(state, 0o770), false],
    ["one that others can read", (state) => chmodSync(state, 0o750), true],
  ])("%s", async (_name, change, isKnown) => {
    const copy = machine.copy();
    change(copy.stateDir);
    const before = files(copy.stateDir);
    const { code, stdout, stderr } = await copy.vaultWith(
      { env: { VAULTSVC_CONFIG_DIR: tempDir("no-key") } },
      "__complete",
      "get",
      "1",
    );
    expect({ code, stderr, isKnown: stdout.includes(labelled.uuid) }).toEqual({
      code: 0,
      stderr: "",
      isKnown,
    });
    expect(files(copy.stateDir)).toEqual(before);
  });

  test("no state: none is made", async () => {
    const home = tempDir("home");
    const folders = {
      VAULTSVC_STATE: join(home, "state"),
      VAULTSVC_CONFIG_DIR: join(home, "config"),
    };
    expect(await ask(["get", ""], folders)).toEqual([":done"]);
    expect(existsSync(join(home, "state")) || existsSync(join(home, "config"))).toBe(false);
  });

  test("settings, configuration and state that cannot be used", async () => {
    const home = tempDir("home");
    writeFileSync(join(home, "config.json"), "{");
    expect(await ask(["get", ""], { VAULTSVC_CONFIG_DIR: home })).toEqual([]);
    expect(await ask(["--profile", ""], { VAULTSVC_CONFIG_DIR: home })).toEqual([]);
    expect(await ask(["get", ""], { VAULTSVC_STATE: "postgres://x.example.com/y" })).toEqual([
      ":done",
    ]);
    expect(await ask(["get", ""], { VAULTSVC_STATE: "/dev/null" })).toEqual([":done"]);
    expect(
      values(await ask(["get", "1"], { VAULTSVC_RATE: "many", VAULTSVC_OUTPUT: "picture" })),
    ).toEqual([labelled.uuid, ":done"]);
    expect(await ask([])).toContain("get\tread a vault, or many");
  });

  test("no secret gets out, whatever is asked", async () => {
    const asked = [program, ...below(program)].flatMap((command) => {
      const words = pathOf(command).slice(1);
      const ofOptions = command.options.flatMap(({ long = "" }) => [
        [...words, long, ""],
        [...words, long, "env:"],
      ]);
      return [[...words, ""], [...words, "-"], ...ofOptions];
    });
    const env = { VAULTSVC_STATE_KEY: "c2VjcmV0LXN0YXRlLWtleQ==" };
    const answers = await Promise.all(asked.map((words) => ask(words, env)));
    const secrets = [pair.encryptedData, pair.payload, "c2VjcmV0LWtleQ==", env.VAULTSVC_STATE_KEY];
    expect(secrets.filter((secret) => answers.flat().join("\n").includes(secret))).toEqual([]);
  });
});

function writeDatabase(state: string, sql: string): void {
  const db = new DatabaseSync(join(state, "vault.db"));
  db.exec(sql);
  db.close();
}

function damage(state: string): void {
  copyFileSync(import.meta.filename, join(state, "vault.db"));
  chmodSync(join(state, "vault.db"), 0o600);
}
