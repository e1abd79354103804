import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import type { Lab } from "../support/lab.ts";
import {
  eventsOf,
  expectExit,
  firstGet,
  offlineCard,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { documentOf } from "../support/machine.ts";
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
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    const { uuid } = lab.vault;
    expectExit(await machine.vault("get", uuid, "--no-ack"), 0);
    if (by !== undefined) now(machine, { by });
    return { lab, machine, uuid };
  }

  /** Changes the last exchange. */
  function now(machine: Machine, { by, state }: { by?: object; state?: string }): void {
    const set = [
      ...(by === undefined ? [] : [`by = '${JSON.stringify(by)}'`]),
      ...(state === undefined ? [] : [`state = '${state}'`]),
    ].join(", ");
    const last = "id = (SELECT max(id) FROM exchanges)";
    sql(join(machine.stateDir, "vault.db"), `UPDATE exchanges SET ${set} WHERE ${last}`);
  }

  const grace = { host: "build-7", user: "grace", pid: 7 };
  const since = "grace@build-7 since \\d\\d:\\d\\d\\b";
  const commands: [string, (uuid: string) => string[], string][] = [
    ["status", () => ["status"], `held by ${since}`],
    ["status of one vault", (uuid) => ["status", uuid], `held by ${since}`],
    ["its history", (uuid) => ["status", uuid, "--history"], "\\) grace@build-7 "],
    ["--fail-on", () => ["status", "--fail-on", "pending"], `is pending, by ${since}`],
    ["an error", (uuid) => ["get", uuid], `\\(get\\): held by ${since}`],
    ["doctor", () => ["doctor", "--offline"], `get held by ${since}`],
    [
      "a run",
      () => ["get", "--all", "--reveal", "--quiet"],
      `skipped an exchange is held by ${since}`,
    ],
    ["a discard", (uuid) => ["get", uuid, "--discard-pending"], `Dropped .* get of ${since}`],
    ["ack", (uuid) => ["ack", uuid], `get of ${since} acknowledged`],
    [
      "forget",
      (uuid) => ["forget", uuid, "--discard-pending", "--yes"],
      `the open get of ${since} is dropped`,
    ],
  ];

  it.each(commands)("is said of a held exchange of others: %s", async (_, line, said) => {
    const others = await held(grace);
    expect(await told(others.machine, ...line(others.uuid))).toMatch(new RegExp(said));
    const own = await held();
    expect(await told(own.machine, ...line(own.uuid))).not.toMatch(/@desk|ada/);
  });

  it.each([
    ["in-doubt", ["ack"], `in doubt, by ${since}`],
    ["in-doubt", ["status"], `in doubt, by ${since}`],
    ["started", ["forget"], `started, not acknowledged, by ${since}`],
  ])("is said of what is %s: %j", async (state, words, said) => {
    const { machine, uuid } = await held(grace);
    now(machine, { state });
    expect(await told(machine, ...words, uuid)).toMatch(new RegExp(said));
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
    expect(eventsOf(await machine.vault("get", "--all", "-o", "ndjson"))[0]).toMatchObject({
      skipped: "held",
      exchange: { by: grace },
    });
    const read = await machine.vault("get", uuid, "--discard-pending", "--json");
    expect(documentOf(read)).toMatchObject({
      exchange: { by: { host: "desk", user: "ada" } },
      settled: [{ outcome: "not-applied", exchange: { operation: "get", by: grace } }],
    });
  });

  it("is said of the last start where the guard refuses another one", async () => {
    const { machine, uuid } = await held(grace);
    expectExit(await machine.vault("ack", uuid), 0);
    sql(join(machine.stateDir, "vault.db"), "UPDATE vaults SET unackedStarts = 4");
    expect(await told(machine, "get", uuid)).toMatch(
      /0 of 3 failed attempts, the last start by grace@build-7/,
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
