import * as fs from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { portions } from "../../src/commands/audit-replay/output.ts";
import { jsonText } from "../../src/terminal/redactor.ts";
import { rows } from "../audit/support.ts";
import { expectError, expectExit, openLab, type ErrorCode, type Lab } from "../support/lab.ts";
import { keyFileOf, type Machine } from "../support/machine.ts";

let lab: Lab;
let uuid = "";
beforeAll(async () => {
  lab = await openLab();
  ({ uuid } = lab.vault);
});

const hostile = '\u001B[31m\u009B2J "quoted" \\ \u202E\u2028 ünï ✓ \uD800';
let minute = 0;
const item = (vaultUuid: string, action = "READ_VAULT"): string => {
  const time = `2026-11-20T14:${String((minute += 1) % 60).padStart(2, "0")}:11Z`;
  return `${JSON.stringify({ time, action, outcome: "SUCCESS", vaultUuid, externalRef: "order-1" })}\n`;
};
/** A machine without a state, with these items in audit.ndjson, and what the command does there with these words. */
function withExport(items = item(uuid), machine: Machine = lab.machine()) {
  const audit = machine.file("audit.ndjson", items);
  const run = async (words: string) =>
    await machine.vaultWith({ cwd: machine.home }, "audit-replay", ...words.split(" "));
  const json = async (words = "") => {
    const result = await run(`audit.ndjson --json ${words}`.trimEnd());
    expectExit(result, 0);
    return { ...result, document: JSON.parse(result.stdout) as Record<string, unknown> };
  };
  const expectRefused = async (words: string, code: ErrorCode, message: RegExp) => {
    const result = await run(`${words} --json`);
    expectError(result, code, message);
    return result;
  };
  const read = (name: string): string => fs.readFileSync(join(machine.home, name), "utf8");
  return { ...machine, audit, run, json, expectRefused, read };
}

describe("what it prints", () => {
  const some = () =>
    withExport(item(uuid) + item("9b1c0000-0000-4000-8000-000000000000", hostile) + "x\n");

  test("--json: the answer first, then what may make it wrong; -o ndjson: a line per vault, and a last one with the rest", async () => {
    const machine = some();
    const { stdout, document } = await machine.json("--what-if lock-after-failed=5");
    const keys = Object.keys(document);
    expect([...keys.slice(0, 2), keys.at(-1)]).toEqual(["found", "warnings", "vaults"]);
    expect(stdout).toBe(`${jsonText(document, 2)}\n`);
    const lines = await machine.run("audit.ndjson -o ndjson --what-if lock-after-failed=5");
    const { vaults, ...rest } = document;
    expect(
      lines.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([...(vaults as unknown[]), { event: "summary", ...rest }]);
    expect((await machine.run("-o ndjson")).stdout).toMatch(/^\{"event":"summary","found":/);
  });

  test("--field", async () => {
    const machine = some();
    const fields: [string, unknown][] = [
      ["items", 2],
      ["rules.release", "1.2.28"],
      ["vaults.0.verdict", "open-exchange"],
      ["skipped.0.line", 3],
    ];
    for (const [path, value] of fields)
      expect((await machine.run(`audit.ndjson --field ${path}`)).stdout).toBe(
        typeof value === "string" ? value : jsonText(value),
      );
    for (const path of ["vaults.locked", "vaults.0.nothing"])
      await machine.expectRefused(`audit.ndjson --field ${path}`, "usage", /no such field/);
    for (const path of ["vaults.2", "whatIf"]) {
      const { stdout, stderr } = await machine.run(`audit.ndjson --field ${path}`);
      expect([stdout, stderr]).toEqual([
        "",
        expect.stringContaining(`--field ${path}: the document has no`),
      ]);
    }
  });

  test("in writes that are large, and never all", () => {
    const pieces = Array.from({ length: 5000 }, () => "x".repeat(1000));
    const sizes = [...portions(pieces)].map(({ length }) => length);
    expect([sizes.length, sizes.reduce((sum, size) => sum + size)]).toEqual([76, 5_000_000]);
  });
});

test("warns of what it does not understand, and takes what it means", async () => {
  const machine = withExport(item(uuid, "OPEN") + item(uuid, "CLOSE"));
  const words = "audit.ndjson --fail-on unknown";
  const unknown = await machine.expectRefused(words, "finding", /1 vault is unknown/);
  expect(unknown.stderr).toMatch(
    /warning: Actions that were not understood: "OPEN" ×1, "CLOSE" ×1/m,
  );
  const read = await machine.run("audit.ndjson");
  expect(read.stdout).toMatch(/^1 vault [^\n]*\n\nActions that were not understood:/);
  expect(read.stderr).toBe("");
  const told = await machine.json("--action OPEN=READ_VAULT --action CLOSE=ACKNOWLEDGE_READ_VAULT");
  expect([told.stderr, told.document["vaults"]]).toMatchObject(["", [{ uuid, verdict: "ok" }]]);
});

test.each([
  ["locked", '{"time":', /is cut off or damaged at line 2: locked cannot be ruled out/],
  ["open-exchange,locked", '{"time":', /1 vault is open-exchange; .*: locked cannot be ruled out/],
  ["locked", "NaN\n", /1 line could not be read: locked cannot be ruled out/],
])("--fail-on %s rules nothing out that cannot be read: %j", async (findings, unread, message) => {
  const words = `audit.ndjson --fail-on ${findings}`;
  await withExport(item(uuid) + unread).expectRefused(words, "finding", message);
});

describe("on a machine that uses the vault", () => {
  let machine: ReturnType<typeof withExport>;
  let used = "";
  beforeAll(async () => {
    const own = await openLab();
    used = own.vault.uuid;
    const warm = await own.warmMachine();
    await warm.ok("label", used, "daily");
    const uuids = [used, ...["9b1c0000", "9b1c1111"].map((start) => start + used.slice(8))];
    machine = withExport(uuids.map((each) => item(each)).join(""), warm);
  });

  test("takes a vault by its label, by first digits, without a terminal too", async () => {
    for (const name of ["daily", used, used.slice(0, 13).toUpperCase()])
      expect((await machine.json(`--vault ${name}`)).document["vaults"]).toMatchObject([
        { uuid: used, label: "daily" },
      ]);
    const refused = async (name: string, code: ErrorCode, message: RegExp) =>
      await machine.expectRefused(`audit.ndjson --vault ${name}`, code, message);
    await refused("9b1c", "usage", /fits 2 vaults: 9b1c1111-.*, 9b1c0000-/);
    await refused("9b1", "usage", /at least 4 digits/);
    await refused("weekly", "no-credentials", /no vault named "weekly"/);
    expect((await machine.json("--vault abcd")).stderr).toContain("no item names vault abcd");
  });

  test("without a file replays its journal, needs no key for it, and changes nothing", async () => {
    fs.rmSync(keyFileOf(machine));
    const files = () =>
      [machine.stateDir, machine.configDir].map((folder) =>
        fs.readdirSync(folder, { recursive: true }).toSorted(),
      );
    const before = files();
    const result = await machine.run("--json");
    expect([result.code, result.stderr]).toEqual([0, ""]);
    expect(JSON.parse(result.stdout)).toMatchObject({ items: 2 });
    expect(files()).toEqual(before);
  });
});

test("makes no state where there is none, and needs no state key; one that cannot be read is a failure without a file", async () => {
  const machine = withExport();
  expect(JSON.parse((await machine.run("--json")).stdout)).toMatchObject({ items: 0, vaults: [] });
  expect((await machine.json("--state-key @missing")).stderr).toBe("");
  expect([machine.stateDir, machine.configDir].filter(fs.existsSync)).toEqual([]);
  fs.mkdirSync(machine.stateDir, { mode: 0o700 });
  fs.writeFileSync(join(machine.stateDir, "vault.db"), "x".repeat(5000));
  await machine.expectRefused("--verbose", "state", /damaged/);
  expect((await machine.json()).stderr).toMatch(
    /^vault: warning: no labels of this machine are shown: .+\n$/,
  );
});

test.each(["--json", "-o ndjson", "--verbose"])(
  "with --redact names no reference and no file, in no output of %s",
  async (format) => {
    const machine = withExport(`${item(uuid)}not an item\n`);
    fs.mkdirSync(join(machine.home, "acme"));
    fs.copyFileSync(machine.audit, join(machine.home, "acme", "acme.ndjson"));
    const reports = `--html r.html --markdown r.md --timeline --vault ${uuid} --where ref=order-1`;
    const result = await machine.run(`acme/acme.ndjson --redact ${reports} ${format}`);
    expectExit(result, 0);
    for (const text of [result.stdout, machine.read("r.html"), machine.read("r.md")]) {
      expect(text).toMatch(/ref-1[^]*file-1|file-1[^]*ref-1/);
      expect(text + result.stderr).not.toMatch(/order-1|acme/);
    }
  },
);

test.each(
  rows(`
missing.csv                    | invalid-input | cannot read missing.csv: no such file or folder
.                              | invalid-input | cannot read .: it is a folder
--action OPEN=READ_VAULT       | usage         | --action requires
--since 1h --until 2h          | usage         | --since is not before --until
--field vault.uuid             | usage         | --field vault.uuid: vault audit-replay prints no such field; nothing was sent
--html -                       | usage         | --html -: standard output already holds the document
--html r --markdown ./r        | usage         | --html and --markdown name the same file
--markdown .                   | invalid-input | --markdown: . is not a file; nothing was written
--html none/report.html        | invalid-input | --html: none/report.html cannot be written (ENOENT)
--markdown -                   | usage         | --markdown -: standard output already holds the document
--html state/vault.db          | invalid-input | is one of this program's own files; nothing was written
audit.ndjson --html ./audit.ndjson | invalid-input | is one of the files to replay; nothing was written
audit.ndjson --html link.html  | invalid-input | is one of the files to replay; nothing was written
--where time=x                 | usage         | --where: "time=x" is not KEY=VALUE`),
)("%s: nothing is printed, nothing made", async (words = "", code, message = "") => {
  const machine = withExport();
  fs.symlinkSync(machine.audit, join(machine.home, "link.html"));
  const before = fs.readdirSync(machine.home);
  const text = new RegExp(message.replaceAll(/[.()]/g, String.raw`\$&`));
  const { stdout } = await machine.expectRefused(words, code as ErrorCode, text);
  expect([stdout, fs.readdirSync(machine.home)]).toEqual(["", before]);
});

test("the rules come from flags, over the profile, over the defaults", async () => {
  const machine = withExport();
  const rules = async (words?: string) => (await machine.json(words)).document["rules"];
  const limits = { unackedStarts: 5, failedAttempts: 3 };
  const autoLockAfterMs = 31_536_000_000;
  const usual = {
    limits,
    tokenLifetimeMs: 300_000,
    autoLockAfterMs,
    release: "1.2.28",
    failure: null,
  };
  expect(await rules()).toEqual(usual);
  await machine.ok("config", "set", "policy.failedAttempts", "7");
  expect(await rules()).toEqual({ ...usual, limits: { ...limits, failedAttempts: 7 } });
  const words = "--token-lifetime 1m --failure bad --lock-after-failed 4 --release 1.2.22";
  const four = { limits: { ...limits, failedAttempts: 4 }, tokenLifetimeMs: 60_000 };
  expect(await rules(words)).toEqual({ ...usual, ...four, failure: "bad", release: "1.2.22" });
});

test.each([
  ["r.html", "--html", /^<!doctype html>/i],
  ["t.md", "--markdown", /^\*\*1 vault probably with an open exchange/],
])("%s is written whole, for its owner only, or to standard output", async (name, flag, start) => {
  const machine = withExport();
  fs.chmodSync(machine.file(name, "older"), 0o644);
  await machine.json(`${flag} ${name}`);
  expect(machine.read(name)).toMatch(start);
  expect(fs.statSync(join(machine.home, name)).mode & 0o777).toBe(0o600);
  const printed = await machine.run(`audit.ndjson ${flag} -`);
  expect([printed.stderr, printed.stdout]).toEqual(["", expect.stringMatching(start)]);
});
