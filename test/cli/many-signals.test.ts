import { errorOf, readJson } from "../support/machine.ts";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  acknowledged,
  contentsOf,
  expectExit,
  expectFarFromLock,
  expectInStep,
  manyVaults,
  offlineNote,
  outcomesOf,
  summaryOf,
} from "../support/lab.ts";
import type { ManyVaults } from "../support/lab.ts";
import type { RunResult } from "../support/run-vault.ts";
import { mayMount, resizeDisk, smallDisk } from "../support/disks.ts";

const notes = async (count: number, size = 20): Promise<ManyVaults> => {
  const contents = Array.from({ length: count }, (_, n) => `note ${n} `.padEnd(size, "x"));
  return await manyVaults(contents.map((content) => ({ ...offlineNote, content })));
};

/** Of a whole shell line in place of the program, which is `"$@"` there. */
const shell = (line: string): string[] => ["/bin/sh", "-c", line, "sh"];

/** Each child of --exec says that it has begun, and waits until it may go on. */
const waiting = `cat >/dev/null; echo "$$" >>begun; until test -e go; do sleep 0.05; done`;
const all = ["get", "--all", "-o", "ndjson", "--run", "may"];
const inPairs = [...all, "--concurrency", "2", "--exec", waiting];

const begun = (home: string): string[] =>
  existsSync(join(home, "begun"))
    ? readFileSync(join(home, "begun"), "utf8").trim().split("\n")
    : [];

async function hasBegun(home: string, count: number): Promise<void> {
  await expect.poll(() => begun(home).length, { interval: 10, timeout: 20_000 }).toBe(count);
}

const starts = ({ lab }: ManyVaults): number =>
  lab.service.sandbox.requests().filter(({ step }) => step === "start").length;

/** The same line has brought every vault to one acknowledgement, or to a second where it may, and nothing is open. */
async function expectWhole(
  { lab, machine, uuids }: ManyVaults,
  last: RunResult,
  twice: readonly string[] = [],
): Promise<void> {
  expectExit(last, 0);
  expect(summaryOf(last)).toMatchObject({ run: "may", done: uuids.length, failed: 0, skipped: 0 });
  const told = outcomesOf(last).map(({ uuid }) => uuid);
  expect(told.toSorted()).toEqual(uuids.toSorted());
  expect(acknowledged(lab)).toEqual(uuids.filter((uuid) => !twice.includes(uuid)));
  for (const uuid of uuids) {
    await expectInStep(lab, machine, uuid);
    expectFarFromLock(lab, uuid);
  }
}

describe("a run of many vaults", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    "%s lets the children of --exec finish, begins nothing more, and ends with %i",
    async (signal, code) => {
      const many = await notes(5);
      const { lab, machine } = many;
      const run = machine.start({}, ...inPairs);
      await hasBegun(machine.home, 2);
      run.kill(signal);
      machine.file("go", "");
      const result = await run.exit;
      expectExit(result, code);
      expect(outcomesOf(result).filter(({ ok }) => ok)).toHaveLength(2);
      expect(outcomesOf(result).filter(({ skipped }) => skipped === "stopped")).toHaveLength(3);
      const summary = { run: "may", done: 2, failed: 0, skipped: 3, calls: 4 };
      expect(summaryOf(result)).toMatchObject(summary);
      expect(result.stderr).toMatch(/run may was interrupted/);
      expect(errorOf(result).help).toMatch(/--run may/);
      expect([starts(many), acknowledged(lab).length]).toEqual([2, 2]);
      const again = await machine.start({}, ...inPairs).exit;
      expect(outcomesOf(again).filter(({ earlier }) => earlier)).toHaveLength(2);
      await expectWhole(many, again);
      expect(begun(machine.home)).toHaveLength(5);
    },
  );

  it("a second SIGINT ends the children at once, and leaves their exchanges as they are", async () => {
    const many = await notes(4);
    const { lab, machine, uuids } = many;
    const run = machine.start({}, ...inPairs);
    await hasBegun(machine.home, 2);
    const children = begun(machine.home).map(Number);
    run.kill("SIGINT");
    // Signals that follow each other at once count as one: it is repeated until it is taken.
    const repeated = setInterval(() => run.kill("SIGINT"), 150);
    const result = await run.exit;
    clearInterval(repeated);
    expect(result.code === 130 || result.signal === "SIGINT").toBe(true);
    for (const pid of children)
      await expect.poll(() => isRunning(pid), { timeout: 5000 }).toBe(false);
    expect([starts(many), acknowledged(lab).length]).toEqual([2, 0]);
    const left = await Promise.all(
      uuids.map(async (uuid) => (await machine.status(uuid)).exchange),
    );
    expect(left.filter((exchange) => exchange !== null)).toMatchObject([
      { state: "started", holdReason: null },
      { state: "started", holdReason: null },
    ]);
    machine.file("go", "");
    await expectWhole(many, await machine.start({}, ...inPairs).exit);
  });

  it("killed in the middle: the same line sends nothing for what was acknowledged", async () => {
    const many = await notes(20);
    const { lab, machine } = many;
    const args = [...all, "--concurrency", "4"];
    const run = machine.start({}, ...args);
    await run.waitFor(/(?:"outcome"[^]*){8}/);
    // From here on no end call is answered.
    const { sandbox, faults } = lab.service;
    lab.faults("get-end:hang*all");
    const from = sandbox.requests().length;
    const ends = () =>
      sandbox
        .requests()
        .slice(from)
        .filter(({ step }) => step === "end").length;
    await expect.poll(ends, { interval: 10, timeout: 20_000 }).toBe(4);
    run.kill("SIGKILL");
    faults.clear();
    const killed = await run.exit;
    const done = outcomesOf(killed).map(({ uuid }) => uuid);
    const before = sandbox.requests().length;
    const again = await machine.start({}, ...args).exit;
    // Such an end is known by its repetition, and its vault is read again.
    const twice = acknowledged(lab, 2);
    expect(twice).toHaveLength(4);
    await expectWhole(many, again, twice);
    const sent = new Set(
      sandbox
        .requests()
        .slice(before)
        .map(({ uuid }) => uuid),
    );
    expect(done.filter((uuid) => sent.has(uuid))).toEqual([]);
    const earlier = outcomesOf(again).filter((outcome) => outcome.earlier);
    expect(earlier.map(({ uuid }) => uuid)).toEqual(expect.arrayContaining(done));
    const delivered = [...contentsOf(killed), ...contentsOf(again)].map(({ uuid }) => uuid);
    expect(new Set(delivered).size).toBe(20);
  });
});

/** More than a pipe takes without a reader. */
const large = 200_000;

describe("the output of a run", () => {
  it("closed: what was not delivered is held, and not acknowledged", async () => {
    const many = await notes(6, large);
    const { lab, machine, uuids } = many;

    const through = shell('{ "$@"; echo $? >code; } | head -1');
    const result = await machine.start({ through }, ...all).exit;
    expect(readFileSync(join(machine.home, "code"), "utf8").trim(), result.stderr).toBe("16");
    expect(result.stderr).toMatch(
      /run may was stopped, because the output could not be written: it was closed/,
    );
    expect(result.stderr).toMatch(/contents that were not delivered are held, and were not ack/);
    // Nothing else is left: the same line would skip all of them.
    expect(errorOf(result).help).toMatch(
      /; vault get --all .*--run may --discard-pending .*; vault ack/,
    );
    expect(contentsOf(result).map(({ uuid }) => uuid)).toEqual(acknowledged(lab));
    expect(acknowledged(lab)).toHaveLength(1);
    await expectHeldOrUntouched(many, uuids);
    await expectWhole(many, await machine.vault(...all, "--discard-pending"));
  });

  it("not read: nothing is acknowledged that the pipe does not hold, and a signal ends the wait", async () => {
    const many = await notes(8, 30_000);
    const { lab, machine, uuids } = many;

    const unread = `"$@" | { until test -e go; do sleep 0.05; done; cat; }`;
    const run = machine.start({ through: shell(`echo $$ >pid; ${unread}`) }, ...all);
    await expect.poll(() => starts(many), { interval: 10, timeout: 20_000 }).toBe(8);
    await expect.poll(() => acknowledged(lab).length, { interval: 10, timeout: 20_000 }).toBe(2);
    const [program] = childrenOf(Number(readFileSync(join(machine.home, "pid"), "utf8")));
    process.kill(program ?? Number.NaN, "SIGTERM");
    await expect.poll(() => isRunning(program ?? Number.NaN), { timeout: 10_000 }).toBe(false);
    machine.file("go", "");
    const result = await run.exit;
    expect(result.stderr).toMatch(/run may/);
    expect(wholeContents(result.stdout)).toEqual(expect.arrayContaining(acknowledged(lab)));
    expect(acknowledged(lab)).toHaveLength(2);
    await expectHeldOrUntouched(many, uuids);
    await expectWhole(many, await machine.vault(...all, "--discard-pending"));
  });

  it.skipIf(!mayMount)(
    "a file on a full disk: what is in it whole is acknowledged, and nothing else",
    async () => {
      const many = await notes(8, 30_000);
      const { lab, machine, uuids } = many;
      const disk = smallDisk(128);

      const result = await machine.start({ through: shell(`"$@" >'${disk}/out'`) }, ...all).exit;
      expectExit(result, 16);
      expect(result.stderr).toMatch(
        /run may was stopped, because the output could not be written: the disk is full/,
      );
      const whole = wholeContents(readFileSync(join(disk, "out"), "utf8"));
      expect(whole).toEqual(expect.arrayContaining(acknowledged(lab)));
      expect(acknowledged(lab).length).toBeLessThan(5);
      await expectHeldOrUntouched(many, uuids);
      await expectWhole(many, await machine.vault(...all, "--discard-pending"));
    },
  );

  it.skipIf(!mayMount).each(["--discard-pending", "vault ack --all"])(
    "a folder on a full disk: each vault by itself; goes on with %s",
    async (way) => {
      const many = await notes(8, 30_000);
      const { lab, machine, uuids } = many;
      const disk = smallDisk(128);
      const folder = join(disk, "out");
      const args = [...all, "--out-dir", folder];
      const result = await machine.vault(...args);
      expectExit(result, 16);
      const failed = outcomesOf(result).filter(({ ok }) => !ok);
      expect(failed.length).toBeGreaterThan(3);
      for (const { error } of failed) {
        expect(error?.code).toBe("pending");
        expect(error?.message).toMatch(/disk is full/);
      }
      const kept = readdirSync(folder).filter((name) => /^[^.].*\.json$/.test(name));
      const done = acknowledged(lab).map((uuid) => `${uuid}.json`);
      expect(kept.toSorted()).toEqual(done.toSorted());
      for (const name of kept)
        expect(readJson(join(folder, name))).toMatchObject({ uuid: name.slice(0, 36) });
      await expectHeldOrUntouched(many, uuids);
      resizeDisk(disk, 1024);
      if (way === "--discard-pending")
        return await expectWhole(many, await machine.vault(...args, way));
      const undelivered = uuids.filter((uuid) => !acknowledged(lab).includes(uuid));
      await machine.ok("ack", "--all");
      const held = undelivered.filter((uuid) => acknowledged(lab).includes(uuid));
      await expectWhole(many, await machine.vault(...args), held);
    },
  );
});

/** Nothing but what was acknowledged is lost to the next command: it is held, or was not begun. */
async function expectHeldOrUntouched(
  { lab, machine }: ManyVaults,
  uuids: readonly string[],
): Promise<void> {
  const done = new Set(acknowledged(lab));
  for (const uuid of uuids) {
    if (done.has(uuid)) continue;
    const { exchange } = await machine.status(uuid);
    if (exchange !== null)
      expect(exchange).toMatchObject({ state: "held", holdReason: "delivery", delivered: false });
    expect(lab.service.sandbox.inspect(uuid).counts.ends).toBe(0);
  }
}

/** The vaults whose lines are whole. */
const wholeContents = (text: string): string[] =>
  contentsOf({ stdout: text }).map(({ uuid }) => uuid);

function isRunning(pid: number): boolean {
  try {
    // A zombie is one that has ended.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
