import { chmodSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  note,
  offlineNote,
  warmLab,
} from "../support/lab.ts";
import { documentOf, errorOf, copyKeys, type Machine } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";
import { tcpProxy } from "../support/proxies.ts";
import { sql } from "../support/state-file.ts";
import { team } from "../support/shared-state.ts";
import { tempDir } from "../support/cleanup.ts";

describe("a state that is moved", () => {
  it("goes from a database to a directory and back, with all that it holds", async () => {
    const { lab, uuid, machines, another } = await team();
    const [first, second] = machines;
    await first.ok("label", uuid, "under-the-palm");
    await first.ok("get", uuid, "--json", "--no-ack");
    const known = async (machine: Machine): Promise<string> => {
      const { stdout } = await machine.vault("status", "--history", "--json");
      return stdout.replaceAll(/"tokenSecondsLeft": *\d+/g, "");
    };
    const before = await known(second);
    const directory = join(tempDir("moved"), "state");
    const moved = await first.vault("state", "move", "--to", directory, "--yes", "--json");
    expect(documentOf(moved)).toMatchObject({ moved: { to: directory, vaults: 1 } });
    const here = another(directory);
    expect(await known(here)).toBe(before);
    const left = await second.vault("get", uuid, "--json");
    expectError(left, "state", new RegExp(`was moved to ${directory}`));
    await here.ok("ack", uuid);
    await expectInStep(lab, here, uuid);

    const { location } = await postgres();
    const back = another(location("moved_back"));
    const move = ["state", "move", "--to", back.stateDir, "--yes", "--json"];
    expectError(await here.vault(...move), "state", /it holds no state/);
    await back.ok("state", "init");
    copyKeys(back, here);
    await here.ok(...move);
    expectError(await here.vault("get", uuid, "--json"), "state", /was moved to postgres:/);
    expect(documentOf(await back.vault("get", "under-the-palm", "--json"))).toMatchObject({
      uuid,
      vault: { content: note },
    });
    await expectInStep(lab, back, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("has its key changed at the new place; what stays at the old one keeps its own, and is used again where the new place is gone", async () => {
    const { lab, uuid, machines } = await team();
    const [first] = machines;
    const directory = join(first.home, "state-before");
    await first.ok("state", "move", "--to", directory, "--yes");
    const { location, sql } = await postgres();
    const there = { VAULTSVC_STATE: location("gone_for_good") };
    await first.okWith({ env: there }, "state", "init");
    const again = { VAULTSVC_STATE: directory, PGPASSWORD: "password" };
    await first.okWith({ env: again }, "state", "move", "--to", there.VAULTSVC_STATE, "--yes");
    for (const args of [
      ["get", uuid],
      ["state", "rekey", "--yes"],
      ["get", uuid],
    ])
      await first.okWith({ env: there }, ...args);
    await sql("DROP SCHEMA gone_for_good CASCADE");

    const gone = await first.vaultWith({ env: again }, "get", uuid, "--json");
    expectError(gone, "state", /was moved to postgres:/);
    expect(errorOf(gone).help).toContain(
      `vault state claim --state ${directory} (if the other place is gone for good)`,
    );
    const rekey = await first.vaultWith({ env: again }, "state", "rekey", "--yes", "--json");
    expectError(rekey, "state", /was moved to postgres:/);
    await first.okWith({ env: again }, "state", "claim", "--yes");
    const status = await first.vaultWith({ env: again }, "status", "--json");
    expect(documentOf(status)).toMatchObject({ vaults: [{ uuid, proven: false }] });
    // It was used at the place that is gone, by this machine.
    const kept = await first.vaultWith({ env: again }, "get", uuid, "--json");
    expect(documentOf(kept).vault.content).toBe(note);
    expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
  });

  it("goes back to where it was once what is left there is moved aside", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const [former, moved] = [machine.stateDir, join(machine.home, "moved")];
    const at = async (place: string, ...args: string[]) =>
      await machine.vaultWith({ env: { VAULTSVC_STATE: place } }, ...args);
    expectExit(await at(former, "state", "move", "--to", moved, "--yes"), 0);
    const back = ["state", "move", "--to", former, "--yes", "--json"];
    const refused = await at(moved, ...back);
    expectError(refused, "state", /another state is there already/);
    expect(errorOf(refused).help).toContain("move that aside");
    renameSync(former, `${former}-before`);
    expectExit(await at(moved, ...back), 0);
    expectExit(await at(former, "get", uuid), 0);
    await expectInStep(lab, machine, uuid);
    expectExit(await at(former, "state", "rekey", "--yes"), 0);
    expectExit(await at(former, "get", uuid), 0);
  });

  it("is said to be where it was moved to, also by the same move once that place is gone", async () => {
    const { machine } = await warmLab(offlineNote);
    const moved = join(machine.home, "moved");
    const move = ["state", "move", "--to", moved, "--yes", "--json"];
    expectExit(await machine.vault(...move), 0);
    renameSync(moved, `${moved}-away`);
    expectError(await machine.vault(...move), "state", /was moved to .*moved; nothing was sent/);
  });

  it("is not claimed where it was while the new place has it: a directory, a database, or another one", async () => {
    const { lab, uuid, machines } = await team();
    const [first] = machines;
    const { location } = await postgres();
    const at = async (place: string, ...args: string[]) =>
      await first.vaultWith({ env: { VAULTSVC_STATE: place, PGPASSWORD: "password" } }, ...args);
    const [former, latter] = [location("not_gone"), location("not_gone_either")];
    for (const place of [former, latter]) expectExit(await at(place, "state", "init"), 0);
    const way = [first.stateDir, join(first.home, "moved"), former, latter];
    for (const [n, to] of way.entries()) {
      const from = way[n - 1];
      if (from === undefined) continue;
      expectExit(await at(from, "state", "move", "--to", to, "--yes"), 0);
      const refused = await at(from, "state", "claim", "--yes", "--json");
      expectError(refused, "state", /was moved to .*; nothing was sent/);
      const { help } = errorOf(refused);
      expect(help).toContain("vault config set state");
      expect(help).not.toContain("vault state claim");
      expect((await at(from, "get", uuid, "--json")).code).toBe(14);
    }
    expectExit(await at(latter, "get", uuid, "--json"), 0);
    expectFarFromLock(lab, uuid);
  });

  it("is not claimed where it was while the new place answers, and refuses the login", async () => {
    const { lab, uuid, machine } = await warmLab(offlineNote);
    const { location } = await postgres();
    const there = { env: { VAULTSVC_STATE: location("behind_a_password") } };
    await machine.okWith(there, "state", "init");
    await machine.ok("state", "move", "--to", there.env.VAULTSVC_STATE, "--yes");
    const claim = ["state", "claim", "--yes", "--json"];
    for (const [PGPASSWORD, why] of [
      ["", /cannot be told: .* refused the connection .*; nothing was changed/],
      ["wrong", /cannot be told: .* refused the connection .*; nothing was changed/],
      ["password", /was moved to postgres:/],
    ] as const) {
      const refused = await machine.vaultWith({ env: { PGPASSWORD } }, ...claim);
      expectError(refused, "state", why);
      if (PGPASSWORD !== "password") expect(errorOf(refused).help).toContain("set PGPASSWORD");
      expectError(await machine.vault("get", uuid, "--json"), "state", /was moved to postgres:/);
    }
    await machine.okWith(there, "get", uuid, "--json");
    expectFarFromLock(lab, uuid);
  });

  it("is not claimed where it was while the new place answers, and keeps its role out", async () => {
    const { lab, uuid, machine } = await warmLab(offlineNote);
    const { location, sql } = await postgres();
    await sql("CREATE ROLE mover LOGIN PASSWORD 'password'");
    await sql("GRANT CREATE ON DATABASE postgres TO mover");
    const to = location("kept_by_its_role").replace("postgres:password", "mover:password");
    const there = { env: { VAULTSVC_STATE: to } };
    await machine.okWith(there, "state", "init");
    await machine.ok("state", "move", "--to", to, "--yes");
    for (const [out, back, why] of [
      ["ALTER ROLE mover NOLOGIN", "ALTER ROLE mover LOGIN", "is not permitted to log in, 28000"],
      [
        "REVOKE CONNECT ON DATABASE postgres FROM public",
        "GRANT CONNECT ON DATABASE postgres TO public",
        "permission denied for database .*, 42501",
      ],
      [
        "REVOKE USAGE ON SCHEMA kept_by_its_role FROM mover",
        "GRANT USAGE ON SCHEMA kept_by_its_role TO mover",
        "permission denied for schema kept_by_its_role",
      ],
      [
        "ALTER ROLE mover CONNECTION LIMIT 0",
        "ALTER ROLE mover CONNECTION LIMIT -1",
        "too many connections .*, 53300",
      ],
    ] as const) {
      await sql(out);
      const env = { PGPASSWORD: "password" };
      const claimed = await machine.vaultWith({ env }, "state", "claim", "--yes", "--json");
      await sql(back);
      expectError(claimed, "state", new RegExp(`cannot be told: .*${why}.*; nothing was changed$`));
      expect(errorOf(claimed).help).toMatch(
        /let in there|--grant mover|when the database is there/,
      );
      expectError(await machine.vault("get", uuid, "--json"), "state", /was moved to postgres:/);
    }
    await machine.okWith(there, "get", uuid, "--json");
    expectFarFromLock(lab, uuid);
  });

  it("is not claimed where it was while the new place is there, and cannot be read", async () => {
    const { lab, uuid, machine } = await warmLab(offlineNote);
    const server = await postgres();
    const proxy = await tcpProxy(server);
    const behind = server.location("unreadable").replace(`:${server.port}/`, `:${proxy.port}/`);
    const folder = join(tempDir("unreadable"), "state");
    const at = (to: string) => ({ env: { VAULTSVC_STATE: to } });
    const claim = async (code: "state" | "usage", why: RegExp, env = {}): Promise<void> => {
      const refused = await machine.vaultWith({ env }, "state", "claim", "--yes", "--json");
      expectError(refused, code, why);
      expect(refused.stderr).toMatch(/cannot be told: .*; nothing was changed"/);
      expectError(await machine.vault("get", uuid, "--json"), "state", /was moved to/);
    };
    await machine.okWith(at(folder), "state", "init");
    await machine.ok("state", "move", "--to", folder, "--yes");
    chmodSync(folder, 0o777);
    await claim("state", /other users can write to it/);
    chmodSync(folder, 0o700);
    sql(join(folder, "vault.db"), "PRAGMA user_version = 99");
    await claim("state", /was written by a newer version/);
    sql(join(folder, "vault.db"), "PRAGMA user_version = 2");
    rmSync(folder, { recursive: true });
    await machine.ok("state", "claim", "--yes");

    await machine.okWith(at(behind), "state", "init");
    await machine.ok("state", "move", "--to", behind, "--yes");
    await claim("usage", /sslmode prefer/, { PGSSLMODE: "prefer" });
    await claim("state", /does not support SSL/, { PGSSLMODE: "require" });
    proxy.cutAt(4, "after");
    await claim("state", /the connection .* was lost/, { PGPASSWORD: "password" });
    await machine.okWith(at(behind), "get", uuid, "--json");
    expectFarFromLock(lab, uuid);
  });

  it("is claimed where it was if nobody can tell whether the new place has it", async () => {
    const { lab, uuid, machines } = await team();
    const [first] = machines;
    const server = await postgres();
    const proxy = await tcpProxy(server);
    const there = server.location("out_of_reach").replace(`:${server.port}/`, `:${proxy.port}/`);
    await first.okWith({ env: { VAULTSVC_STATE: there } }, "state", "init");
    await first.ok("state", "move", "--to", there, "--yes");
    proxy.cutAt(1, "gone");
    const { code, stderr } = await first.vault("state", "claim", "--yes");
    expect(code).toBe(0);
    expect(stderr).toMatch(/warning: whether the state is at postgres:.* cannot be told/);
    await first.ok("get", uuid, "--json");
    expectFarFromLock(lab, uuid);
  });

  it("is claimed in a database where it was: this machine has kept what it did at the place that is gone", async () => {
    const { lab, uuid, machines } = await team();
    const [first, second] = machines;
    const { location, sql } = await postgres();
    const there = { env: { VAULTSVC_STATE: location("gone_since") } };
    await first.okWith(there, "state", "init");
    await first.ok("state", "move", "--to", there.env.VAULTSVC_STATE, "--yes");
    await first.okWith(there, "get", uuid, "--json");
    await sql("DROP SCHEMA gone_since CASCADE");
    await second.okWith({ env: { PGPASSWORD: "password" } }, "state", "claim", "--yes");
    expect(documentOf(await first.vault("get", uuid, "--json")).vault.content).toBe(note);
    expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
    await expectInStep(lab, second, uuid);
  });

  it("is left where it is if something is in the way", async () => {
    const { machines, another } = await team();
    const { location } = await postgres();
    const other = another(location("in_the_way"));
    await other.ok("state", "init");
    copyKeys(other, machines[0]);
    const move = ["state", "move", "--to", other.stateDir, "--yes", "--json"];
    await machines[0].ok(...move);
    const next = await team();
    // Its key is another one, which the machine would need in vain.
    expectError(await next.machines[0].vault(...move), "state", /another state is there already/);
    await next.machines[0].ok("get", next.uuid, "--json");
    expectError(await other.vault(...move), "usage", /the state is already there/);
    expectError(await other.vault("state", "move", "--json"), "usage", /--to/);
  });
});
