import {
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
import { expect } from "vitest";
import { parseCredentials } from "../../../src/exchange/credentials.ts";
import { pairsOf } from "../../../src/exchange/recovery.ts";
import {
  card,
  expectExit,
  expectFarFromLock,
  note,
  offlineCard,
  offlineNote,
  onlineCard,
} from "../../support/lab.ts";
import { documentOf, errorOf, pairIn } from "../../support/machine.ts";
import type { Operation } from "./operation.ts";
import {
  ackGoesOn,
  get,
  getGoesOn,
  given,
  here,
  inStep,
  nothingLost,
  warm,
  wholeDocument,
} from "./operation.ts";
import type { RewindLab } from "../rewind-lab.ts";
import { runKilledAt } from "../../support/crash.ts";
import { device, otherCard } from "../../support/examples.ts";

const recoveryFile = ({ machine }: RewindLab): string => join(machine.home, "volume", "pair.json");

/** All that outlives a container is on its volume. */
const fromFile = (lab: RewindLab): string[] => {
  const file = recoveryFile(lab);
  return get(lab, "--kind", lab.vault.kind, "--credentials", `@${file}`, "--credentials-out", file);
};

/** SQLite moves the WAL of a database into it at the commit after which it has 1,000 pages, and begins it anew then. */
async function fillWal(lab: RewindLab): Promise<void> {
  const file = join(lab.machine.stateDir, "vault.db");
  const db = new DatabaseSync(file);
  db.exec("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0");
  const fill = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('filling', ?)");
  for (let n = 0; statSync(`${file}-wal`).size < 990 * 4120; n += 1) fill.run(String(n));
  // Closing it would empty the WAL.
  await lab.keep();
  db.close();
  await lab.rewind();
}

/** Of get, update and ack, from where nothing was left over. */
const fresh: Operation[] = [
  {
    name: "get",
    onDisk: true,
    seed: [offlineNote],
    prepare: warm,
    args: get,
    goesOn: async (lab) => void (await getGoesOn(lab)),
  },
  {
    name: "run",
    seed: [offlineNote],
    prepare: warm,
    hasChildren: true,
    args: ({ vault }) => ["run", vault.uuid, "--stdin", "--", "cat"],
    goesOn: async (lab, printed) => {
      const { acknowledged } = lab.service.sandbox.inspect(lab.vault.uuid).counts;
      // The first one was of the preparation.
      if (acknowledged > 1) expect(wholeDocument(printed)?.vault.content).toBe(note);
      await getGoesOn(lab);
    },
  },
  {
    name: "get, which moves the WAL into the database",
    onDisk: true,
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      await fillWal(lab);
    },
    args: get,
    goesOn: async (lab) => void (await getGoesOn(lab)),
  },
  {
    name: "the first get",
    onDisk: true,
    seed: [onlineCard],
    prepare: async (lab) => {
      lab.machine.env["PAIR0"] = JSON.stringify({
        ...lab.vault.credentials,
        hashedPin: onlineCard.hashedPin,
      });
      lab.machine.env["VAULTSVC_DEVICE"] = JSON.stringify(device);
      return Promise.resolve();
    },
    args: (lab) => get(lab, ...given(lab)),
    goesOn: async (lab) => {
      await nothingLost(lab);
      const again = await lab.machine.vault(...get(lab, ...given(lab)));
      // A later pair is stored, with which it goes on.
      expectExit(again, 0, 4);
      if (again.code === 4) await getGoesOn(lab, { creditCard: card });
      else expect(documentOf(again).vault.creditCard).toEqual(card);
      await inStep(lab);
      expect(lab.service.sandbox.inspect(lab.vault.uuid).counts.failed).toBe(0);
      return again.code;
    },
  },
  {
    name: "the last read of a limited vault",
    seed: [{ ...offlineNote, maxUsage: 2 }],
    prepare: warm,
    args: get,
    goesOn: async (lab, printed) => {
      const { sandbox } = lab.service;
      const arrived = wholeDocument(printed)?.vault.content === note;
      if (sandbox.inspect(lab.vault.uuid).state !== "active") expect(arrived).toBe(true);
      else await nothingLost(lab);
      const next = await here(lab, ...get(lab));
      const again = next.code === 0 && wholeDocument(next.stdout)?.vault.content === note;
      expect(arrived || again, `exit ${next.code} ${next.stderr}`).toBe(true);
      // Deleted by its last read: nothing else is wrong.
      if (!again)
        expect(errorOf(next)).toMatchObject({
          code: "locked",
          message: expect.stringMatching(/gone/) as string,
        });
      expectFarFromLock(lab, lab.vault.uuid);
      return arrived ? "arrived" : "read again";
    },
  },
  {
    name: "get with a throw-away state and --credentials-out",
    onDisk: true,
    seed: [offlineNote],
    prepare: async (lab) => {
      lab.machine.env["NODE_OPTIONS"] =
        `--require=${join(import.meta.dirname, "..", "fixed-names.cjs")}`;
      mkdirSync(join(lab.machine.home, "volume"));
      lab.machine.env["PAIR0"] = JSON.stringify(lab.vault.credentials);
      return Promise.resolve();
    },
    args: (lab) => get(lab, ...given(lab), "--credentials-out", recoveryFile(lab)),
    goesOn: async (lab, _, ended) => {
      // The container is gone, and with it all that was not on its volume.
      for (const folder of [lab.machine.stateDir, lab.machine.configDir])
        rmSync(folder, { recursive: true, force: true });
      const file = recoveryFile(lab);
      if (!existsSync(file)) writeFileSync(file, JSON.stringify(lab.vault.credentials));
      const pairs = pairsOf(parseCredentials(readFileSync(file, "utf8"), file));
      expect(pairs.filter((pair) => lab.service.sandbox.accepts(lab.vault.uuid, pair)).length).toBe(
        1,
      );
      if (ended) expect(pairs.length).toBe(1);
      const next = await here(lab, ...fromFile(lab));
      expectExit(next, 0);
      expect(documentOf(next).vault.content).toBe(note);
      expect(lab.service.sandbox.accepts(lab.vault.uuid, pairIn(file))).toBe(true);
      expect(readdirSync(join(lab.machine.home, "volume"))).toEqual([
        ".pair.json.vault-lock",
        "pair.json",
      ]);
      expectFarFromLock(lab, lab.vault.uuid);
      expect(lab.service.sandbox.inspect(lab.vault.uuid).counts.failed).toBe(0);
    },
  },
  {
    name: "update",
    onDisk: true,
    seed: [offlineCard],
    prepare: async (lab) => {
      await warm(lab);
      lab.machine.file("card.json", otherCard);
    },
    args: (lab) => [
      "update",
      lab.vault.uuid,
      "--card",
      `@${join(lab.machine.home, "card.json")}`,
      "--json",
    ],
    goesOn: async (lab, printed) => {
      const { settled, vault } = await getGoesOn(lab, {});
      // A start that the state does not know of is dropped; one whose pair is stored is what the user had asked for.
      if (settled.length > 0)
        expect(settled).toMatchObject([{ operation: "update", outcome: "applied" }]);
      expect([card.number, otherCard.number]).toContain(vault.creditCard?.number);
      if (settled.length > 0 || printed !== "") expect(vault.creditCard).toEqual(otherCard);
    },
  },
  {
    name: "ack of a held exchange",
    onDisk: true,
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      expectExit(await here(lab, ...get(lab, "--no-ack")), 0);
    },
    args: ({ vault }) => ["ack", vault.uuid, "--json"],
    goesOn: ackGoesOn,
  },
];

/** Longer than a token of the lab lives. */
const long = 24 * 3_600_000;

/** A get that was killed before the n-th step of this name (test/support/kill-at.cjs), counted from 0. */
async function leave(lab: RewindLab, name: string, n = 0): Promise<void> {
  await lab.keep();
  const { steps } = await runKilledAt(0, lab.machine, get(lab));
  await lab.rewind();
  const index = steps.flatMap((step, at) => (step === name ? [at] : []))[n] ?? -1;
  expect((await runKilledAt(index + 1, lab.machine, get(lab))).killed).toBe(true);
}

async function leftIn(lab: RewindLab, state: string): Promise<void> {
  expect((await (await lab.aside()).status(lab.vault.uuid)).exchange?.state ?? "intent").toBe(
    state,
  );
}

/** An exchange whose end call went unanswered until its token had died. */
async function leaveInDoubt(lab: RewindLab, step: string, n: number): Promise<void> {
  await warm(lab);
  await leave(lab, step, n);
  await leftIn(lab, "ending");
  lab.clock.ahead = long;
  expectExit(await here(lab, "ack", lab.vault.uuid), 12);
  await leftIn(lab, "in-doubt");
}

const left: Operation[] = (
  [
    ["intent", async (lab) => await leave(lab, "send")],
    ["intent, whose start had arrived,", async (lab) => await leave(lab, "receive")],
    ["started", async (lab) => await leave(lab, "stdout")],
    ["ending", async (lab) => await leave(lab, "send", 1)],
    ["ending, whose end call had arrived,", async (lab) => await leave(lab, "receive", 1)],
  ] as [string, (lab: RewindLab) => Promise<void>][]
).map(([state, leaving]) => ({
  name: `get after an exchange left at ${state}`.replace(/,$/, ""),
  seed: [offlineNote],
  prepare: async (lab) => {
    await warm(lab);
    await leaving(lab);
    await leftIn(lab, state.replace(/,.*/, ""));
  },
  args: get,
  goesOn: async (lab) => void (await getGoesOn(lab)),
}));

const held: Operation[] = [
  {
    name: "ack of an exchange left before its end call",
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      await leave(lab, "send", 1);
      await leftIn(lab, "ending");
    },
    args: ({ vault }) => ["ack", vault.uuid, "--json"],
    goesOn: ackGoesOn,
  },
  {
    name: "get --discard-pending after a held exchange",
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      expectExit(await here(lab, ...get(lab, "--no-ack")), 0);
    },
    args: (lab) => get(lab, "--discard-pending"),
    goesOn: async (lab) => {
      await nothingLost(lab);
      const next = await here(lab, ...get(lab));
      expectExit(next, 0, 11);
      // Held still: it is run again.
      if (next.code === 11) await getGoesOn(lab, { content: note }, "--discard-pending");
      await inStep(lab);
    },
  },
  {
    name: "get after an exchange in doubt, not acknowledged",
    seed: [offlineNote],
    prepare: async (lab) => await leaveInDoubt(lab, "send", 1),
    args: get,
    goesOn: async (lab) => void (await getGoesOn(lab)),
  },
  {
    name: "get after an exchange in doubt, acknowledged",
    seed: [offlineNote],
    prepare: async (lab) => await leaveInDoubt(lab, "receive", 1),
    args: get,
    goesOn: async (lab) => void (await getGoesOn(lab)),
  },
];

/** Of one vault: exchanges from their start, after others that were left, and of held ones. */
export const exchanges: readonly Operation[] = [...fresh, ...left, ...held];
