import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { openHistory } from "../../src/store/sqlite/history.ts";
import { fakeHost } from "../support/fake-host.ts";
import { openLab } from "../support/lab.ts";
import { keyFileOf } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";

test("a journal that is not read to its end does not keep the state open", async () => {
  const { warmMachine } = await openLab();
  const history = await openHistory((await warmMachine()).stateDir, fakeHost());
  for (const line of history?.journal() ?? []) if (line.event === "started") break;
  expect(() => history?.close()).not.toThrow();
});

describe("reading a state", () => {
  /** Names, sizes, modes and contents of all files below a folder. */
  const snapshot = (folder: string): unknown[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [
        path,
        statSync(path).mode,
        entry.isFile() ? readFileSync(path).toString("base64") : "",
      ];
    });

  test.each([false, true])(
    "changes nothing in it, and needs no key (at rest: %s)",
    async (atRest) => {
      const { warmMachine } = await openLab();
      const machine = await warmMachine();
      if (atRest) {
        // The last connection that closes moves the WAL into the file; a copy has no connections.
        const copied = machine.copy();
        new DatabaseSync(join(copied.stateDir, "vault.db")).exec("PRAGMA wal_checkpoint(TRUNCATE)");
        rmSync(join(copied.stateDir, "vault.db-wal"), { force: true });
        rmSync(join(copied.stateDir, "vault.db-shm"), { force: true });
        machine.stateDir = copied.stateDir;
      }
      chmodSync(machine.stateDir, 0o755);
      rmSync(keyFileOf(machine));
      const before = snapshot(machine.stateDir).filter((each) => !String(each).includes("-shm"));
      const history = await openHistory(machine.stateDir, fakeHost());
      expect([...(history?.journal() ?? [])].map(({ event }) => event)).toEqual([
        "intent",
        "started",
        "ending",
        "acknowledged",
      ]);
      history?.close();
      expect(snapshot(machine.stateDir).filter((each) => !String(each).includes("-shm"))).toEqual(
        before,
      );
      expect(statSync(machine.stateDir).mode & 0o777).toBe(0o755);
    },
  );

  test("that is not there makes none", async () => {
    const folder = join(tempDir("none"), "state");
    expect(await openHistory(folder, fakeHost())).toBeNull();
    expect(existsSync(folder)).toBe(false);
    mkdirSync(folder);
    chmodSync(folder, 0o700);
    expect(await openHistory(folder, fakeHost())).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each<[string, (folder: string) => void, RegExp]>([
    [
      "no database",
      (folder) => writeFileSync(join(folder, "vault.db"), "x".repeat(5000)),
      /damaged/,
    ],
    [
      "an empty file",
      (folder) => writeFileSync(join(folder, "vault.db"), ""),
      /not created by this program/,
    ],
    [
      "a folder that others can write to",
      (folder) => chmodSync(folder, 0o777),
      /other users can write/,
    ],
  ])("that cannot be used is `state`: %s", async (_what, spoil, message) => {
    const folder = tempDir("spoilt");
    chmodSync(folder, 0o700);
    spoil(folder);
    await expect(openHistory(folder, fakeHost())).rejects.toMatchObject({
      code: "state",
      message: expect.stringMatching(message) as string,
    });
  });
});
