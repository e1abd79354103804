import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import type { Pair } from "../../../src/protocol/answers.ts";
import { migrations } from "../../../src/store/sqlite/database.ts";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  note,
  offlineNote,
} from "../../support/lab.ts";
import { credentialsIn, documentOf, keyFileOf, type Machine } from "../../support/machine.ts";
import type { Operation } from "./operation.ts";
import { ackGoesOn, get, getGoesOn, given, here, inStep, nothingLost, warm } from "./operation.ts";
import type { RewindLab } from "../rewind-lab.ts";

const backupFile = ({ machine }: RewindLab): string => join(machine.home, "backup.db");

/** Of what keeps and changes a state. */
const alone: Operation[] = [
  {
    name: "import",
    onDisk: true,
    seed: [offlineNote, offlineNote],
    prepare: warm,
    args: (lab) => ["import", lab.vaults[1]?.uuid ?? "", ...given(lab, 1), "--json"],
    goesOn: async (lab) => {
      await nothingLost(lab);
      expectExit(await here(lab, "import", lab.vaults[1]?.uuid ?? "", ...given(lab, 1)), 0);
      expectExit(await here(lab, "get", lab.vaults[1]?.uuid ?? ""), 0);
      await inStep(lab, 1);
      await getGoesOn(lab);
    },
  },
  {
    name: "forget",
    seed: [offlineNote, offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      expectExit(await here(lab, "get", lab.vaults[1]?.uuid ?? "", ...given(lab, 1)), 0);
    },
    args: (lab) => ["forget", lab.vaults[1]?.uuid ?? "", "--yes", "--json"],
    goesOn: async (lab, _, ended) => {
      const uuid = lab.vaults[1]?.uuid ?? "";
      const left = await (await lab.aside()).exported(uuid);
      if (ended) expect(left).toBeNull();
      if (left !== null) expect(lab.service.sandbox.accepts(uuid, left as Pair)).toBe(true);
      expectExit(await here(lab, "forget", uuid, "--yes"), left === null ? 4 : 0);
      expect(await (await lab.aside()).exported(uuid)).toBeNull();
      await getGoesOn(lab);
    },
  },
  {
    name: "state rekey",
    onDisk: true,
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      expectExit(await here(lab, "config", "set", "apiKey", "env:VAULTSVC_API_KEY"), 0);
      // So that the sealed key of the profile is what the service is called with.
      lab.machine.env["VAULTSVC_API_KEY"] = "";
      expectExit(await here(lab, ...get(lab, "--no-ack")), 0);
    },
    args: () => ["state", "rekey", "--yes", "--json"],
    goesOn: async (lab) => {
      await nothingLost(lab);
      const again = await here(lab, "state", "rekey", "--yes", "--json");
      expectExit(again, 0);
      const { rekeyed } = JSON.parse(again.stdout) as { rekeyed: { to: string } };
      expect(keyFileOf(lab.machine)).toContain(`${rekeyed.to}.key`);
      const shown = await here(lab, "config", "get", "apiKey", "--reveal");
      expect(shown.stdout.trim()).toBe(lab.service.application.apiKey);
      await ackGoesOn(lab);
    },
  },
  {
    name: "state restore",
    onDisk: true,
    seed: [offlineNote, offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      expectExit(await here(lab, "state", "backup", backupFile(lab)), 0);
      // The backup is older than what the state has.
      expectExit(await here(lab, ...get(lab)), 0);
      // By a process of its own: what it wrote last is in the WAL.
      await lab.machine.ok("import", lab.vaults[1]?.uuid ?? "", ...given(lab, 1));
    },
    args: (lab) => ["state", "restore", backupFile(lab), "--yes", "--json"],
    goesOn: async (lab) => {
      await nothingLost(lab);
      const known = async (): Promise<number> => {
        const result = await here(lab, "status", "--json");
        expectExit(result, 0);
        return (JSON.parse(result.stdout) as { vaults: unknown[] }).vaults.length;
      };
      expect(await known()).toBe(2);
      expectExit(await here(lab, "state", "restore", backupFile(lab), "--yes"), 0);
      expect(await known()).toBe(2);
      await getGoesOn(lab);
    },
  },
];

/**
 * The older state is today's, and the program that opens it is the one of tomorrow,
 * with a migration that a hook adds. That one does not run in this process.
 */
const nextVersion = {
  NODE_OPTIONS: `--require=${join(import.meta.dirname, "..", "next-version.cjs")}`,
};

const migration: Operation = {
  name: "get, which brings an older state to a new schema",
  seed: [offlineNote],
  prepare: warm,
  args: get,
  env: nextVersion,
  goesOn: async (lab) => {
    const { uuid } = lab.vault;
    const exported = async (machine: Machine): Promise<Pair & { old?: Pair; new?: Pair }> => {
      const result = await machine.okWith({ env: nextVersion }, "export", uuid);
      return credentialsIn(result.stdout) as Pair;
    };
    const left = await exported(await lab.aside());
    const pairs = left.old === undefined || left.new === undefined ? [left] : [left.old, left.new];
    expect(pairs.filter((pair) => lab.service.sandbox.accepts(uuid, pair)).length).toBe(1);
    const next = await lab.machine.okWith({ env: nextVersion }, ...get(lab));
    expect(documentOf(next).vault.content).toBe(note);
    expect(lab.service.sandbox.accepts(uuid, await exported(lab.machine))).toBe(true);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      failedAccesses: 0,
      unackedStarts: 0,
    });
    expectFarFromLock(lab, uuid);
    const db = new DatabaseSync(join(lab.machine.stateDir, "vault.db"));
    expect(db.prepare("PRAGMA user_version").get()).toEqual({
      user_version: migrations.length + 1,
    });
    db.close();
  },
};

export const keeping: readonly Operation[] = [...alone, migration];

const folder = ({ machine }: RewindLab): string => join(machine.home, "moved");

/** The state is at the new place, as of a whole move, and the old one says so. */
async function moved(lab: RewindLab, from: string, to: string): Promise<void> {
  const at = (state: string): string[] => [...get(lab), "--state", state];
  expectExit(await here(lab, "state", "move", "--state", from, "--to", to, "--yes"), 0);
  expectError(await here(lab, ...at(from)), "state", /was moved to/);
  expect(documentOf(await here(lab, ...at(to))).vault).toMatchObject({ content: note });
}

/** Of a whole shared state: the same machine goes on. */
export const wholes: Operation[] = [
  {
    name: "state move, to a directory",
    seed: [offlineNote],
    prepare: warm,
    args: (lab) => ["state", "move", "--to", folder(lab), "--yes", "--json"],
    goesOn: async (lab) => await moved(lab, lab.machine.stateDir, folder(lab)),
  },
  {
    name: "state move, from a directory",
    seed: [offlineNote],
    prepare: async (lab) => {
      lab.machine.env["PAIR0"] = JSON.stringify(lab.vaults[0]?.credentials);
      expectExit(await here(lab, ...get(lab, ...given(lab)), "--state", folder(lab)), 0);
    },
    args: (lab) => [
      "state",
      "move",
      "--state",
      folder(lab),
      "--to",
      lab.machine.stateDir,
      "--yes",
      "--json",
    ],
    goesOn: async (lab) => await moved(lab, folder(lab), lab.machine.stateDir),
  },
  {
    name: "state rekey",
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      expectExit(await here(lab, ...get(lab), "--no-ack"), 0);
    },
    args: () => ["state", "rekey", "--yes", "--json"],
    goesOn: async (lab) => {
      await nothingLost(lab);
      expectExit(await here(lab, "state", "rekey", "--yes"), 0);
      await ackGoesOn(lab);
    },
  },
];
