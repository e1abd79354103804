import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { restoredOf } from "../support/state-file.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  firstGet,
  note,
  offlineNote,
  warmLab,
} from "../support/lab.ts";
import { copyKeys, documentOf, type Machine } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";
import { team } from "../support/shared-state.ts";
import { tempDir } from "../support/cleanup.ts";

interface Place {
  lab: Lab;
  machine: Machine;
  uuid: string;
  file: string;
}

/** A machine whose shared state, of which a backup was just made, has one vault. */
async function open(): Promise<Place> {
  const { lab, uuid, machines } = await team();
  return await backedUp({ lab, machine: machines[0], uuid });
}

async function backedUp(place: Omit<Place, "file">): Promise<Place> {
  const file = join(tempDir("backups"), "backup.db");
  await place.machine.ok("state", "backup", file);
  return { ...place, file };
}

/** Restores twice, which is as once; returns what the first one kept of the vault. */
async function restored({ machine, uuid, file }: Place) {
  const first = await machine.ok("state", "restore", file, "--yes", "--json");
  await machine.ok("state", "restore", file, "--yes", "--json");
  return restoredOf(first).vaults.find((vault) => vault.uuid === uuid);
}

describe("a backup that is older than what has happened since, in a shared state", () => {
  it("leaves an exchange in doubt that it does not know: the next get settles it", async () => {
    const place = await open();
    const { lab, machine, uuid } = place;
    // The token has expired by the clock here.
    lab.clock.ahead = -3_600_000;
    lab.faults("get-end:drop-after*9");
    expectExit(await machine.vault("get", uuid, "--max-wait", "1s"), 12);
    lab.service.faults.clear();
    expect(await restored(place)).toMatchObject({
      reason: "known",
      exchange: { state: "in-doubt", from: "here" },
    });
    expect(await machine.status(uuid)).toMatchObject({
      status: "in doubt",
      exchange: { state: "in-doubt" },
    });
    expectError(await machine.vault("ack", uuid, "--json"), "in-doubt");
    expect(documentOf(await machine.vault("get", uuid, "--json")).vault.content).toBe(note);
    await expectInStep(lab, machine, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("leaves an update held that it does not know: ack finishes it", async () => {
    const place = await open();
    const { lab, machine, uuid } = place;
    await machine.okWith({ input: "new words" }, "update", uuid, "--content", "-", "--no-ack");
    expect(await restored(place)).toMatchObject({ exchange: { state: "held", from: "here" } });
    expectError(await machine.vault("get", uuid, "--json"), "pending");
    await machine.ok("ack", uuid);
    expect(documentOf(await machine.vault("get", uuid, "--json")).vault.content).toBe("new words");
    await expectInStep(lab, machine, uuid);
    expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
  });

  it("leaves what was imported since: the next get has it", async () => {
    const place = await open();
    const { lab, machine, uuid } = place;
    const other = lab.machine();
    const pair = JSON.stringify(await machine.exported(uuid));
    const given = ["--kind", offlineNote.kind, "--credentials", "env:PAIR"];
    await other.okWith({ env: { PAIR: pair } }, "get", uuid, ...given);
    const theirs = JSON.stringify(await other.exported(uuid));
    await machine.okWith({ env: { PAIR: theirs } }, "import", uuid, ...given);
    expect(await restored(place)).toMatchObject({ reason: "known" });
    expect(documentOf(await machine.vault("get", uuid, "--json")).vault.content).toBe(note);
    await expectInStep(lab, machine, uuid);
    expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
  });

  it("brings back what was forgotten, and says so", async () => {
    const place = await open();
    const { lab, machine, uuid, file } = place;
    await machine.ok("label", uuid, "palm");
    await machine.ok("state", "backup", file, "--force");
    await machine.ok("forget", uuid, "--yes");
    const [extra, given] = [
      "7d9f7c1e-2d3c-4b5a-8697-a8b9cadbecfd",
      ["--kind", offlineNote.kind, "--credentials", "env:PAIR"],
    ];
    const env = { PAIR: JSON.stringify(lab.vault.credentials) };
    await machine.okWith({ env }, "import", extra, ...given, "--label", "palm");
    const { stdout } = await machine.vault("state", "restore", file, "--yes");
    const told = stdout.replaceAll(/\s+/g, " ");
    expect(told).toContain(
      `${uuid}: it was forgotten here; its label palm belongs to another vault here`,
    );
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });
});

it("a restore of a shared state, while other machines read their vaults for the first time, takes none of them away", async () => {
  const { lab, machines, uuid } = await team(undefined, {}, [
    offlineNote,
    offlineNote,
    offlineNote,
  ]);
  const [first, second, third] = machines;
  const [, two, three] = lab.service.vaults;
  if (two === undefined || three === undefined) throw new Error("three vaults are needed");
  const { file } = await backedUp({ lab, machine: first, uuid });
  expectExit(await firstGet(second, two), 0);
  const results = await Promise.all([
    first.vault("state", "restore", file, "--yes", "--json"),
    second.vault("get", two.uuid, "--json"),
    firstGet(third, three),
  ]);
  for (const result of results) expectExit(result, 0);
  for (const each of [uuid, two.uuid, three.uuid]) {
    await first.ok("get", each);
    await expectInStep(lab, second, each);
    expectFarFromLock(lab, each);
  }
});

it("a shared state that is gone comes back in a new one: who used a vault after the backup has its credentials", async () => {
  const { lab, machines, uuid, schema } = await team();
  const [first, second, third] = machines;
  const { file } = await backedUp({ lab, machine: first, uuid });
  await second.ok("get", uuid);
  await (await postgres()).sql(`DROP SCHEMA ${schema} CASCADE`);
  await first.ok("state", "init");
  for (const each of [second, third]) copyKeys(first, each);
  const result = await first.ok("state", "restore", file, "--yes", "--json");
  expect(restoredOf(result).vaults).toMatchObject([{ uuid, reason: "taken" }]);
  const again = await second.vault("get", uuid, "--json");
  expect(documentOf(again).vault.content).toBe(note);
  expect(again.stderr).toContain("had lost the last exchange");
  await expectInStep(lab, third, uuid);
  expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
});

it("a shared state that is gone comes back in a directory: this machine has kept what it did after the backup", async () => {
  const { lab, machines, uuid, schema } = await team();
  const [machine] = machines;
  const { file } = await backedUp({ lab, machine, uuid });
  await machine.ok("get", uuid);
  await (await postgres()).sql(`DROP SCHEMA ${schema} CASCADE`);
  const here = { env: { VAULTSVC_STATE: join(tempDir("here"), "state") } };
  await machine.okWith(here, "state", "restore", file, "--yes");
  const again = await machine.vaultWith(here, "get", uuid, "--json");
  expect(documentOf(again).vault.content).toBe(note);
  expect(again.stderr).toContain("had lost the last exchange");
  const last = await machine.vaultWith(here, "get", uuid, "--json");
  expect(documentOf(last).vault.content).toBe(note);
  expect(last.stderr).toBe("");
  expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
});

it("a state that is older than the backup goes on where the backup ends", async () => {
  const { lab, machine, uuid } = await warmLab(offlineNote);
  const older = machine.copy();
  for (const _ of [1, 2]) await machine.ok("get", uuid);
  await machine.ok("get", uuid, "--no-ack");
  const { file } = await backedUp({ lab, machine, uuid });
  const result = await older.vault("state", "restore", file, "--yes", "--json");
  expect(restoredOf(result).vaults).toMatchObject([{ uuid, reason: "first", exchange: null }]);
  await older.ok("get", uuid);
  await expectInStep(lab, older, uuid);
  expectFarFromLock(lab, uuid);
});
