import { defined } from "../../src/defined.ts";
import { editVaults } from "../support/stored-vaults.ts";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import stringWidth from "string-width";
import { main } from "../../src/main.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { fakeHost } from "../support/fake-host.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  firstGet,
  importAll,
  manyVaults,
  offlineCard,
  offlineNote,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { documentOf, type Machine } from "../support/machine.ts";
import { sql } from "../support/state-file.ts";

/** What `status` says on a terminal. */
async function onTerminal(
  machine: Machine,
  ...args: string[]
): Promise<{ out: string; err: string }> {
  const host = fakeHost({ env: machine.env, home: machine.home, isTTY: true, now: Date.now() });
  expect(await main(["status", ...args], host)).toBe(0);
  await host.flush();
  return { out: host.out, err: host.err };
}

describe("who did it", () => {
  /** All that a person on a terminal is told, in one line. */
  async function told({ env, home }: Machine, ...words: string[]): Promise<string> {
    const host = fakeHost({ env, home, isTTY: true, columns: 200, now: Date.now(), files: "real" });
    await main([...words, "--no-input"], host);
    await host.flush();
    return (host.out + host.err).replaceAll(/\s+/g, " ");
  }

  /** A vault whose exchange is held, begun by `by`; without, by who runs every command here. */
  async function held(by?: object): Promise<{ lab: Lab; machine: Machine; uuid: string }> {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    if (by !== undefined) now(machine, { by });
    return { lab, machine, uuid };
  }

  /** Changes the last exchange. */
  function now(machine: Machine, { by, state }: { by?: object; state?: string }): void {
    editVaults(join(machine.stateDir, "vault.db"), ({ exchanges }) => {
      Object.assign(exchanges.at(-1) ?? {}, defined({ by, state }));
    });
  }

  const grace = { host: "build-7", user: "grace", pid: 7 };
  const since = "grace@build-7 since \\d\\d:\\d\\d\\b";
  const commands: [string, (uuid: string) => string[], string][] = [
    ["status", () => ["status"], `held by ${since}`],
    ["status of one vault", (uuid) => ["status", uuid], `held by ${since}`],
    ["its history", (uuid) => ["status", uuid, "--history"], "\\) grace@build-7 "],
    ["--fail-on", () => ["status", "--fail-on", "pending"], `is pending, by ${since}`],
    ["an error", (uuid) => ["get", uuid], `\\(get\\): held by ${since}`],
    ["a discard", (uuid) => ["get", uuid, "--discard-pending"], `Dropped .* get of ${since}`],
    ["ack", (uuid) => ["ack", uuid], `get of ${since} acknowledged`],
  ];

  it.each(commands)("is said of a held exchange of others: %s", async (_, line, said) => {
    const others = await held(grace);
    expect(await told(others.machine, ...line(others.uuid))).toMatch(new RegExp(said));
    const own = await held();
    expect(await told(own.machine, ...line(own.uuid))).not.toContain("@desk");
  });

  it.each([
    ["in-doubt", ["ack"], `in doubt, by ${since}`],
    ["in-doubt", ["status"], `in doubt, by ${since}`],
    ["discarded", ["ack"], `Nothing is pending; the last get of ${since} is discarded`],
    ["started", ["forget"], `started, not acknowledged, by ${since}`],
  ])("is said of what is %s: %j", async (state, words, said) => {
    const { machine, uuid } = await held(grace);
    now(machine, { state });
    expect(await told(machine, ...words, uuid)).toMatch(new RegExp(said));
  });

  it("is said of one's own that is dropped, without a name", async () => {
    const { machine, uuid } = await held();
    expect(await told(machine, "get", uuid, "--discard-pending")).toMatch(
      /Dropped your get, open since \d\d:\d\d \(exchange /,
    );
  });

  it("has the role of the database beside the name, if it is another", async () => {
    for (const role of ["team", "grace"]) {
      const { machine, uuid } = await held({ ...grace, role });
      const name = role === "team" ? "grace@build-7 \\(role team\\)" : "grace@build-7";
      expect(await told(machine, "status", uuid)).toMatch(new RegExp(`held by ${name} since`));
    }
  });

  it("is in JSON: of each exchange, and of one that was dropped", async () => {
    const { machine, uuid } = await held(grace);
    expect(documentOf(await machine.vault("status", "--json"))).toMatchObject({
      vaults: [{ exchange: { by: grace } }],
    });
    const read = await machine.vault("get", uuid, "--discard-pending", "--json");
    expect(documentOf(read)).toMatchObject({
      exchange: { by: { host: "desk", user: "ada" } },
      settled: [{ outcome: "not-applied", exchange: { operation: "get", by: grace } }],
    });
  });

  it("is said of the last start where the guard refuses another one", async () => {
    const { machine, uuid } = await held(grace);
    await machine.ok("ack", uuid);
    await machine.ok("guard", uuid, "--reset", "--starts", "4", "--yes");
    expect(await told(machine, "get", uuid)).toMatch(
      /0 of 3 failed attempts, the last start by grace@build-7/,
    );
  });
});

describe("a status tells the truth", () => {
  const findings = "locked,pending,at-risk,rejected,in-doubt,gone,unverified".split(",");
  /** Status of a vault, and what a monitor finds. */
  async function seen(machine: Machine, uuid: string): Promise<{ is: string; found: string[] }> {
    const { status } = await machine.status(uuid);
    const found: string[] = [];
    for (const finding of findings) {
      const { code } = await machine.vault("status", uuid, "--fail-on", finding);
      expect([0, 17]).toContain(code);
      if (code === 17) found.push(finding);
    }
    const any = await machine.vault("status", uuid, "--fail-on", "any");
    expectExit(any, found.length === 0 ? 0 : 17);
    return { is: status, found };
  }
  const wrong = { encryptedData: "d3Jvbmc=", payload: "d3Jvbmc=" };
  async function imports(
    machine: Machine,
    { uuid, kind }: KnownVault,
    pair: object,
  ): Promise<void> {
    await machine.ok("import", uuid, ...machine.given(pair, kind));
  }

  it("rejected: after a refusal, whatever came of a start that was never sent; unverified after an import, ready once a start has proven it", async () => {
    const { lab, machine, uuid } = await coldLab(offlineNote);
    await imports(machine, lab.vault, wrong);
    expect(await seen(machine, uuid)).toEqual({ is: "unverified", found: ["unverified"] });
    expectExit(await machine.vault("get", uuid), 6);
    const rejected = { is: "rejected", found: ["rejected"] };
    expect(await seen(machine, uuid)).toEqual(rejected);
    await imports(machine, lab.vault, lab.vault.credentials);
    lab.faults("start:drop-before*all");
    expectExit(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "0s" } }, "get", uuid), 10);
    lab.service.faults.clear();
    expect((await seen(machine, uuid)).found).toContain("rejected");
    sql(join(machine.stateDir, "vault.db"), "UPDATE breakers SET lostAt = NULL");
    await machine.ok("guard", uuid, "--reset", "--unanswered");
    await machine.ok("get", uuid);
    expect(await seen(machine, uuid)).toEqual({ is: "ready", found: [] });
  });

  it("in-use: while a process has its vault, whatever its exchange is at; it needs nobody", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    await machine.ok("label", uuid, "spare card");
    const go = join(machine.home, "go");
    execFileSync("mkfifo", [go]);
    const run = machine.start({}, "run", uuid, "--stdin", "--", "sh", "-c", `echo up; cat ${go}`);
    await run.waitFor(/up/);
    expect(await seen(machine, uuid)).toEqual({ is: "in-use", found: [] });
    const inUse = { by: { pid: expect.any(Number) as number } };
    const shown = { exchange: { state: "started" }, inUse, next: [] };
    expect(await machine.status(uuid)).toMatchObject(shown);
    expect((await machine.vault("status", "--pending")).stdout).toBe("");
    const { out, err } = await onTerminal(machine);
    expect(out).toMatch(/in-use by \S+ \(pid \d+\) since \d\d:\d\d/);
    expect(err).not.toContain("next:");
    const forgotten = await machine.vault("forget", uuid, "--yes", "--max-wait", "0s", "--json");
    expectError(forgotten, "busy");
    writeFileSync(go, "");
    expectExit(await run.exit, 0);
    expect(await seen(machine, uuid)).toEqual({ is: "ready", found: [] });
  });

  it("unverified: after a restore, with what brings back what other machines have kept", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const backup = join(machine.home, "backup.db");
    await machine.ok("state", "backup", backup);
    rmSync(machine.stateDir, { recursive: true });
    await machine.ok("state", "restore", backup, "--yes");
    expect(await seen(machine, uuid)).toEqual({ is: "unverified", found: ["unverified"] });
    const { next } = (await machine.status(uuid)) as unknown as { next: object[] };
    expect(next[0]).toMatchObject({ argv: ["vault", "status"] });
    await machine.ok("get", uuid);
    expect(await seen(machine, uuid)).toEqual({ is: "ready", found: [] });
  });

  it("at risk: where the guard refuses the start that would read it", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    await machine.ok("guard", uuid, "--reset", "--starts", "4", "--yes");
    expect(await seen(machine, uuid)).toEqual({ is: "at risk", found: ["at-risk"] });
  });

  it("gone, in doubt and held are findings of their own", async () => {
    const { lab, machine } = await coldLab([offlineNote, offlineCard]);
    const [held, doubtful] = lab.service.vaults as [KnownVault, KnownVault];
    expectExit(await firstGet(machine, held), 0);
    lab.faults("get-end:drop-after");
    expectExit(await firstGet(machine, doubtful), 12);
    expect(await seen(machine, doubtful.uuid)).toEqual({
      is: "in doubt",
      found: ["pending", "in-doubt"],
    });
    await machine.ok("get", held.uuid, "--no-ack");
    expect(await seen(machine, held.uuid)).toEqual({ is: "held", found: ["pending"] });
    const both = await machine.vault("status", "--fail-on", "any");
    for (const { uuid } of [held, doubtful])
      expect(both.stderr).toContain(`  next: vault status ${uuid}\n`);
    const error = { at: new Date().toISOString(), code: "gone", message: "unknown vault" };
    editVaults(join(machine.stateDir, "vault.db"), ({ vault, uuid }) => {
      if (uuid === doubtful.uuid) vault.lastError = error;
    });
    expect(await seen(machine, doubtful.uuid)).toMatchObject({ is: "gone" });
  });

  it("is a finding only once it is as old as --older-than says", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const line = ["status", "--fail-on", "any", "--older-than"];
    await machine.ok(...line, "1h");
    const began = new Date(Date.now() - 3_700_000).toISOString();
    editVaults(join(machine.stateDir, "vault.db"), ({ exchanges }) => {
      for (const row of exchanges) row.startedAt = began;
    });
    expectExit(await machine.vault(...line, "1h"), 17);
    await machine.ok(...line, "2h");
    expectError(await machine.vault("status", "--older-than", "1h", "--json"), "usage");
  });
});

describe("the table of many vaults", () => {
  /** Vaults with names of every length: one is locked, one held by somebody else, one limited, one without a label. */
  async function several(): Promise<{ machine: Machine; uuids: string[] }> {
    const limited = { ...offlineNote, maxUsage: 3 };
    const seed = [offlineNote, offlineCard, limited, offlineNote];
    const { lab, machine, uuids } = await manyVaults(seed);
    const [first = "", second = "", third = "", bare = ""] = uuids;
    await machine.ok("label", first, "the vault of the payments team");
    await machine.ok("get", first, "--no-ack");
    editVaults(join(machine.stateDir, "vault.db"), (stored) => {
      for (const row of stored.exchanges) row.by = { host: "build-7", user: "grace", pid: 7 };
      if (stored.uuid === bare) stored.label = null;
    });
    lab.service.sandbox.lock(second);
    expectExit(await machine.vault("get", second), 7);
    await machine.ok("get", third, "--json");
    return { machine, uuids };
  }
  const shown = async (machine: Machine, words: string[], columns?: number): Promise<string[]> => {
    const host = fakeHost({
      env: machine.env,
      home: machine.home,
      ...(columns === undefined ? {} : { isTTY: true, columns }),
      now: Date.now(),
    });
    await main(words, host);
    await host.flush();
    return host.out.replace(/\n$/, "").split("\n");
  };

  it("has a row for each vault on a terminal, and as many columns as fit", async () => {
    const { machine, uuids } = await several();
    for (const command of ["status", "guard"]) {
      for (const columns of [60, 80, 120, 300]) {
        const [heading = "", rule, ...rows] = await shown(machine, [command], columns);
        expect(rows).toHaveLength(uuids.length);
        expect(rule).toMatch(/^ {2}─/);
        for (const row of [heading, ...rows]) expect(stringWidth(row)).toBeLessThanOrEqual(columns);
        expect(rows.join("\n")).not.toContain("next:");
        for (const name of ["the vault of the payments team", uuids.at(-1)])
          expect(rows.filter((row) => row.includes(name ?? ""))).toHaveLength(1);
      }
    }
    const [wide = ""] = await shown(machine, ["status"], 300);
    const columns = "Vault|Status|Unacked|Failures|Token left|Reads left|Last read|Kind|UUID";
    expect(wide.trim().split(/ {2,}/).join("|")).toBe(columns);
    const [, , held] = await shown(machine, ["status"], 80);
    expect(held).toMatch(
      /^ {2}the vault of the payments team +held by grace@build-7 since \d\d:\d\d/,
    );
  });

  it("is lines without one: UUID, label, status and the rest between tabs, with times as in JSON", async () => {
    const { machine, uuids } = await several();
    const time = /^20\d\d-\d\d-\d\dT[\d:.]+Z$/;
    const rows = (await shown(machine, ["status"])).map((line) => line.split("\t"));
    expect(rows.map(([uuid]) => uuid).toSorted()).toEqual(uuids.toSorted());
    expect(new Set(rows.map(({ length }) => length))).toEqual(new Set([10]));
    expect(rows[0]).toEqual([
      uuids[0],
      "the vault of the payments team",
      "held",
      "generic/offline",
      "1 of 5",
      "0 of 3",
      expect.stringMatching(time) as string,
      "",
      expect.stringMatching(time) as string,
      "grace@build-7",
    ]);
    const guard = (await shown(machine, ["guard"])).map((line) => line.split("\t"));
    expect(guard).toContainEqual([uuids[2], "v3", "0 of 5", "0 of 3", "nothing", ""]);
  });

  it("has a color for what needs somebody, and none for what was imported", async () => {
    const { lab, machine } = await coldLab(offlineNote);
    await importAll(lab, machine);
    const host = fakeHost({
      env: { ...machine.env, FORCE_COLOR: "1" },
      home: machine.home,
      isTTY: true,
      color: true,
    });
    await main(["status"], host);
    await host.flush();
    // oxlint-disable-next-line no-control-regex -- color is what it is about
    expect(host.out).toMatch(/(?<!\u001B\[\d+m)unverified(?!\u001B)/);
  });
});

describe.concurrent("status on a terminal", () => {
  it("ends with the command that helps each pending vault: ack for what is held, get for what is in doubt", async () => {
    const { lab, machine } = await coldLab([
      offlineNote,
      offlineCard,
      { ...offlineNote, maxUsage: 1 },
    ]);
    const [held, doubtful, unread] = lab.service.vaults;
    if (held === undefined || doubtful === undefined || unread === undefined)
      throw new Error("the lab has three vaults");
    lab.faults("get-end:drop-after");
    expectExit(await firstGet(machine, doubtful), 12);
    const inDoubt = `vault get ${doubtful.uuid}`;
    const lines = async (...args: string[]): Promise<string[]> => {
      const { err } = await onTerminal(machine, ...args);
      const whole = err.replaceAll(/ \\\n +/g, " ");
      return [...whole.matchAll(/^next: [^(\n]*[^ (\n]/gm)].map(([line]) => line);
    };
    expect(await lines()).toEqual([`next: ${inDoubt}`]);

    expectExit(await firstGet(machine, held, "--no-ack"), 0);
    expect(await lines()).toEqual(["next: vault ack --all", `next: ${inDoubt}`]);

    // The last read, masked: held and not delivered.
    expectExit(
      await machine.vault("get", unread.uuid, ...machine.given(unread.credentials, unread.kind)),
      11,
    );
    const again = `vault get ${unread.uuid} --discard-pending --reveal`;
    expect((await lines("--pending")).toSorted()).toEqual(
      [`next: ${again}`, `next: ${inDoubt}`, "next: vault ack --all"].toSorted(),
    );

    await machine.ok("ack", held.uuid);
    expect((await onTerminal(machine)).err).not.toContain("ack --all");
  });

  it("--pending says that nothing is pending, and not that there are no vaults", async () => {
    const { lab, machine, uuid } = await coldLab();
    expect((await onTerminal(machine)).out).toMatch(/^No vaults/);
    await machine.vault("import", uuid, ...machine.given(lab.vault.credentials, lab.vault.kind));
    expect(await onTerminal(machine, "--pending")).toEqual({
      out: "Nothing is pending.\n",
      err: "",
    });
    expect(JSON.parse((await onTerminal(machine, "--pending", "--json")).out)).toEqual({
      vaults: [],
    });
  });
});
