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
import { openHistory } from "../../src/store/journal/history.ts";
import type { OwnExchange, StateHistory } from "../../src/store/journal/history.ts";
import { fakeHost } from "../support/fake-host.ts";
import { expectExit, offlineNote, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { documentOf, keyFileOf } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";

async function find(
  machine: Machine,
  externalRef: string,
  near?: Parameters<StateHistory["own"]>[1],
): Promise<OwnExchange | undefined> {
  const history = await openHistory(machine.stateDir, fakeHost());
  if (history === null) throw new Error("there is no state");
  try {
    return history.own(externalRef, near);
  } finally {
    history.close();
  }
}

async function run(machine: Machine, code: number, ...args: string[]): Promise<string> {
  const result = await machine.vault(...args);
  expectExit(result, code);
  return result.stdout;
}

describe("an exchange of this machine", () => {
  test("is found by the reference that names it, with its generation and state", async () => {
    const { warmMachine, vault } = await openLab();
    const machine = await warmMachine();
    const before = Date.now();
    const result = await machine.vault("get", vault.uuid, "--no-ack", "--json");
    const { exchange } = documentOf(result);
    const reference = `vault-${exchange.id}`;
    const found = await find(machine, reference);
    expect(found).toEqual({
      id: exchange.id,
      operation: "get",
      generation: 2,
      state: "held",
      startedAt: expect.any(String) as string,
    });
    expect(Date.parse(found?.startedAt ?? "")).toBeGreaterThanOrEqual(before);
    await run(machine, 0, "ack", vault.uuid);
    const acknowledged = await find(machine, reference);
    expect(acknowledged).toEqual({ ...found, state: "acknowledged" });
    expect(await find(machine, "vault-unheard-of")).toBeUndefined();
    expect(await find(machine, "")).toBeUndefined();
    // Forgetting removes exchanges; the journal stays.
    await run(machine, 0, "forget", vault.uuid, "--yes");
    expect(await find(machine, reference)).toEqual(acknowledged);
  });

  test("that sent a wrong pair", async () => {
    const { machine: make, vault } = await openLab();
    const machine = make();
    const wrong = [
      "--kind",
      vault.kind,
      "--credentials",
      '{"encryptedData":"wrong","payload":"wrong"}',
    ];
    await run(machine, 6, "get", vault.uuid, ...wrong, "--external-ref", "wrong");
    expect(await find(machine, "wrong")).toMatchObject({ generation: 1, state: "rejected" });
  });

  test("of several with one reference: by vault, and by time", async () => {
    const { machine: make, service } = await openLab([offlineNote, offlineNote]);
    const machine = make();
    const [one, two] = service.vaults;
    const ids: string[] = [];
    for (const vault of [one, two, one]) {
      const pair = { PAIR: JSON.stringify(vault?.credentials) };
      const known =
        ids.length === 2 ? [] : ["--kind", "generic/offline", "--credentials", "env:PAIR"];
      const args = ["get", vault?.uuid ?? "", ...known, "--external-ref", "order-1", "--json"];
      ids.push(documentOf(await machine.vaultWith({ env: pair }, ...args)).exchange.id);
    }
    expect(await find(machine, "order-1")).toMatchObject({ id: ids[2] });
    expect(await find(machine, "order-1", { vault: two?.uuid ?? "" })).toMatchObject({
      id: ids[1],
    });
    const { startedAt } = (await find(machine, `order-1`, { vault: one?.uuid ?? "", at: 0 })) ?? {};
    expect(
      await find(machine, "order-1", { vault: one?.uuid ?? "", at: Date.parse(startedAt ?? "") }),
    ).toMatchObject({ id: ids[0] });
    expect(
      await find(machine, "order-1", { vault: one?.uuid ?? "", at: Date.now() + 60_000 }),
    ).toMatchObject({ id: ids[2] });
    expect(await find(machine, "order-1", { vault: "another" })).toBeUndefined();
  });

  test("taken over from another machine: by the reference that it has there by default", async () => {
    const { warmMachine, machine: make, vault } = await openLab();
    const first = await warmMachine();
    const { exchange } = documentOf(await first.vault("get", vault.uuid, "--no-ack", "--json"));
    const document = await run(first, 0, "export", vault.uuid);
    const second = make();
    await run(second, 0, "import", vault.uuid, "--kind", vault.kind, "--credentials", document);
    expect(await find(second, `vault-${exchange.id}`)).toMatchObject({
      id: exchange.id,
      operation: "get",
      generation: 1,
      state: "acknowledged",
    });
  });
});

test("exchanges are found while the journal is read", async () => {
  const { warmMachine, vault } = await openLab();
  const machine = await warmMachine();
  await run(machine, 0, "get", vault.uuid, "--external-ref", "second");
  const history = await openHistory(machine.stateDir, fakeHost());
  if (history === null) throw new Error("there is no state");
  const found = Array.from(history.journal(), ({ event }) => [event, history.own("second")?.state]);
  expect(found).toEqual(
    [1, 2].flatMap(() =>
      ["intent", "started", "ending", "acknowledged"].map((event) => [event, "acknowledged"]),
    ),
  );
  // A generator that is abandoned must not keep the state open.
  for (const line of history.journal()) if (line.event === "started") break;
  expect(() => history.close()).not.toThrow();
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
      expect(await find(machine, "x")).toBeUndefined();
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
