import { cpSync } from "node:fs";
import { beforeAll, it } from "vitest";
import { checkpoint } from "../support/state-file.ts";
import { expectExit, firstGetArgs, offlineNote, openLab, type Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { expectRefusedInPlace, places, things } from "../support/disks.ts";
import { tempDir } from "../support/cleanup.ts";
import { sample, tried } from "../support/campaign.ts";

let lab: Lab;
let prepared: Machine;

beforeAll(async () => {
  lab = await openLab(offlineNote);
  prepared = lab.machine();
  // By a process of its own: none may have the database open any more.
  expectExit(await prepared.vault(...firstGetArgs(prepared, lab.vault)), 0);
  checkpoint(prepared);
});

// The locks are a folder in any case; what a folder holds that is no lock file is nothing to them.
const cases = places
  .flatMap((place) => things.map((thing) => ({ place, thing })))
  .filter(({ place, thing }) => place !== "state/locks" || thing.what !== "a folder");

it.each(sample(cases, 8))(
  "$thing.what for $place is refused, and stays",
  async ({ place, thing }) => {
    const home = tempDir("planted");
    cpSync(prepared.home, home, { recursive: true });
    await expectRefusedInPlace(lab, lab.machine({ home }), place, thing);
    tried("hostile answers and files", 1);
  },
);
