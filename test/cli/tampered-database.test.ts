import { editShared } from "../support/stored-vaults.ts";
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
  sql: (text: string) => Promise<object[]>;
}> {
  const { location, sql } = await postgres();
  const schema = `tampered_${(made += 1)}`;
  const lab = await openLab([offlineNote, offlineNote]);
  const machine = lab.machine({ stateDir: location(schema) });
  await machine.ok("state", "init");
  const vaults = lab.service.vaults;
  for (const [index, vault] of vaults.entries()) {
    expectExit(await firstGet(machine, vault), 0);
    await machine.ok("label", vault.uuid, `label-${index}`);
  }
  const uuids = vaults.map(({ uuid }) => uuid) as [string, string];
  await machine.ok("get", uuids[1], "--no-ack", "--json");
  return {
    lab,
    machine,
    uuids,
    sql: async (text) => await sql(text.replaceAll("schema.", `${schema}.`)),
  };
}

/** Exchanges a column of both vaults. */
const exchanged = (column: string): string =>
  `UPDATE schema.vaults AS mine SET ${column} = theirs.${column} FROM schema.vaults AS theirs WHERE mine.id <> theirs.id`;

/** Changes a sealed value in the middle. */
const changed = (sealed: string | undefined = ""): string =>
  `${sealed.slice(0, 59)}AAAA${sealed.slice(63)}`;
type Sql = (text: string) => Promise<object[]>;

describe("what the administrator of the database changes is noticed, and nothing is sent", () => {
  it.each([
    [
      "credentials of two vaults are exchanged",
      "get",
      async (sql: Sql) => await sql(exchanged("sealed")),
    ],
    [
      "a vault gets older credentials of its own",
      "get",
      async (sql: Sql) =>
        await editShared(sql, ({ sealed: { "credentials.sealed": pairs } }) => {
          pairs["2"] = pairs["1"] ?? "";
        }),
    ],
    [
      "credentials are changed",
      "get",
      async (sql: Sql) =>
        await editShared(sql, ({ sealed: { "credentials.sealed": pairs } }) => {
          for (const generation of Object.keys(pairs))
            pairs[generation] = changed(pairs[generation]);
        }),
    ],
    [
      "vaults are exchanged",
      "get the second",
      async (sql: Sql) =>
        await sql(
          `ALTER TABLE schema.vaults DROP CONSTRAINT vaults_service_uuid_key; ${exchanged("uuid")};
            ALTER TABLE schema.vaults ADD CONSTRAINT vaults_service_uuid_key UNIQUE (service, uuid)`,
        ),
    ],
    [
      "a token is changed",
      "ack",
      async (sql: Sql) =>
        await editShared(sql, ({ sealed: { "exchanges.token": tokens } }) => {
          for (const id of Object.keys(tokens)) tokens[id] = changed(tokens[id]);
        }),
    ],
  ])("%s", async (_, command, change) => {
    const { lab, machine, uuids, sql } = await twoVaults();
    await change(sql);
    const sent = lab.service.sandbox.requests().length;
    const uuid = command === "get" ? uuids[0] : uuids[1];
    expectError(
      await machine.vault(command === "ack" ? "ack" : "get", uuid, "--json"),
      "state",
      /cannot be decrypted/,
    );
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
  });

  it("and what is put back is of use again", async () => {
    const { lab, machine, uuids, sql } = await twoVaults();
    const swap = exchanged("sealed");
    await sql(swap);
    expectError(await machine.vault("get", uuids[0], "--json"), "state");
    await sql(swap);
    await machine.ok("get", uuids[0], "--json");
    await expectInStep(lab, machine, uuids[0]);
  });
});
