import { editShared } from "../support/stored-vaults.ts";
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  firstGet,
  note,
  offlineNote,
} from "../support/lab.ts";
import { copyKeys, documentOf, errorOf, type Machine } from "../support/machine.ts";
import type { Postgres } from "../support/postgres.ts";
import { forgetKept, SchemaCopy, team, type Team } from "../support/shared-state.ts";
import { postgres, promote, snapshotOf, standbyOf, startServer } from "../support/postgres.ts";

/** A machine that finds the state at another server from now on. */
const at = ({ lab, schema }: Team, { home, configDir }: Machine, server: Postgres): Machine =>
  lab.machine({ home, configDir, stateDir: server.location(schema) });

type Three = [Machine, Machine, Machine];

/** Another server takes over, as the state finds out. */
const takeOver = async ({ sql }: Pick<Team, "sql">): Promise<unknown> =>
  await sql("UPDATE schema.meta SET value = '00000000' WHERE name = 'timeline'");

/** What a standby of a team's server has of its state at that moment. */
const rowsOf = async ({ schema }: Team): Promise<SchemaCopy> =>
  new SchemaCopy((await postgres()).sql, schema, `${schema}_standby`);

/** For a machine that has much else to do. */
const patient = { timeout: 20_000 };

const requests = ({ lab }: Team): number => lab.service.sandbox.requests().length;

describe("a server that takes over, and lacks an exchange", () => {
  it("who has made it brings its credentials back; for all others nothing is proven", async () => {
    const server = await startServer();
    const all = await team(server);
    const { lab, uuid, machines } = all;
    const standby = await standbyOf(server);
    const streaming = "SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    await expect.poll(async () => await standby.sql(streaming), patient).toHaveLength(1);
    // What happens from here on does not reach it.
    await server.sql("ALTER SYSTEM SET max_wal_senders = 0");
    await server.stop();
    await server.start();
    await machines[0].ok("get", uuid, "--json");
    await machines[1].ok("status", "--json");
    await server.crash();
    await promote(standby);
    const primary = "SELECT WHERE NOT pg_is_in_recovery()";
    await expect.poll(async () => await standby.sql(primary), patient).toHaveLength(1);
    const [first, second, third] = machines.map((machine) => at(all, machine, standby)) as Three;

    const { stderr } = await third.vault("status", "--json");
    expect(stderr).toMatch(/another server has taken over, and may lack the last changes/);
    expect(documentOf(await third.vault("status", "--json"))).toMatchObject({
      vaults: [{ uuid, proven: false, generation: 2 }],
    });
    const again = await first.vault("get", uuid, "--json");
    expect(documentOf(again).vault.content).toBe(note);
    expect(again.stderr).toContain("its credentials are candidates again");
    await second.ok("get", uuid, "--json");
    await expectInStep(lab, third, uuid);
    expectFarFromLock(lab, uuid);
  });
});

describe("a server that takes over, and lacks only that an exchange was acknowledged", () => {
  it.each([
    ["the machine that has made it", 0],
    ["another one", 1],
  ])("%s finds the new credentials", async (_, next) => {
    const all = await team();
    const { lab, uuid, machines } = all;
    const rows = await rowsOf(all);
    lab.faults("get-end:delay=1s");
    const sent = requests(all);
    const acknowledged = machines[0].vault("get", uuid, "--json");
    await expect.poll(() => requests(all), patient).toBe(sent + 2);
    await rows.take();
    expectExit(await acknowledged, 0);
    await rows.putBack();
    await takeOver(all);

    const first = await (machines[next] as Machine).vault("get", uuid, "--json");
    expect(first.stderr).toContain("another server has taken over");
    expect(documentOf(first).vault.content).toBe(note);
    for (const machine of machines) await machine.ok("get", uuid, "--json");
    await expectInStep(lab, machines[2], uuid);
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
    expectFarFromLock(lab, uuid);
  });
});

describe("a status on each machine", () => {
  it("says that nothing is proven, gathers what they have kept, and sends nothing", async () => {
    const all = await team();
    const { lab, uuid, machines } = all;
    const rows = await rowsOf(all);
    await rows.take();
    await machines[0].ok("get", uuid, "--json");
    await rows.putBack();
    await takeOver(all);
    const sent = requests(all);
    expect(await machines[2].status(uuid)).toMatchObject({
      status: "unverified",
      generation: 2,
      next: [{ argv: ["vault", "status"] }, { argv: ["vault", "get", uuid] }],
    });
    expectExit(await machines[2].vault("status", "--fail-on", "unverified"), 17);
    const gathered = await machines[0].vault("status");
    expect(gathered.stderr).toContain("its credentials are candidates again");
    expect((await machines[0].vault("status")).stderr).toBe("");
    expect(requests(all)).toBe(sent);
    await machines[2].ok("get", uuid, "--json");
    expect(await machines[2].status(uuid)).toMatchObject({ status: "ready" });
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
  });
});

describe("what a machine has kept", () => {
  it("is dated by the database, whatever the machine's own clock says: ten days ahead, it keeps both of two vaults", async () => {
    const all = await team(undefined, {}, [offlineNote, offlineNote]);
    const { lab, uuid, machines } = all;
    const [first] = machines;
    const other = lab.service.vaults[1] ?? lab.vault;
    expectExit(await firstGet(first, other), 0);
    const rows = await rowsOf(all);
    await rows.take();
    await first.ok("get", uuid, "--json");
    const require = `--require=${join(import.meta.dirname, "..", "support", "clock-jump.cjs")}`;
    const env = { NODE_OPTIONS: require, CLOCK_SHIFT: String(10 * 86_400_000) };
    expectExit(await first.start({ env }, "get", other.uuid, "--json").exit, 0);
    await rows.putBack();
    await takeOver(all);
    for (const id of [uuid, other.uuid]) {
      await first.ok("get", id, "--json");
      await expectInStep(lab, machines[1], id);
      expect(lab.service.sandbox.inspect(id).maxFailedAccesses).toBe(0);
    }
  });
});

describe("an exchange that is open when another server takes over", () => {
  const stateOf = async (machine: Machine, uuid: string): Promise<unknown> =>
    (await machine.status(uuid)).exchange?.state;

  it.each([
    [undefined, 0],
    ["status", 0],
    ["get", 11],
  ])(
    "stays held while its token lives, and is acknowledged; first command elsewhere: %s",
    async (command, exit) => {
      const all = await team();
      const { lab, uuid, machines } = all;
      await machines[0].ok("get", uuid, "--no-ack");
      await takeOver(all);
      if (command !== undefined) expectExit(await machines[1].vault(command, uuid), exit);
      const ack = await machines[0].ok("ack", uuid, "--json");
      expect(ack.stderr.includes("another server has taken over")).toBe(command === undefined);
      await expectInStep(lab, machines[2], uuid);
      expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
    },
  );

  it("is in doubt where its token is dead, or the service says so", async () => {
    const all = await team();
    const { lab, uuid, machines, sql } = all;
    await machines[0].ok("get", uuid, "--no-ack");
    await editShared(sql, ({ exchanges }) => {
      for (const row of exchanges)
        if (row.state === "held") row.tokenExpiry = "2020-01-01T00:00:00Z";
    });
    await takeOver(all);
    await machines[1].ok("status");
    expect(await stateOf(machines[1], uuid)).toBe("in-doubt");
    // One of the two at a time: another machine may have kept the right ones.
    expectExit(await machines[1].vault("get", uuid, "--json"), 6);
    await machines[1].ok("get", uuid, "--json");
    await machines[0].ok("get", uuid, "--no-ack");
    await takeOver(all);
    expect(await stateOf(machines[1], uuid)).toBe("held");
    lab.clock.ahead += 3_600_000;
    expectError(await machines[1].vault("ack", uuid, "--json"), "in-doubt");
    expectExit(await machines[1].vault("get", uuid, "--json"), 6);
    await machines[1].ok("get", uuid, "--json");
    await expectInStep(lab, machines[0], uuid);
    expectFarFromLock(lab, uuid);
  });

  it("was acknowledged since, which the new server lacks: its end call or the next read finds out, without a failed attempt", async () => {
    const all = await team();
    const { lab, uuid, machines } = all;
    const rows = await rowsOf(all);
    await machines[0].ok("get", uuid, "--no-ack");
    await rows.take();
    await machines[0].ok("ack", uuid);
    await rows.putBack();
    await takeOver(all);
    expect(await stateOf(machines[1], uuid)).toBe("held");
    await machines[1].vault("ack", uuid);
    await machines[1].ok("get", uuid, "--json");
    await expectInStep(lab, machines[0], uuid);
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
  });

  it("had only started, and was acknowledged since, which the new server lacks: the next read asks by its end call", async () => {
    const all = await team();
    const { lab, uuid, machines } = all;
    const rows = await rowsOf(all);
    const go = join(machines[0].home, "go");
    const save = `cat >/dev/null; until test -e '${go}'; do sleep 0.05; done`;
    const running = machines[0].start({}, "get", uuid, "--json", "--save-cmd", save);
    await expect.poll(async () => await stateOf(machines[1], uuid), patient).toBe("started");
    await rows.take();
    writeFileSync(go, "");
    expectExit(await running.exit, 0);
    await rows.putBack();
    await takeOver(all);
    await machines[1].ok("get", uuid, "--json");
    await expectInStep(lab, machines[0], uuid);
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
  });
});

describe("a schema that was dropped, of which there is no backup", () => {
  const makeAnew = async (all: Team, ...args: string[]): Promise<void> => {
    const server = await postgres();
    await server.sql(`DROP SCHEMA ${all.schema} CASCADE`);
    expectError(await all.machines[1].vault("get", all.uuid, "--json"), "state", /no state/);
    await all.machines[1].ok("state", "init", ...args);
    // Its key is a new one, unless one is given.
    if (args.length === 0)
      for (const machine of all.machines)
        if (machine !== all.machines[1]) copyKeys(all.machines[1], machine);
  };

  it("once the state is made anew, who has used a vault last brings its credentials back", async () => {
    const all = await team();
    const { lab, uuid, machines } = all;
    const [first, second] = machines;
    await second.ok("get", uuid, "--json");
    await first.ok("get", uuid, "--json");
    for (const _ of ["once", "twice"]) {
      await makeAnew(all);
      const read = await first.ok("get", uuid, "--json");
      expect(read.stderr).toContain("the database had lost the last exchange of vault");
    }
    await second.ok("get", uuid, "--json");
    await expectInStep(lab, first, uuid);
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
  });

  it("who has used it before finds out that they are not valid any more, and who has used it last goes on", async () => {
    const all = await team();
    const { lab, uuid, machines } = all;
    const [first, second] = machines;
    await second.ok("get", uuid, "--json");
    await first.ok("get", uuid, "--json");
    await makeAnew(all);
    expectError(await second.vault("get", uuid, "--json"), "rejected", /generation 1/);
    await first.ok("get", uuid, "--json");
    await expectInStep(lab, second, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("where the key was lost with it, what is kept stops the vault, until a person has moved it away", async () => {
    const all = await team();
    const { lab, uuid, machines } = all;
    const [first] = machines;
    await first.ok("get", uuid, "--json");
    const key = first.file("another.key", randomBytes(32).toString("base64"));
    for (const { configDir } of machines) rmSync(join(configDir, "keys"), { recursive: true });
    await makeAnew(all, "--state-key", `@${key}`);
    const withKey = ["get", uuid, "--state-key", `@${key}`, "--json"];
    const stopped = await first.vault(...withKey);
    expectError(stopped, "state", /is encrypted with key [0-9a-f]{16}, which is not available/);
    forgetKept(errorOf(stopped).hint);
    expectError(await first.vault(...withKey), "no-credentials", /no credentials are known/);
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
  });
});

describe("a copy", () => {
  it("of the rows or of the database is refused by everybody, until it is claimed", async () => {
    const server = await startServer();
    const all = await team(server);
    const { lab, uuid, schema, machines } = all;
    await server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' AND pid <> pg_backend_pid()",
    );
    await server.sql("CREATE DATABASE staging TEMPLATE postgres");
    const staging = server.location(schema).replace("/postgres?", "/staging?");
    await machines[0].ok("get", uuid, "--json");
    await machines[1].ok("status", "--json");
    const stranger = all.another(staging);
    const sent = requests(all);
    const copied = /is a copy \(it was made on another server or in another database\)/;
    for (const line of ["get UUID", "status", "ack UUID", "export UUID", "forget UUID --yes"]) {
      const words = line.replace("UUID", uuid).split(" ");
      expectError(await stranger.vault(...words, "--json"), "state", copied);
    }
    // As a dump brings it back.
    await server.sql(`UPDATE ${schema}.identity SET born = born`);
    expectError(await machines[1].vault("get", uuid, "--json"), "state", /is a copy/);
    expect(requests(all)).toBe(sent);
    await stranger.ok("state", "claim", "--yes");
    expect(documentOf(await stranger.vault("status", "--json"))).toMatchObject({
      vaults: [{ uuid, proven: false, generation: 2 }],
    });
    // The service says that the original was used since.
    const late = lab.machine({
      home: machines[1].home,
      configDir: machines[1].configDir,
      stateDir: staging,
    });
    expectError(await late.vault("get", uuid, "--json"), "rejected");
    expectFarFromLock(lab, uuid);
  });
});

describe("a server whose volume is set back", () => {
  it("is claimed by a person, and each machine brings back what it has kept", async () => {
    const server = await startServer();
    const all = await team(server);
    const { lab, uuid, machines } = all;
    const setBack = await snapshotOf(server);
    await machines[0].ok("get", uuid, "--json");
    await machines[0].ok("get", uuid, "--json");
    await setBack();
    const [first, second, third] = machines;
    const sent = requests(all);
    await second.ok("state", "claim", "--yes");
    expect(await third.status(uuid)).toMatchObject({ status: "unverified" });
    expect((await first.vault("status")).stderr).toContain("its credentials are candidates again");
    expect(requests(all)).toBe(sent);
    await third.ok("get", uuid, "--json");
    await expectInStep(lab, first, uuid);
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
    expectFarFromLock(lab, uuid);
  });
});
