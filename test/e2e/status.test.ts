import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import {
  expectExit,
  firstGet,
  firstGetArgs,
  offlineCard,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { documentOf } from "../support/machine.ts";

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

describe.concurrent("who did it", () => {
  /** What somebody else on another machine, who shares the state, is told. */
  async function elsewhere({ env, home }: Machine, ...words: string[]): Promise<string> {
    const host = fakeHost({ env, home, now: Date.now() });
    await main(words, host);
    await host.flush();
    return (host.out + host.err).replaceAll(/\s+/g, " ");
  }

  async function readOnce(): Promise<{ machine: Machine; uuid: string }> {
    const lab = await openLab(offlineNote);
    const machine = lab.machine();
    const first = machine.start({}, ...firstGetArgs(machine, lab.vault));
    expectExit(await first.exit, 0);
    return { machine, uuid: lab.vault.uuid };
  }

  it("is said of a held exchange to others: in status, its history, errors, and always in JSON", async () => {
    const { machine, uuid } = await readOnce();
    const holding = machine.start({}, "get", uuid, "--no-ack", "--json");
    const held = await holding.exit;
    expectExit(held, 0);
    const by = { host: hostname(), user: userInfo().username, pid: holding.pid };
    expect(documentOf(held)).toMatchObject({ exchange: { by } });
    const who = `${by.user} on ${by.host} (process ${by.pid})`;
    expect(await elsewhere(machine, "status", uuid)).toContain(` minutes left by ${who} `);
    expect(await elsewhere(machine, "status", uuid, "--history")).toContain(who);
    const refused = await elsewhere(machine, "get", uuid);
    expect(refused).toMatch(/ \(get\): held, begun by /);
    expect(refused).toContain(`begun by ${who}`);
    expect(await elsewhere(machine, "status", "--json")).toContain(
      `"by": { "host": "${by.host}", "user": "${by.user}", "pid": ${by.pid} }`,
    );
    for (const own of [
      ["status", uuid, "--history"],
      ["get", uuid],
    ]) {
      const { stdout, stderr } = await machine.start({}, ...own).exit;
      expect(stdout + stderr).not.toContain(" on ");
    }
  });

  it("is said of the last start where the guard refuses another one", async () => {
    const { machine, uuid } = await readOnce();
    const database = join(machine.stateDir, "vault.db");
    const db = new DatabaseSync(database);
    db.exec("UPDATE vaults SET unackedStarts = 4");
    db.close();
    expect(await elsewhere(machine, "get", uuid)).toMatch(
      /0 of 3 failed attempts, the last start by \S+ on \S+ \(process \d+\)/,
    );
  });
});

describe.concurrent("status on a terminal", () => {
  it("ends with the command that helps each pending vault: ack for what is held, get for what is in doubt", async () => {
    const lab = await openLab([offlineNote, offlineCard, { ...offlineNote, maxUsage: 1 }]);
    const machine = lab.machine();
    const [held, doubtful, unread] = lab.service.vaults;
    if (held === undefined || doubtful === undefined || unread === undefined)
      throw new Error("the lab has three vaults");
    lab.faults("get-end:drop-after");
    expectExit(await firstGet(machine, doubtful), 12);
    const inDoubt = `vault get ${doubtful.uuid}`;
    expect((await onTerminal(machine)).err).toBe(`next: ${inDoubt}\n`);

    expectExit(await firstGet(machine, held, "--no-ack"), 0);
    expect((await onTerminal(machine)).err).toBe(`next: vault ack --all\nnext: ${inDoubt}\n`);

    // The last read, masked: held and not delivered.
    expectExit(
      await machine.vaultWith(
        { env: { PAIR: JSON.stringify(unread.credentials) } },
        "get",
        unread.uuid,
        "--kind",
        unread.kind,
        "--credentials",
        "env:PAIR",
      ),
      11,
    );
    const again = `vault get ${unread.uuid} --discard-pending --reveal`;
    const { err } = await onTerminal(machine, "--pending");
    expect(err.split("\n").toSorted()).toEqual(
      ["", `next: ${again}`, `next: ${inDoubt}`, "next: vault ack --all"].toSorted(),
    );

    expectExit(await machine.vault("ack", held.uuid), 0);
    expect((await onTerminal(machine)).err).not.toContain("ack --all");
  });

  it("--pending says that nothing is pending, and not that there are no vaults", async () => {
    const lab = await openLab();
    const machine = lab.machine();
    expect((await onTerminal(machine)).out).toMatch(/^No vaults/);
    await machine.vaultWith(
      { env: { PAIR: JSON.stringify(lab.vault.credentials) } },
      "import",
      lab.vault.uuid,
      "--kind",
      lab.vault.kind,
      "--credentials",
      "env:PAIR",
    );
    expect(await onTerminal(machine, "--pending")).toEqual({
      out: "Nothing is pending.\n",
      err: "",
    });
    expect(JSON.parse((await onTerminal(machine, "--pending", "--json")).out)).toEqual({
      vaults: [],
    });
  });
});
