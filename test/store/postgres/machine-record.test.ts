import { join } from "node:path";
import { expect, it } from "vitest";
import {
  MachineRecord,
  recordFile,
  recordMigrations,
} from "../../../src/store/postgres/machine-record.ts";
import { createDatabase, openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { realClock } from "../../support/read-with.ts";
import { tempDir } from "../../support/temp-dir.ts";

it("brings what an earlier version has kept up to date", async () => {
  const directory = tempDir("record");
  const opening = {
    path: join(directory, recordFile),
    platform: "linux",
    migrations: recordMigrations.slice(0, 1),
  };
  createDatabase(opening);
  openDatabase(opening)?.exec(`
    INSERT INTO states VALUES ('s', 'postgres://server', 2, '00000001', 5);
    INSERT INTO vaults VALUES ('s', 'https://service', 'v', 7, 'print', NULL, 'generic/offline', 1);
    INSERT INTO outbox VALUES ('s', 'https://service', 'v', '2026-11-22T10:00:00Z', 'sealed')`);
  const record = new MachineRecord({
    directory,
    platform: "linux",
    clock: realClock,
    warn: expect.fail,
  });
  const [seen] = await record.vault("https://service", "v");
  expect(seen).toMatchObject({
    generation: 7,
    fingerprint: "print",
    kept: "print",
    setBack: "",
    claims: 2,
    document: "sealed",
  });
  const vault = {
    service: "https://service",
    uuid: "v",
    generation: 8,
    fingerprint: "next",
    label: null,
    kind: "generic/offline",
  } as const;
  await record.keep({ state: "s", position: 6, setBack: "x", claims: 2, now: 9 }, vault, {
    at: "2026-11-22T11:00:00Z",
    document: "newer",
  });
  expect(await record.vault("https://service", "v")).toMatchObject([
    { generation: 8, kept: "next", setBack: "x", document: "newer" },
  ]);
});
