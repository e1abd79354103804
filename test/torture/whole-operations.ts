import { join } from "node:path";
import { expect } from "vitest";
import { expectError, expectExit, note, offlineNote } from "../support/lab.ts";
import { documentOf } from "../support/machine.ts";
import type { Operation } from "./operation.ts";
import { ackGoesOn, get, given, here, nothingLost, warm } from "./operation.ts";
import type { RewindLab } from "./rewind-lab.ts";

const folder = ({ machine }: RewindLab): string => join(machine.home, "moved");

/** The state is at the new place, as of a whole move, and the old one says so. */
async function moved(lab: RewindLab, from: string, to: string): Promise<void> {
  const at = (state: string): string[] => [...get(lab), "--state", state];
  expectExit(await here(lab, "state", "move", "--state", from, "--to", to, "--yes"), 0);
  expectError(await here(lab, ...at(from)), 14, "state", /was moved to/);
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
