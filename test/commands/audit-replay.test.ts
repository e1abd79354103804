import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { portions } from "../../src/commands/audit-replay/output.ts";
import { jsonText } from "../../src/terminal/redactor.ts";
import type { Lab } from "../support/lab.ts";
import { expectError, expectExit, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";

let lab: Lab;
let uuid = "";
beforeAll(async () => {
  lab = await openLab();
  ({ uuid } = lab.vault);
});

const hostile = '\u001B[31m\u009B2J "quoted" \\ \u202E\u2028 ünï ✓ \uD800';
let minute = 0;
const item = (vaultUuid: string, action = "READ_VAULT", more = {}): string => {
  const time = `2026-11-20T14:${String((minute += 1) % 60).padStart(2, "0")}:11Z`;
  return `${JSON.stringify({ time, action, outcome: "SUCCESS", vaultUuid, externalRef: "order-1", ...more })}\n`;
};

/** A machine without a state, on which these items were exported to audit.ndjson, and what the command does there. */
function withExport(items = item(uuid), machine: Machine = lab.machine()) {
  const audit = machine.file("audit.ndjson", items);
  const run = async (...args: string[]) =>
    await machine.vaultWith({ cwd: machine.home }, "audit-replay", ...args);
  const json = async (...args: string[]) => {
    const result = await run("audit.ndjson", "--json", ...args);
    expectExit(result, 0);
    return { ...result, document: JSON.parse(result.stdout) as Record<string, unknown> };
  };
  const read = (name: string): string => readFileSync(join(machine.home, name), "utf8");
  return { ...machine, audit, run, json, read };
}

describe("what it prints", () => {
  const some = () =>
    withExport(`${item(uuid)}${item("9b1c0000-0000-4000-8000-000000000000", hostile)}x\n`);

  test("--json: the answer first, then what may make it wrong, in the layout of every other document", async () => {
    const { stdout, document } = await some().json();
    expect(Object.keys(document).slice(0, 2)).toEqual(["found", "warnings"]);
    expect(Object.keys(document).indexOf("vaults")).toBeLessThan(
      Object.keys(document).indexOf("skipped"),
    );
    expect(stdout).toBe(`${jsonText(document, 2)}\n`);
    expect((await withExport("").run("-o", "ndjson")).stdout).toMatch(
      /^\{"event":"summary","found":/,
    );
  });

  test("-o ndjson: a line per vault, and a last one with the rest", async () => {
    const machine = some();
    const { vaults, ...rest } = (await machine.json("--what-if", "lock-after-failed=5")).document;
    const { stdout } = await machine.run(
      "audit.ndjson",
      "-o",
      "ndjson",
      "--what-if",
      "lock-after-failed=5",
    );
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([...(vaults as unknown[]), { event: "summary", ...rest }]);
  });

  test.each<[string, unknown]>([
    ["items", 2],
    ["rules.release", "1.2.28"],
    ["vaults.0.verdict", "open-exchange"],
    ["skipped.0.line", 3],
    ["otherActions.0.value", hostile.replace("\uD800", "\uFFFD")],
  ])("--field %s", async (path, value) => {
    const { stdout } = await some().run("audit.ndjson", "--field", path);
    expect(stdout).toBe(typeof value === "string" ? value : jsonText(value));
  });

  test.each(["vaults.2", "vaults.locked", "vaults.0.nothing", "whatIf"])(
    "--field %s is not there",
    async (path) => {
      expectError(
        await some().run("audit.ndjson", "--field", path, "--json"),
        2,
        "usage",
        /no such field/,
      );
    },
  );

  test("in writes that are large, and never all", () => {
    const sizes = [...portions(Array.from({ length: 5000 }, () => "x".repeat(1000)))].map(
      ({ length }) => length,
    );
    expect([sizes.length, sizes.reduce((sum, size) => sum + size)]).toEqual([76, 5_000_000]);
  });
});

test("warns of what it does not understand, and takes what it means", async () => {
  const machine = withExport(item(uuid, "OPEN") + item(uuid, "CLOSE"));
  const unknown = await machine.run("audit.ndjson", "--json", "--fail-on", "unknown");
  expectError(unknown, 17, "finding");
  expect(unknown.stderr).toMatch(/warning: 2 of 2 items were not understood: OPEN ×1, CLOSE ×1/m);
  const read = await machine.run("audit.ndjson");
  expect([read.stderr, read.stdout]).toEqual([
    "",
    expect.stringMatching(/^1 vault [^\n]*\n\n2 of 2 items were not understood:/),
  ]);
  const { stderr, document } = await machine.json(
    "--action",
    "OPEN=READ_VAULT",
    "--action",
    "CLOSE=ACKNOWLEDGE_READ_VAULT",
  );
  expect([stderr, document["vaults"]]).toMatchObject(["", [{ uuid, verdict: "ok" }]]);
});

test.each([
  [
    "locked",
    item("x").slice(0, 9),
    /audit\.ndjson is cut off or damaged at line 2: locked cannot be ruled out/,
  ],
  [
    "open-exchange,locked",
    item("x").slice(0, 9),
    /1 vault is open-exchange \(.*; .*: locked cannot be ruled out/,
  ],
  ["locked", "NaN\n", /1 line could not be read: locked cannot be ruled out/],
])(
  "--fail-on %s finds nothing ruled out by what cannot be read: %j",
  async (findings, unread, message) => {
    const result = await withExport(item(uuid) + unread).run(
      "audit.ndjson",
      "--json",
      "--fail-on",
      findings,
    );
    expectError(result, 17, "finding", message);
  },
);

describe("on a machine that uses the vault", () => {
  let machine: ReturnType<typeof withExport>;
  const others = ["9b1c0000", "9b1c1111"];
  beforeAll(async () => {
    const own = await openLab();
    const warm = await own.warmMachine();
    expectExit(await warm.vault("label", own.vault.uuid, "daily"), 0);
    const uuids = [own.vault.uuid, ...others.map((start) => start + own.vault.uuid.slice(8))];
    machine = Object.assign(withExport(uuids.map((each) => item(each)).join(""), warm), {
      own: own.vault.uuid,
    });
  });

  test("takes a vault by its label, by first digits, without a terminal too", async () => {
    const { document } = await machine.json("--vault", "daily");
    const [vault] = document["vaults"] as { uuid: string; label: string }[];
    for (const name of [vault?.uuid ?? "", (vault?.uuid ?? "").slice(0, 13).toUpperCase()])
      expect((await machine.json("--vault", name)).document["vaults"]).toMatchObject([
        { ...vault, label: "daily" },
      ]);
    const several = await machine.run("audit.ndjson", "--json", "--vault", "9b1c");
    expectError(several, 2, "usage", /fits 2 vaults: 9b1c1111-.*, 9b1c0000-/);
    expectError(await machine.run("audit.ndjson", "--json", "--vault", "9b1"), 2, "usage");
    expectError(
      await machine.run("audit.ndjson", "--json", "--vault", "weekly"),
      4,
      "no-credentials",
    );
    expect((await machine.json("--vault", "abcd")).stderr).toContain("no item names vault abcd");
  });

  test("without a file replays its journal, needs no key for it, and changes nothing", async () => {
    rmSync(join(machine.configDir, "state.key"));
    const files = () => readdirSync(machine.stateDir, { recursive: true }).toSorted();
    const before = files();
    const result = await machine.run("--json");
    expect([result.code, result.stderr]).toEqual([0, ""]);
    expect(JSON.parse(result.stdout)).toMatchObject({ items: 2 });
    expect([files(), existsSync(join(machine.configDir, "state.key"))]).toEqual([before, false]);
  });
});

test("makes no state where there is none, and needs no state key", async () => {
  const machine = withExport();
  expect(JSON.parse((await machine.run("--json")).stdout)).toMatchObject({ items: 0, vaults: [] });
  expect((await machine.json("--state-key", "@missing")).stderr).toBe("");
  expectError(
    await machine.run("-", "--state-key", "-", "--json"),
    2,
    "usage",
    /standard input already holds the audit items/,
  );
  expect([existsSync(machine.stateDir), existsSync(machine.configDir)]).toEqual([false, false]);
});

test("a state that cannot be read is a failure without a file, and a warning with one", async () => {
  const machine = withExport();
  mkdirSync(machine.stateDir, { mode: 0o700 });
  writeFileSync(join(machine.stateDir, "vault.db"), "x".repeat(5000));
  expectError(await machine.run("--json"), 14, "state", /damaged/);
  expect((await machine.json()).stderr).toMatch(
    /^vault: warning: exchanges of this machine are not named: the state cannot be used: .+\n$/,
  );
});

test("with --redact names no reference and no file, in no output", async () => {
  for (const format of [["--json"], ["-o", "ndjson"], []]) {
    const machine = withExport(`${item(uuid)}not an item\n`);
    mkdirSync(join(machine.home, "acme"));
    writeFileSync(join(machine.home, "acme", "acme.ndjson"), machine.read("audit.ndjson"));
    const reports = [
      "--html",
      "r.html",
      "--markdown",
      "r.md",
      "--timeline",
      "--vault",
      uuid,
      "--where",
      "ref=order-1",
    ];
    const result = await machine.run(
      "acme/acme.ndjson",
      "--redact",
      "--verbose",
      ...reports,
      ...format,
    );
    expectExit(result, 0);
    for (const text of [result.stdout, machine.read("r.html"), machine.read("r.md")]) {
      expect(text).toContain("ref-1");
      expect(text).toContain("file-1");
      expect(text + result.stderr).not.toMatch(/order-1|acme/);
    }
  }
});

test.each<[string[], number, RegExp]>([
  [["missing.csv"], 3, /missing\.csv: no such file/],
  [["."], 3, /\.: is a folder/],
  [["--action", "OPEN=READ_VAULT"], 2, /--action is for files/],
  [["--since", "1h", "--until", "2h"], 2, /--since is not before --until/],
  [
    ["--field", "vault.uuid"],
    2,
    /--field vault\.uuid: vault audit-replay prints no such field; nothing was sent/,
  ],
  [["--html", "-"], 2, /--html -: standard output already holds the document/],
  [["--html", "none/report.html"], 3, /--html: none\/report\.html cannot be written \(ENOENT\)/],
  [["--markdown", "-"], 2, /--markdown -: standard output already holds the document/],
  [["--html", "r", "--markdown", "./r"], 2, /--html and --markdown have the same target/],
  [["--html", "here/r", "--markdown", "r"], 2, /--html and --markdown have the same target/],
  [["--html", "state/vault.db"], 3, /is one of this program's own files; nothing was written/],
  [
    ["audit.ndjson", "--html", "./audit.ndjson"],
    3,
    /is one of the files to replay; nothing was written/,
  ],
  [
    ["audit.ndjson", "--html", "link.html"],
    3,
    /is one of the files to replay; nothing was written/,
  ],
  [["--where", "time=x"], 2, /--where: "time" must be one of ref, ip, endpoint, app/],
])("%j: nothing is printed, nothing made", async (args, exit, message) => {
  const machine = withExport();
  symlinkSync(machine.audit, join(machine.home, "link.html"));
  symlinkSync(".", join(machine.home, "here"));
  const before = readdirSync(machine.home);
  const result = await machine.run("--json", ...args);
  expectError(result, exit, exit === 2 ? "usage" : "invalid-input", message);
  expect([result.stdout, readdirSync(machine.home)]).toEqual(["", before]);
});

test("the rules come from flags, over the profile, over the defaults", async () => {
  const machine = withExport();
  const rules = async (...args: string[]) => (await machine.json(...args)).document["rules"];
  const usual = {
    limits: { unackedStarts: 5, failedAttempts: 3 },
    tokenLifetimeMs: 300_000,
    autoLockAfterMs: 31_536_000_000,
    release: "1.2.28",
    failure: null,
  };
  expect(await rules()).toEqual(usual);
  const profile = {
    "policy.tokenLifetime": "90s",
    "audit.failure": "denied",
    "policy.failedAttempts": "7",
  };
  for (const [key, value] of Object.entries(profile))
    expectExit(await machine.vault("config", "set", key, value), 0);
  expect(await rules()).toMatchObject({
    tokenLifetimeMs: 90_000,
    failure: "denied",
    limits: { failedAttempts: 7 },
  });
  const flags = "--token-lifetime 1m --failure bad --lock-after-failed 4 --release 1.2.22".split(
    " ",
  );
  expect(await rules(...flags)).toMatchObject({
    tokenLifetimeMs: 60_000,
    failure: "bad",
    limits: { failedAttempts: 4 },
    release: "1.2.22",
  });
});

test("reports are written whole, for their owner only, beside the document, or to standard output", async () => {
  const machine = withExport();
  for (const name of ["r.html", "t.md"]) chmodSync(machine.file(name, "older"), 0o644);
  await machine.json("--html", "r.html", "--markdown", "t.md");
  for (const [name, flag, start] of [
    ["r.html", "--html", /^<!doctype html>/i],
    ["t.md", "--markdown", /^\*\*1 vault probably with an open exchange/],
  ] as const) {
    expect([machine.read(name), statSync(join(machine.home, name)).mode & 0o777]).toEqual([
      expect.stringMatching(start),
      0o600,
    ]);
    const printed = await machine.run("audit.ndjson", flag, "-");
    expect([printed.stderr, printed.stdout]).toEqual(["", expect.stringMatching(start)]);
  }
});
