import { hostname } from "node:os";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isWhole } from "../support/campaign.ts";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  firstGet,
  note,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { documentOf, errorOf, keyFileOf, type Machine, type Recovery } from "../support/machine.ts";
import { hasPgBouncer, pgBouncer, postgres, type Postgres } from "../support/postgres.ts";
import { team } from "../support/shared-state.ts";

const ways = [
  ["", postgres],
  ...(isWhole && hasPgBouncer()
    ? [[" through PgBouncer", async () => await pgBouncer(await postgres())] as const]
    : []),
] as const;

describe.each(ways)("a state that a team shares%s", (_way, reach) => {
  let server: Postgres;
  beforeAll(async () => {
    server = await reach();
  });

  it("is made by state init alone: before it nothing is sent; twice is no error", async () => {
    const { location, port, sql } = server;
    const schema = `not_there_${port}`;
    const lab = await openLab(offlineNote);
    const machine = lab.machine({ stateDir: location(schema) });
    expectError(await firstGet(machine, lab.vault), "state", /it holds no state/);
    expect(lab.service.sandbox.requests()).toEqual([]);
    const address = `postgres://postgres@127.0.0.1:${port}/postgres?schema=${schema}`;
    expect(documentOf(await machine.vault("state", "init", "--json"))).toEqual({
      state: address,
      keyFile: keyFileOf(machine),
      created: true,
    });
    // As where it died before it had a key.
    await sql(`DELETE FROM ${schema}.meta WHERE name = 'key'`);
    expectError(await firstGet(machine, lab.vault), "state", /it holds no state/);
    expect(documentOf(await machine.vault("state", "init", "--json"))).toMatchObject({
      created: false,
    });
    expectExit(await firstGet(machine, lab.vault), 0);
    // What is sealed would never be opened again.
    await sql(`DELETE FROM ${schema}.meta WHERE name = 'key'`);
    expectError(
      await machine.vault("state", "init", "--json"),
      "state",
      /has lost the name of its key/,
    );
    expect(await sql(`SELECT FROM ${schema}.meta WHERE name = 'key'`)).toHaveLength(0);
  });

  it("is named to a command without its password", async () => {
    const { uuid, machines } = await team(server);
    const [machine] = machines;
    const save = 'cat >/dev/null; printf "%s" "$VAULTSVC_STATE" >state-of-command';
    await machine.ok("get", uuid, "--json", "--save-cmd", save);
    expect(machine.stateDir).toContain(":password@");
    expect(readFileSync(join(machine.home, "state-of-command"), "utf8")).toBe(
      machine.stateDir.replace(":password@", "@"),
    );
  });

  it("is used by all at once, and every read succeeds", async () => {
    const { lab, uuid, machines } = await team(server);
    const runs = machines.flatMap((machine) =>
      [1, 2].map(async () => await machine.start({}, "get", uuid, "--json").exit),
    );
    for (const run of await Promise.all(runs)) {
      expectExit(run, 0);
      expect(documentOf(run).vault.content).toBe(note);
    }
    await expectInStep(lab, machines[3], uuid);
    expectFarFromLock(lab, uuid);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      maxUnackedStarts: 1,
      maxFailedAccesses: 0,
    });
  });

  it("goes on where a machine died, when its lease is over", async () => {
    const { lab, uuid, machines, sql } = await team(server);
    lab.faults("get-start:delay=1m");
    const dying = machines[0].start({}, "get", uuid, "--json");
    await expect.poll(() => lab.service.sandbox.requests().length, { timeout: 20_000 }).toBe(3);
    const busy = await machines[1].vault("get", uuid, "--json", "--max-wait", "100ms");
    expectError(busy, "busy", /another process is using vault/);
    const holder = { pid: dying.pid, role: "postgres", host: hostname() };
    expect(errorOf(busy)).toMatchObject({
      by: holder,
      since: expect.stringMatching(/^20/) as string,
    });
    expect(documentOf(await machines[2].vault("state", "locks", "--json"))).toMatchObject({
      locks: [{ uuid, holder }],
    });
    const who = `\\S+@\\S+ \\(role postgres, pid ${dying.pid}\\) since \\d\\d:\\d\\d`;
    const told = await machines[1].vault("get", uuid, "--max-wait", "100ms");
    expect(told.stderr.replaceAll(/\s+/g, " ")).toMatch(new RegExp(`in use by ${who}`));
    dying.kill("SIGKILL");
    await dying.exit;
    await sql(`UPDATE schema.vaults SET ends_at = '-infinity'`);
    await machines[1].ok("get", uuid, "--json");
    await expectInStep(lab, machines[2], uuid);
    expectFarFromLock(lab, uuid);
  });

  it("is left alone by a process that was stopped for longer than its lease", async () => {
    const { lab, uuid, machines, sql } = await team(server);
    lab.faults("get-start:delay=2s");
    const stopped = machines[0].start({}, "get", uuid, "--json");
    await expect.poll(() => lab.service.sandbox.requests().length, { timeout: 20_000 }).toBe(3);
    stopped.kill("SIGSTOP");
    await sql(`UPDATE schema.vaults SET ends_at = '-infinity'`);
    await machines[1].ok("get", uuid, "--json");
    const sent = lab.service.sandbox.requests().length;
    stopped.kill("SIGCONT");
    expectError(await stopped.exit, "busy", /another one may use vault/);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    await expectInStep(lab, machines[2], uuid);
    expectFarFromLock(lab, uuid);
  });

  it("is examined by doctor: server, key and vaults; a server that is not there is an error", async () => {
    const { lab, machines } = await team(server);
    const checks = async (machine: Machine): Promise<string[]> => {
      const { stdout } = await machine.vault("doctor", "--offline", "--json");
      const { checks: found } = JSON.parse(stdout) as {
        checks: { check: string; level: string; message: string }[];
      };
      return found.map(({ check, level, message }) => `${level} ${check} ${message}`);
    };
    const found = await checks(machines[1]);
    expect(found).toContainEqual(expect.stringMatching(/^ok key key [0-9a-f]{16}$/));
    expect(found).toContainEqual(
      expect.stringMatching(/^ok state postgres:\/\/postgres@127.*: no TLS, 1 vault$/),
    );
    expect(found.filter((line) => /^(warn|error) /.test(line))).toEqual([]);
    const away = lab.machine({ stateDir: "postgres://postgres@127.0.0.1:1/postgres" });
    expect(await checks(away)).toContainEqual(
      expect.stringMatching(/^error state .*cannot be reached/),
    );
  });

  it("holds no secret in plain text, and opens with its key alone", async () => {
    const { lab, uuid, machines, sql } = await team(server);
    await machines[0].ok("label", uuid, "under-the-palm");
    await machines[0].ok("get", uuid, "--no-ack", "--json");
    const tables = ["vaults", "spent", "runs", "journal", "meta"];
    const rows = await Promise.all(
      tables.map(async (table) => await sql(`SELECT * FROM schema.${table}`)),
    );
    const text = JSON.stringify(rows);
    const { old, new: next, token } = (await machines[1].exported(uuid)) as Recovery;
    const key = readFileSync(keyFileOf(machines[0]), "utf8").trim();
    for (const secret of [old, next]
      .flatMap(({ encryptedData, payload }) => [encryptedData, payload])
      .concat(token, note, key))
      expect(text).not.toContain(secret);
    const { stdout } = await machines[3].vault("status", "under-the-palm", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ vaults: [{ uuid, label: "under-the-palm" }] });
    const stranger = lab.machine({ stateDir: machines[0].stateDir });
    expectError(await stranger.vault("status", "--json"), "state", /key [0-9a-f]{16}/);
    const keyFile = { VAULTSVC_STATE_KEY: `@${keyFileOf(machines[0])}` };
    await stranger.okWith({ env: keyFile }, "status", "--json");
  });

  it("is used by a second profile of a machine that has a key and vaults of its own", async () => {
    const { lab, uuid, machines } = await team(server, {}, [offlineNote, offlineNote]);
    // Its vaults are where a shared state keeps what is for this machine.
    const own = lab.machine({ env: { VAULTSVC_STATE: "" } });
    const [, other] = lab.service.vaults;
    const read = ["get", other?.uuid ?? "", "--json"];
    await own.ok(...read, ...own.given(other?.credentials, "generic/offline"));
    await own.ok("config", "set", "timeout", "30s");

    // A profile has all settings: none comes from the environment.
    const env = { VAULTSVC_API_KEY: "", VAULTSVC_BASE_URL: "", VAULTSVC_APP_UUID: "" };
    const { baseUrl, application } = lab.service;
    const asTeam = { env: { ...env, KEY: application.apiKey } };
    cpSync(keyFileOf(machines[0]), join(own.home, "team.key"));
    const service = ["--base-url", baseUrl, "--app-uuid", application.uuid, "--api-key", "env:KEY"];
    const init = async (profile: string, ...key: string[]): ReturnType<Machine["vault"]> => {
      const place = ["--profile", profile, "--state", machines[0].stateDir, ...key];
      return await own.vaultWith(asTeam, "init", "--json", ...place, ...service);
    };
    expectExit(await init("team", "--state-key", "@team.key"), 0);
    const print = `cat '${join(own.home, "team.key")}'`;
    const keyCommand = ["config", "set", "stateKeyCommand", print, "--profile", "team"];
    await own.okWith(asTeam, ...keyCommand);
    const password = { env: { ...asTeam.env, PGPASSWORD: "password" } };
    const shared = await own.okWith(password, "get", uuid, "--json", "--profile", "team");
    expect(documentOf(shared).exchange.generation).toBe(3);
    const apiKey = ["config", "set", "apiKey", "env:KEY", "--profile", "team"];
    await own.okWith(asTeam, ...apiKey);
    await own.ok(...read);

    // A profile is saved all the same where the key of the state is not here, which is said.
    const another = await init("another");
    expectExit(another, 0);
    expect(another.stderr).toMatch(/the key file .* is missing/);
  });
});
