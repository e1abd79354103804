import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { VaultInput } from "../../../src/sandbox/seeds.ts";
import {
  card,
  contentsOf,
  eventsOf,
  expectExit,
  expectFarFromLock,
  expectNothingLost,
  importAll,
  note,
  offlineCard,
  offlineNote,
  outcomesOf,
} from "../../support/lab.ts";
import { tempDir } from "../../support/cleanup.ts";
import { here, inStep, type Operation } from "./operation.ts";
import type { RewindLab } from "../rewind-lab.ts";

const newCard = { ...card, number: "5555555555554444" };
const three = (input: VaultInput): VaultInput[] => [input, input, input];

/** One after the other, so that each run makes the same calls in the same order. */
const run = ["-o", "ndjson", "--run", "may", "--concurrency", "1"];

/** The machine has read all of them once. */
async function warmAll(lab: RewindLab): Promise<void> {
  await importAll(lab, lab.machine);
  expectExit(await here(lab, "get", "--all", "-o", "ndjson"), 0);
}

/** The same line again: every vault is acknowledged in the run, and nothing is sent for those whose outcome was told. */
async function againGoesOn(
  lab: RewindLab,
  args: readonly string[],
  printed: string,
): Promise<string> {
  const { sandbox } = lab.service;
  const acknowledged = (uuid: string): number => sandbox.inspect(uuid).counts.acknowledged;
  const told = outcomesOf({ stdout: printed }).map(({ uuid, ok }) => (ok ? uuid : "failed"));
  expect(new Set(told).size).toBe(told.length);
  const aside = await lab.aside();
  /** Those whose acknowledgement arrived and is not recorded: the service takes no token twice, so a further start finds that out. */
  const unsure: string[] = [];
  for (const vault of lab.vaults) {
    await expectNothingLost({ ...lab, vault }, aside);
    expectFarFromLock(lab, vault.uuid);
    if (
      acknowledged(vault.uuid) === 2 &&
      (await aside.status(vault.uuid)).exchange?.state === "ending"
    )
      unsure.push(vault.uuid);
  }
  for (const uuid of told) expect([acknowledged(uuid), unsure.includes(uuid)]).toEqual([2, false]);
  expect(unsure.length).toBeLessThanOrEqual(1);

  const sent = sandbox.requests().length;
  const again = await here(lab, ...args);
  const outcomes = outcomesOf(again);
  if (args[0] === "ack") {
    expectExit(again, unsure.length === 0 ? 0 : 16);
    expect(
      outcomes.flatMap(({ uuid, error }) => (error?.code === "in-doubt" ? [uuid] : [])),
    ).toEqual(unsure);
    for (const uuid of unsure) expectExit(await here(lab, "get", uuid), 0);
  } else {
    expectExit(again, 0);
    expect(outcomes.map(({ uuid }) => uuid).toSorted()).toEqual(
      lab.vaults.map(({ uuid }) => uuid).toSorted(),
    );
  }
  const later = sandbox.requests().slice(sent);
  expect(later.filter(({ uuid }) => told.includes(uuid))).toEqual([]);
  for (const [index, { uuid }] of lab.vaults.entries()) {
    expect(acknowledged(uuid)).toBe(unsure.includes(uuid) ? 3 : 2);
    await inStep(lab, index);
  }
  return again.stdout;
}

/** Contents are delivered at least once. */
async function getsAgain(lab: RewindLab, before: string): Promise<void> {
  const again = await againGoesOn(lab, ["get", "--all", ...run], before);
  const delivered = [before, again].flatMap((stdout) => contentsOf({ stdout }));
  for (const { uuid } of lab.vaults)
    expect(delivered.find((line) => line.uuid === uuid)?.vault?.content).toBe(note);
}

/** The last delivery log: a child of a killed run may still write into its own. */
let paid = "";
const paying = (): string[] => [
  "get",
  "--all",
  ...run,
  "--exec",
  `cat >/dev/null; echo $VAULTSVC_DELIVERY_ID >>'${paid}'`,
];

const got = (lab: RewindLab): string => join(lab.machine.home, "got");
const files = (lab: RewindLab): string => join(lab.machine.home, "cards");
const list = (lab: RewindLab): string => join(lab.machine.home, "list.ndjson");

/** Of many vaults. */
export const many: Operation[] = [
  {
    name: "get of three vaults, to a file",
    seed: three(offlineNote),
    prepare: warmAll,
    shell: 'exec "$@" >got',
    args: () => ["get", "--all", ...run],
    goesOn: async (lab) => {
      await getsAgain(lab, existsSync(got(lab)) ? readFileSync(got(lab), "utf8") : "");
    },
  },
  {
    name: "get of three vaults",
    seed: three(offlineNote),
    prepare: warmAll,
    args: () => ["get", "--all", ...run],
    goesOn: getsAgain,
  },
  {
    name: "get of three vaults with --out-dir",
    onDisk: true,
    seed: three(offlineNote),
    prepare: async (lab) => {
      lab.machine.env["NODE_OPTIONS"] =
        `--require=${join(import.meta.dirname, "..", "fixed-names.cjs")}`;
      await warmAll(lab);
    },
    args: (lab) => ["get", "--all", ...run, "--out-dir", files(lab)],
    goesOn: async (lab, before) => {
      const done = outcomesOf({ stdout: before }).map(({ uuid }) => uuid);
      const read = (uuid: string): object =>
        JSON.parse(readFileSync(join(files(lab), `${uuid}.json`), "utf8")) as object;
      for (const uuid of done) expect(read(uuid)).toMatchObject({ uuid, vault: { content: note } });
      await againGoesOn(lab, ["get", "--all", ...run, "--out-dir", files(lab)], before);
      for (const { uuid } of lab.vaults)
        expect(read(uuid)).toMatchObject({ uuid, vault: { content: note } });
    },
  },
  {
    name: "get of three vaults with --exec",
    seed: three(offlineNote),
    prepare: warmAll,
    hasChildren: true,
    args: () => {
      paid = join(tempDir("paid"), "paid");
      return paying();
    },
    goesOn: async (lab, before) => {
      await againGoesOn(lab, paying(), before);
      const ids = new Set(readFileSync(paid, "utf8").trim().split("\n"));
      expect([...ids].toSorted()).toEqual(lab.vaults.map(({ uuid }) => `may-${uuid}`).toSorted());
    },
  },
  {
    name: "update of three vaults",
    seed: three(offlineCard),
    prepare: async (lab) => {
      await warmAll(lab);
      lab.machine.file(
        "list.ndjson",
        lab.vaults.map(({ uuid }) => JSON.stringify({ uuid, card: newCard })).join("\n"),
      );
    },
    args: (lab) => ["update", "--from", list(lab), ...run],
    goesOn: async (lab, before) => {
      const receipts = eventsOf({ stdout: before }).filter(({ event }) => event === "receipt");
      const updated = (uuid: string): string | undefined =>
        lab.service.sandbox.inspect(uuid).creditCard?.number;
      for (const { uuid } of receipts) expect(updated(uuid)).toBe(newCard.number);
      await againGoesOn(lab, ["update", "--from", list(lab), ...run], before);
      for (const { uuid } of lab.vaults) expect(updated(uuid)).toBe(newCard.number);
    },
  },
  {
    name: "ack of three vaults",
    seed: three(offlineNote),
    prepare: async (lab) => {
      await warmAll(lab);
      expectExit(await here(lab, "get", "--all", "-o", "ndjson", "--no-ack"), 0);
    },
    args: () => ["ack", "--all", "-o", "ndjson", "--concurrency", "1"],
    goesOn: async (lab, before) =>
      void (await againGoesOn(lab, ["ack", "--all", "-o", "ndjson"], before)),
  },
];
