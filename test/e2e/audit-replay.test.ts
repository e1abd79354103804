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
import { beforeAll, describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import { expectError, expectExit, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";

interface Document {
  items: number;
  rules: Record<string, unknown>;
  vaults: { uuid: string; label?: string }[];
}

const documentOf = ({ stdout }: { stdout: string }): Document => JSON.parse(stdout) as Document;

const item = (uuid: string) =>
  JSON.stringify({
    time: "2026-11-20T14:02:11Z",
    action: "READ_VAULT",
    outcome: "SUCCESS",
    vaultUuid: uuid,
    externalRef: "order-1",
  });

describe("audit-replay", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab();
  });

  /** A machine without a state, and an export on it. */
  function withExport(): Machine & { audit: string } {
    const machine = lab.machine();
    return { ...machine, audit: machine.file("audit.ndjson", `${item(lab.vault.uuid)}\n`) };
  }

  const expectNothingMade = ({ stateDir, configDir }: Machine): void => {
    expect([existsSync(stateDir), existsSync(configDir)]).toEqual([false, false]);
  };

  it("warns of items that it does not understand, and takes what their actions mean", async () => {
    const machine = lab.machine();
    const { uuid } = lab.vault;
    const of = (time: string, action: string) =>
      JSON.stringify({ ...(JSON.parse(item(uuid)) as object), time, action });
    const file = machine.file(
      "renamed.ndjson",
      `${of("2026-11-20T14:02:11Z", "OPEN")}\n${of("2026-11-20T14:02:12Z", "CLOSE")}\n`,
    );
    const unknown = await machine.vault("audit-replay", file, "--json", "--fail-on", "unknown");
    expectError(unknown, 17, "finding");
    expect(unknown.stderr).toMatch(/warning: 2 of 2 items were not understood: OPEN ×1, CLOSE ×1/m);
    expect(JSON.parse(unknown.stdout)).toMatchObject({ vaults: [{ uuid, verdict: "unknown" }] });
    const read = await machine.vault("audit-replay", file);
    expectExit(read, 0);
    expect(read.stderr).toBe("");
    expect(read.stdout).toMatch(/^1 vault [^\n]*\n\n2 of 2 items were not understood:/);
    const explained = ["--action", "OPEN=READ_VAULT", "--action", "CLOSE=ACKNOWLEDGE_READ_VAULT"];
    const ok = await machine.vault("audit-replay", file, "--json", ...explained);
    expectExit(ok, 0);
    expect(ok.stderr).toBe("");
    expect(JSON.parse(ok.stdout)).toMatchObject({
      rules: { actions: { OPEN: "READ_VAULT", CLOSE: "ACKNOWLEDGE_READ_VAULT" } },
      vaults: [{ uuid, verdict: "ok" }],
    });
    expectError(
      await machine.vault("audit-replay", "--json", "--action", "OPEN=READ_VAULT"),
      2,
      "usage",
    );
  });

  it("finds nothing ruled out by an export that is cut off", async () => {
    const machine = lab.machine();
    const file = machine.file("cut.ndjson", `${item(lab.vault.uuid)}\n${item("x").slice(0, 9)}`);
    const cut = /cut\.ndjson is cut off or damaged at line 2/;
    const asked = await machine.vault("audit-replay", file, "--json", "--fail-on", "locked");
    expectError(asked, 17, "finding", /at line 2: locked cannot be ruled out/);
    const both = ["--fail-on", "open-exchange,locked"];
    expectError(
      await machine.vault("audit-replay", file, "--json", ...both),
      17,
      "finding",
      /1 vault is open-exchange \(.*; .*: locked cannot be ruled out/,
    );
    const read = await machine.vault("audit-replay", file, "--json");
    expectExit(read, 0);
    expect(read.stderr).toMatch(cut);
    const gap = machine.file("gap.ndjson", `NaN\n${item(lab.vault.uuid)}\n`);
    expectError(
      await machine.vault("audit-replay", gap, "--json", "--fail-on", "locked"),
      17,
      "finding",
      /1 line could not be read: locked cannot be ruled out/,
    );
  });

  it("takes a vault by its label on this machine, and by first digits, without a terminal too", async () => {
    const own = await openLab();
    const machine = await own.warmMachine();
    const { uuid } = own.vault;
    expectExit(await machine.vault("label", uuid, "daily"), 0);
    const others = ["9b1c0000", "9b1c1111"].map((start) => `${start}${uuid.slice(8)}`);
    const file = machine.file("all.ndjson", [uuid, ...others].map(item).join("\n"));
    const replayed = async (vault: string) =>
      await machine.vault("audit-replay", file, "--json", "--vault", vault);
    for (const name of ["daily", uuid.slice(0, 13).toUpperCase(), uuid]) {
      const result = await replayed(name);
      expectExit(result, 0);
      expect(documentOf(result).vaults).toMatchObject([{ uuid, label: "daily" }]);
    }
    const several = await replayed("9b1c");
    expectError(several, 2, "usage");
    for (const other of others) expect(several.stderr).toContain(other);
    expectError(await replayed("9b1"), 2, "usage");
    expectError(await replayed("weekly"), 4, "no-credentials");
    const none = await replayed("abcd");
    expectExit(none, 0);
    expect(none.stderr).toContain("no item names vault abcd");
  });

  it("without a file replays this machine's own journal, and needs no key for it", async () => {
    const machine = await lab.warmMachine();
    rmSync(join(machine.configDir, "state.key"));
    const before = readdirSync(machine.stateDir, { recursive: true }).toSorted();
    const result = await machine.vault("audit-replay", "--json");
    expectExit(result, 0);
    expect(result.stderr).toBe("");
    expect(documentOf(result).items).toBe(2);
    expect(readdirSync(machine.stateDir, { recursive: true }).toSorted()).toEqual(before);
    expect(existsSync(join(machine.configDir, "state.key"))).toBe(false);
    expect(lab.service.sandbox.requests()).toHaveLength(2);
  });

  it("makes no state where there is none, with a file and without", async () => {
    const machine = withExport();
    const journal = await machine.vault("audit-replay", "--json");
    expectExit(journal, 0);
    expect(documentOf(journal)).toMatchObject({ items: 0, vaults: [] });
    const file = await machine.vault("audit-replay", machine.audit, "--json");
    expectExit(file, 0);
    expect(file.stderr).toBe("");
    expectNothingMade(machine);
  });

  it("names the vaults that have a label on this machine", async () => {
    const { vault, warmMachine } = await openLab();
    const machine = await warmMachine();
    expectExit(await machine.vault("label", vault.uuid, "backup card"), 0);
    const other = "00000000-0000-4000-8000-000000000000";
    const audit = machine.file(
      "audit.ndjson",
      `${item(vault.uuid.toUpperCase())}\n${item(other)}\n`,
    );
    const result = await machine.vault("audit-replay", audit, "--json");
    expect(documentOf(result).vaults.map(({ uuid, label }) => [uuid, label])).toEqual([
      [vault.uuid, "backup card"],
      [other, null],
    ]);
  });

  it("with --redact names no reference, in no output", async () => {
    const machine = withExport();
    const where = [
      "--where",
      "ref=order-1",
      "--html",
      "r.html",
      "--markdown",
      "r.md",
      "--redact",
      "--verbose",
    ];
    for (const format of [["--json"], ["-o", "ndjson"], []]) {
      const args = [...where, "--timeline", "--vault", lab.vault.uuid, ...format];
      const result = await machine.vaultWith(
        { cwd: machine.home },
        "audit-replay",
        "audit.ndjson",
        ...args,
      );
      expectExit(result, 0);
      const files = ["r.html", "r.md"].map((name) =>
        readFileSync(join(machine.home, name), "utf8"),
      );
      for (const text of [result.stdout, ...files]) expect(text).toContain("ref-1");
      expect([result.stdout, result.stderr, ...files].join("")).not.toContain("order-1");
    }
  });

  it("with --redact names no file", async () => {
    const machine = withExport();
    const folder = join(machine.home, "customers-of-acme");
    mkdirSync(folder);
    const file = join(folder, "acme.ndjson");
    writeFileSync(file, `${readFileSync(machine.audit, "utf8")}not an item\n`);
    for (const format of [["--json"], ["-o", "ndjson"], []]) {
      const reports = ["--html", "r.html", "--markdown", "r.md"];
      const result = await machine.vaultWith(
        { cwd: machine.home },
        "audit-replay",
        file,
        ...reports,
        "--redact",
        "--verbose",
        ...format,
      );
      expectExit(result, 0);
      const files = ["r.html", "r.md"].map((name) =>
        readFileSync(join(machine.home, name), "utf8"),
      );
      expect([result.stdout, ...files].join("")).toContain("file-1");
      expect([result.stdout, result.stderr, ...files].join("")).not.toContain("acme");
    }
  });

  it("a state that cannot be read is a failure without a file, and a warning with one", async () => {
    const machine = withExport();
    mkdirSync(machine.stateDir, { mode: 0o700 });
    writeFileSync(join(machine.stateDir, "vault.db"), "x".repeat(5000));
    expectError(await machine.vault("audit-replay", "--json"), 14, "state", /damaged/);
    const result = await machine.vault("audit-replay", machine.audit, "--json");
    expectExit(result, 0);
    expect(result.stderr).toMatch(
      /^vault: warning: exchanges of this machine are not named: the state cannot be used: .+\n$/,
    );
    expect(documentOf(result).vaults).toBeDefined();
  });

  it("the state key is not needed, and what is wrong with it neither", async () => {
    const machine = withExport();
    const result = await machine.vault(
      "audit-replay",
      machine.audit,
      "--state-key",
      "@missing",
      "--json",
    );
    expectExit(result, 0);
    expect(result.stderr).toBe("");
    expectError(
      await machine.vault("audit-replay", "-", "--state-key", "-", "--json"),
      2,
      "usage",
      /standard input already holds the audit items/,
    );
  });

  it.each<[string, string[], number, RegExp]>([
    ["a file that is not there", ["missing.csv"], 3, /missing\.csv: no such file/],
    ["a folder", ["."], 3, /\.: is a folder/],
    [
      "--since behind --until",
      ["--since", "1h", "--until", "2h"],
      2,
      /--since is not before --until/,
    ],
    [
      "a field that no document has",
      ["--field", "vault.uuid"],
      2,
      /--field vault\.uuid: vault audit-replay prints no such field; nothing was sent/,
    ],
    [
      "a page that stands in the way of the document",
      ["--html", "-"],
      2,
      /--html -: standard output already holds the document/,
    ],
    [
      "a page in a folder that is not there",
      ["--html", "none/report.html"],
      3,
      /--html: none\/report\.html cannot be written \(ENOENT\)/,
    ],
    [
      "a text that stands in the way of the document",
      ["--markdown", "-"],
      2,
      /--markdown -: standard output already holds the document/,
    ],
    [
      "a text in a folder that is not there",
      ["--markdown", "none/t.md"],
      3,
      /--markdown: none\/t\.md cannot be written \(ENOENT\)/,
    ],
    [
      "two reports in one file",
      ["--html", "r", "--markdown", "./r"],
      2,
      /--html and --markdown have the same target/,
    ],
    [
      "a condition on another column",
      ["--where", "time=x"],
      2,
      /--where: "time" must be one of ref, ip, endpoint, app/,
    ],
    [
      "a page in place of the state",
      ["--html", "state/vault.db"],
      3,
      /is one of this program's own files; nothing was written/,
    ],
  ])("%s: nothing is printed, nothing made", async (_what, args, exit, message) => {
    const machine = withExport();
    const code = exit === 2 ? "usage" : "invalid-input";
    const result = await machine.vaultWith(
      { cwd: machine.home },
      "audit-replay",
      "--json",
      ...args,
    );
    expectError(result, exit, code, message);
    expect(result.stdout).toBe("");
    expectNothingMade(machine);
  });

  describe("the rules", () => {
    it("come from flags, over the profile, over the defaults", async () => {
      const machine = lab.machine();
      const rules = async (...args: string[]) =>
        documentOf(await machine.vault("audit-replay", "--json", ...args)).rules;
      expect(await rules()).toEqual({
        limits: { unackedStarts: 5, failedAttempts: 3 },
        tokenLifetimeMs: 300_000,
        autoLockAfterMs: 31_536_000_000,
        release: "1.2.28",
        failure: null,
      });
      for (const [key, value] of Object.entries({
        "policy.tokenLifetime": "90s",
        "audit.failure": "denied",
        "policy.failedAttempts": "7",
      })) {
        expectExit(await machine.vault("config", "set", key, value), 0);
      }
      expect(await rules()).toMatchObject({
        tokenLifetimeMs: 90_000,
        failure: "denied",
        limits: { failedAttempts: 7 },
      });
      const flags = [
        "--token-lifetime",
        "1m",
        "--failure",
        "bad",
        "--lock-after-failed",
        "4",
        "--release",
        "1.2.22",
      ];
      expect(await rules(...flags)).toMatchObject({
        tokenLifetimeMs: 60_000,
        failure: "bad",
        limits: { failedAttempts: 4 },
        release: "1.2.22",
      });
    });

    it.each([
      ["audit.failure", "(", /config key audit\.failure: must be a regular expression/],
      ["policy.tokenLifetime", "soon", /config key policy\.tokenLifetime: must be a duration/],
    ])("%s is checked when it is set", async (key, value, message) => {
      expectError(
        await lab
          .machine()
          .vaultWith({ env: { VAULTSVC_OUTPUT: "json" } }, "config", "set", key, value),
        3,
        "invalid-input",
        message,
      );
    });
  });

  describe("the page", () => {
    it("is written whole, for its owner only, also over an older one, beside the document", async () => {
      const machine = withExport();
      const page = machine.file("report.html", "older");
      chmodSync(page, 0o644);
      const result = await machine.vaultWith(
        { cwd: machine.home },
        "audit-replay",
        "audit.ndjson",
        "--html",
        "report.html",
        "--json",
      );
      expectExit(result, 0);
      expect(documentOf(result).vaults).toBeDefined();
      expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>/i);
      expect(statSync(page).mode & 0o777).toBe(0o600);
      expect(
        readdirSync(machine.home)
          .filter((name) => name !== ".cache")
          .toSorted(),
      ).toEqual(["audit.ndjson", "report.html"]);
    });

    it("as a text for a ticket is written likewise, and beside the page", async () => {
      const machine = withExport();
      const file = machine.file("ticket.md", "older");
      chmodSync(file, 0o644);
      const args = ["--markdown", "ticket.md", "--html", "report.html", "--json"];
      expectExit(
        await machine.vaultWith({ cwd: machine.home }, "audit-replay", "audit.ndjson", ...args),
        0,
      );
      expect(readFileSync(file, "utf8")).toMatch(
        /^\*\*1 vault probably with an open exchange\.\*\*\n/,
      );
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(existsSync(join(machine.home, "report.html"))).toBe(true);
      const result = await machine.vault("audit-replay", machine.audit, "--markdown", "-");
      expect(result).toMatchObject({
        code: 0,
        stdout: readFileSync(file, "utf8").replaceAll("audit.ndjson", machine.audit),
      });
    });

    it("goes to standard output in place of the table", async () => {
      const machine = withExport();
      const result = await machine.vault("audit-replay", machine.audit, "--html", "-");
      expectExit(result, 0);
      expect(result.stdout).toMatch(/^<!doctype html>/i);
      expect(result.stderr).toBe("");
    });

    it("is not written over by the text for a ticket, by whatever way to the file", async () => {
      const machine = withExport();
      mkdirSync(join(machine.home, "reports"));
      symlinkSync("reports", join(machine.home, "here"));
      const result = await machine.vaultWith(
        { cwd: machine.home },
        "audit-replay",
        "audit.ndjson",
        "--html",
        "reports/report",
        "--markdown",
        "here/report",
        "--json",
      );
      expectError(result, 2, "usage", /--html and --markdown have the same target/);
      expect(readdirSync(join(machine.home, "reports"))).toEqual([]);
    });

    it("never takes the place of what is replayed", async () => {
      const machine = withExport();
      symlinkSync(machine.audit, join(machine.home, "link.html"));
      for (const page of ["audit.ndjson", "./audit.ndjson", "link.html"]) {
        const result = await machine.vaultWith(
          { cwd: machine.home },
          "audit-replay",
          "audit.ndjson",
          "--html",
          page,
          "--json",
        );
        expectError(
          result,
          3,
          "invalid-input",
          /is one of the files to replay; nothing was written/,
        );
      }
      const byLink = await machine.vaultWith(
        { cwd: machine.home },
        "audit-replay",
        "link.html",
        "--html",
        "audit.ndjson",
        "--json",
      );
      expectError(byLink, 3, "invalid-input", /is one of the files to replay/);
      expect(readFileSync(machine.audit, "utf8")).toBe(`${item(lab.vault.uuid)}\n`);
    });
  });

  it("says that no item names a vault", async () => {
    const machine = withExport();
    const other = "00000000-0000-4000-8000-000000000000";
    const result = await machine.vault("audit-replay", machine.audit, "--vault", other, "--json");
    expectExit(result, 0);
    expect(result.stderr).toBe(`vault: warning: no item names vault ${other}\n`);
  });
});
