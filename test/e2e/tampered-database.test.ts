import { describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectInStep,
  firstGet,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";

let made = 0;

/** Two vaults in a shared state, each with a label; the second one has an exchange that is held. */
async function twoVaults(): Promise<{
  lab: Lab;
  machine: Machine;
  uuids: [string, string];
  sql: (text: string) => Promise<unknown>;
}> {
  const { location, sql } = await postgres();
  const schema = `tampered_${(made += 1)}`;
  const lab = await openLab([offlineNote, offlineNote]);
  const machine = lab.machine({ stateDir: location(schema) });
  expectExit(await machine.vault("state", "init"), 0);
  const vaults = lab.service.vaults;
  for (const [index, vault] of vaults.entries()) {
    expectExit(await firstGet(machine, vault), 0);
    expectExit(await machine.vault("label", vault.uuid, `label-${index}`), 0);
  }
  const uuids = vaults.map(({ uuid }) => uuid) as [string, string];
  expectExit(await machine.vault("get", uuids[1], "--no-ack", "--json"), 0);
  return {
    lab,
    machine,
    uuids,
    sql: async (text) => await sql(text.replaceAll("schema.", `${schema}.`)),
  };
}

/** Exchanges a column of the rows of both vaults that fulfil a condition. */
function exchanged(table: "vaults" | "credentials", column: string, where = "true"): string {
  const id = table === "vaults" ? "id" : "vault";
  return `UPDATE schema.${table} AS mine SET ${column} = theirs.${column} FROM schema.${table} AS theirs
    WHERE mine.${id} <> theirs.${id} AND ${where.replaceAll("each.", "mine.")} AND ${where.replaceAll("each.", "theirs.")}`;
}

describe("what the administrator of the database changes is noticed, and nothing is sent", () => {
  it.each([
    [
      "credentials of two vaults are exchanged",
      "get",
      exchanged("credentials", "sealed", "each.generation = 2"),
    ],
    [
      "a vault gets older credentials of its own",
      "get",
      `UPDATE schema.credentials AS mine SET sealed = older.sealed FROM schema.credentials AS older
        WHERE older.vault = mine.vault AND older.generation = 1 AND mine.generation = 2`,
    ],
    [
      "credentials are changed",
      "get",
      "UPDATE schema.credentials SET sealed = overlay(sealed placing 'AAAA' from 60)",
    ],
    ["labels are exchanged", "get", exchanged("vaults", "label")],
    [
      "vaults are exchanged",
      "get",
      `ALTER TABLE schema.vaults DROP CONSTRAINT vaults_service_uuid_key; ${exchanged("vaults", "uuid")}`,
    ],
    [
      "a token is changed",
      "ack",
      "UPDATE schema.exchanges SET token = overlay(token placing 'AAAA' from 60)",
    ],
  ])("%s", async (_, command, change) => {
    const { lab, machine, uuids, sql } = await twoVaults();
    await sql(change);
    const sent = lab.service.sandbox.requests().length;
    const uuid = command === "ack" ? uuids[1] : uuids[0];
    expectError(await machine.vault(command, uuid, "--json"), 14, "state", /cannot be decrypted/);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
  });

  it("and what is put back is of use again", async () => {
    const { lab, machine, uuids, sql } = await twoVaults();
    const swap = exchanged("credentials", "sealed", "each.generation = 2");
    await sql(swap);
    expectError(await machine.vault("get", uuids[0], "--json"), 14, "state");
    await sql(swap);
    expectExit(await machine.vault("get", uuids[0], "--json"), 0);
    await expectInStep(lab, machine, uuids[0]);
  });
});
