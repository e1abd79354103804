import { editVaults } from "../support/stored-vaults.ts";
import type { Way } from "../../src/way.ts";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { damage, sql } from "../support/state-file.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  firstGet,
  noVault,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { errorOf, keyFileOf, type Machine } from "../support/machine.ts";
import { fakeHost } from "../support/fake-host.ts";
import { main } from "../../src/main.ts";
import { runVault, type RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { helpOf } from "../support/help.ts";

interface Finding {
  check: string;
  level: string;
  message: string;
  hint?: string;
  next: Way[];
  /** Hint and ways, as one text to compare. */
  help: string;
}

const checksOf = (result: RunResult): Finding[] =>
  (JSON.parse(result.stdout) as { checks: Finding[] }).checks.map((check) => ({
    ...check,
    help: helpOf(check),
  }));

/** Lets folders lie on a disk in a process, too. */
const onDisk = `--require=${join(import.meta.dirname, "..", "support", "answer-statfs.cjs")}`;

/** A machine on which nothing is set up. */
function fresh(): { home: string; machine: Pick<Machine, "vault"> } {
  const home = tempDir("home");
  const env = { HOME: home, NODE_OPTIONS: onDisk };
  return { home, machine: { vault: async (...args) => await runVault(args, { env }) } };
}

const isProblem = ({ level }: Finding): boolean => level === "warn" || level === "error";

/** Those findings that something is to be done about, of a run that ended well. */
async function problems(machine: Pick<Machine, "vault">, ...args: string[]): Promise<Finding[]> {
  const result = await machine.vault("doctor", "--json", "--fail-on", "never", ...args);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  return checksOf(result).filter(isProblem);
}

async function checkOf(
  machine: Pick<Machine, "vault">,
  check: string,
  ...args: string[]
): Promise<Finding | undefined> {
  return checksOf(await machine.vault("doctor", "--json", "--offline", ...args)).find(
    (each) => each.check === check,
  );
}

const finding = (check: string, level: string, message: RegExp, help: RegExp) =>
  expect.objectContaining({
    check,
    level,
    message: expect.stringMatching(message) as string,
    help: expect.stringMatching(help) as string,
  }) as Finding;

type Expected = Parameters<typeof finding>;

/** Nothing else is found. */
async function expectProblems(
  machine: Pick<Machine, "vault">,
  args: readonly string[],
  ...expected: Expected[]
): Promise<void> {
  expect(await problems(machine, ...args)).toEqual(expected.map((each) => finding(...each)));
}

/** A machine with a rate limit of its own that has read its vault once, by a process that has ended. */
async function healthy(): Promise<{ lab: Lab; machine: Machine; uuid: string; database: string }> {
  const lab = await openLab(offlineNote);
  const machine = lab.machine({ env: { VAULTSVC_RATE: "25" } });
  expectExit(await firstGet(machine, lab.vault), 0);
  return { lab, machine, uuid: lab.vault.uuid, database: join(machine.stateDir, "vault.db") };
}

/** Everything about the files of a folder that a look may not change. */
function traces(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    join(entry.parentPath, entry.name),
  );
  const told = entries.filter((path) => !path.endsWith("-shm"));
  return told.sort().map((path) => {
    const stats = statSync(path);
    return `${path} ${stats.mode.toString(8)} ${stats.isFile() ? readFileSync(path).toString("base64") : ""}`;
  });
}

const checks = "node configuration application key state disk backup service tls clock".split(" ");

describe.concurrent("vault doctor on a machine where all is well", () => {
  it("has a line for each check, in JSON and as a table, and exits 0", async () => {
    const { machine } = await healthy();
    const result = await machine.vault("doctor", "--json", "--fail-on", "warn");
    expect(result).toMatchObject({ code: 0, stderr: "" });
    const levels = checks.map((check) => `${check} ok`);
    expect(checksOf(result).map(({ check, level }) => `${check} ${level}`)).toEqual(levels);
    const table = await machine.vault("doctor");
    expect(table).toMatchObject({ code: 0, stderr: "" });
    expect(table.stdout).toMatch(/^ok\tapplication\t\S+ at \S+: not refused by the service\t$/m);
    expect(table.stdout.trimEnd().split("\n")).toHaveLength(levels.length);
    expect(table.stdout).not.toContain("\u001b");
  });

  it("changes nothing, and sends nothing about a vault", async () => {
    const { lab, machine } = await healthy();
    const before = [traces(machine.stateDir), traces(machine.configDir)];
    const sent = lab.withProbes().length;
    await problems(machine);
    expect([traces(machine.stateDir), traces(machine.configDir)]).toEqual(before);
    const stateDir = join(tempDir("rest"), "state");
    const atRest = lab.machine({ configDir: machine.configDir, stateDir });
    const file = join(tempDir("backups"), "b");
    await machine.ok("state", "backup", file);
    await atRest.ok("state", "restore", file);
    // Without a WAL, as where the last one that had it open has closed it.
    const path = join(atRest.stateDir, "vault.db");
    sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
    await problems(atRest, "--offline", "--rate", "25");
    expect(readdirSync(atRest.stateDir).sort()).toEqual(["locks", "vault.db"]);
    expect(lab.withProbes().slice(sent)).toMatchObject([{ step: "end", uuid: noVault }]);
  });

  it("prints one field", async () => {
    const { machine } = await healthy();
    const result = await machine.vault("doctor", "--offline", "--field", "checks.0.check");
    expect(result).toMatchObject({ code: 0, stdout: "node" });
    expectError(await machine.vault("doctor", "--field", "vaults", "--json"), "usage");
  });
});

describe.concurrent("vault doctor: configuration", () => {
  it("without any: says what is missing and how to give it, and makes no state", async () => {
    const { home, machine } = fresh();
    await expectProblems(
      machine,
      [],
      ["application", "error", /base URL/, /--base-url, VAULTSVC_BASE_URL/],
    );
    expect(await problems(machine, "--base-url", "http://127.0.0.1:1")).toMatchObject([
      finding(
        "application",
        "error",
        /the application UUID and the API key are missing/,
        /--app-uuid/,
      ),
      { check: "service", message: "connection refused by 127.0.0.1:1" },
    ]);
    expect(readdirSync(home)).not.toContain(".local");
  });

  it("that is damaged, names an unknown profile, or holds a value that breaks the rules is one finding", async () => {
    const { machine } = await healthy();
    mkdirSync(machine.configDir, { recursive: true });
    writeFileSync(join(machine.configDir, "config.json"), "{ not json");
    await expectProblems(machine, [], ["configuration", "error", /cannot be read/, /fix the file/]);
    writeFileSync(
      join(machine.configDir, "config.json"),
      JSON.stringify({ profiles: { default: { timeout: "soon" } } }),
    );
    await expectProblems(machine, [], ["configuration", "error", /timeout/, /./]);
    await expectProblems(
      machine,
      ["--profile", "other"],
      ["configuration", "error", /no such profile: other/, /default/],
    );
    const checked = await machine.vault("doctor", "--json");
    expectError(checked, "finding", /^configuration \(error\)$/);
    expect(errorOf(checked).help, "the findings say what to do").toBe("");
  });

  it("an application that the service refuses", async () => {
    const { lab, machine } = await healthy();
    const wrong = { ...machine.env, VAULTSVC_API_KEY: "00000000-0000-4000-8000-000000000000" };
    const mistaken = lab.machine({ ...machine, env: wrong });
    await expectProblems(
      mistaken,
      [],
      [
        "application",
        "error",
        /refused by the service \(service: .*HTTP 401/,
        /^check --app-uuid, --api-key/,
      ],
    );
    expect(await checkOf(mistaken, "application")).toMatchObject({ level: "info" });
  });

  it("a key for JWT that cannot be read", async () => {
    const { machine } = await healthy();
    const jwt = { privateKeyFile: "/nowhere/key.pem", claims: { role: "a" } };
    const config = JSON.stringify({ profiles: { default: { jwt } } });
    writeFileSync(join(machine.configDir, "config.json"), config);
    await expectProblems(
      machine,
      [],
      [
        "application",
        "error",
        /jwt.privateKeyFile: cannot read/,
        /a relative path .* starts in the current folder/,
      ],
    );
  });

  it("an application that is none", async () => {
    const { machine } = await healthy();
    await expectProblems(
      machine,
      ["--app-uuid", "42", "--offline"],
      ["configuration", "error", /^--app-uuid: must be 36 characters/, /^$/],
    );
  });
});

describe.concurrent("vault doctor: key and state", () => {
  it("another key, and one that is missing", async () => {
    const { machine } = await healthy();
    const env = { VAULTSVC_STATE_KEY: randomBytes(32).toString("base64") };
    const wrong = await machine.vaultWith({ env }, "doctor", "--offline", "--json");
    expect(checksOf(wrong).filter(isProblem)).toEqual([
      finding("key", "error", /wrong key: .*[0-9a-f]{16}/, /^set VAULTSVC_STATE_KEY to key/),
    ]);
    const short = { VAULTSVC_STATE_KEY: "short" };
    const bad = await machine.vaultWith({ env: short }, "doctor", "--offline", "--json");
    expect(checksOf(bad).filter(isProblem)).toEqual([
      finding("key", "error", /must be 32 bytes/, /openssl/),
    ]);
    const key = keyFileOf(machine);
    rmSync(key);
    await expectProblems(machine, ["--offline"], ["key", "error", /missing/, /from its backup/]);
    expect(existsSync(key)).toBe(false);
  });

  it("a location that is none", async () => {
    const { machine } = await healthy();
    await expectProblems(
      machine,
      ["--offline", "--state", "mysql://db/vaults"],
      ["configuration", "error", /^--state: must be a directory/, /^$/],
    );
  });

  it("a value that was changed", async () => {
    const { machine, database } = await healthy();
    editVaults(database, ({ sealed: { "credentials.sealed": pairs } }) => {
      pairs["1"] = `${pairs["1"]?.slice(0, 40)}AAAA${pairs["1"]?.slice(44)}`;
    });
    await expectProblems(
      machine,
      ["--offline"],
      ["key", "error", /generation|credentials.sealed 1/, /vault state restore/],
    );
  });

  it("a database that is damaged, is none, or is newer", async () => {
    const { machine, database } = await healthy();
    sql(database, "PRAGMA wal_checkpoint(TRUNCATE)");
    const whole = readFileSync(database);
    damage(database);
    const [found] = await problems(machine, "--offline");
    expect(found).toMatchObject({
      check: "state",
      level: "error",
      message: expect.stringMatching(/damaged/) as string,
    });
    writeFileSync(database, "not a database\n".repeat(500));
    await expectProblems(
      machine,
      ["--offline"],
      ["state", "error", /damaged/, /vault state restore/],
    );
    expect((await checkOf(machine, "backup"))?.message).toMatch(/not known/);
    writeFileSync(database, whole);
    sql(database, "PRAGMA user_version = 99");
    await expectProblems(
      machine,
      ["--offline"],
      ["state", "error", /newer version/, /update this program/],
    );
    // Opening a pipe never ends.
    rmSync(database);
    execFileSync("mkfifo", [database]);
    await expectProblems(machine, ["--offline"], ["state", "error", /not a file/, /move it away/]);
  });

  it("permissions with which no command would use it, as every command says them", async () => {
    const { machine, database } = await healthy();
    const key = keyFileOf(machine);
    chmodSync(machine.stateDir, 0o775);
    const other = /other users can write to/;
    await expectProblems(
      machine,
      ["--offline"],
      ["state", "error", other, new RegExp(`^chmod go-w ${machine.stateDir}$`)],
    );
    chmodSync(machine.stateDir, 0o700);
    chmodSync(key, 0o620);
    await expectProblems(
      machine,
      ["--offline"],
      ["key", "error", other, new RegExp(`^chmod go-w ${key}$`)],
    );
    chmodSync(key, 0o600);
    for (const folder of [dirname(key), machine.configDir]) {
      chmodSync(folder, 0o775);
      const way = new RegExp(`^chmod go-w ${folder}$`);
      await expectProblems(machine, ["--offline"], ["key", "error", other, way]);
      chmodSync(folder, 0o700);
    }
    chmodSync(key, 0o640);
    chmodSync(database, 0o644);
    chmodSync(machine.stateDir, 0o755);
    const { stderr } = await machine.vault("doctor", "--offline");
    expect(stderr).toContain(`other users can read the key file ${key}; to fix it: chmod 600`);
    const modes = [machine.stateDir, database, key].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o755, 0o644, 0o640]);
  });
});

describe.concurrent("vault doctor: backup", () => {
  it("names the last one", async () => {
    const { machine } = await healthy();
    const none = { level: "ok", message: "none recorded" };
    expect(await checkOf(machine, "backup")).toMatchObject(none);
    const file = join(tempDir("backups"), "state.db");
    await machine.ok("state", "backup", file);
    expect(await checkOf(machine, "backup")).toMatchObject({
      level: "ok",
      message: expect.stringContaining(file) as string,
      help: "",
    });
  });
});

describe.concurrent("vault doctor: a fresh machine", () => {
  it("that a signal stops has found nothing", async () => {
    const host = fakeHost({ env: { VAULTSVC_BASE_URL: "http://127.0.0.1:1" } });
    host.interrupt("SIGTERM");
    expect(await main(["doctor", "--json"], host)).toBe(143);
    expect(host.out).toBe("");
  });

  it("says that its disk is local where the state will be", async () => {
    const { home, machine } = fresh();
    expect(await checkOf(machine, "disk")).toMatchObject({
      level: "ok",
      message: "local",
    });
    expect(readdirSync(home)).not.toContain(".local");
  });
});
