import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { plainActions } from "../../src/sandbox/faults.ts";
import { runKilledAt } from "../support/crash.ts";
import { Dice } from "../support/dice.ts";
import {
  card,
  expectExit,
  expectFarFromLock,
  expectInStep,
  firstGetArgs,
  offlineCard,
  offlineNote,
  onlineCard,
  openLab,
  outcomesOf,
} from "../support/lab.ts";
import type { Lab } from "../support/lab.ts";
import { documentOf, type Machine } from "../support/machine.ts";
import { memoryReport, type RunResult } from "../support/run-vault.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { journalProblems, localJournal } from "../support/state-file.ts";

const minutes = isWhole ? 50 : 0.25;
/** Processes at a time: most of their time they wait for each other and for the service. */
const workers = 3;
const seed = Array.from({ length: isWhole ? 24 : 3 }, (_, n) => [
  { ...offlineNote, content: `note ${n}` },
  { ...offlineCard, ...(n % 2 === 0 ? { maxUsage: 1_000_000 } : {}) },
  onlineCard,
]).flat();

const faults = [
  ...plainActions,
  "status=500",
  "error-after=502",
  "status=429,retry-after=0",
  "delay=3s",
];

/** What a command may end with while the service misbehaves: never a bug, a lost pair, a lock, or a state that is none. */
const allowed = [0, 6, 8, 9, 10, 11, 12, 13, 15];

const takesMany = (args: readonly string[]): boolean => args.includes("ndjson");

/** The sizes that must not grow with the number of commands but by what the journal keeps. */
interface Sizes {
  commands: number;
  database: number;
  wal: number;
  files: number;
  kilobytes: number;
}

class LongRun {
  readonly lab: Lab;
  readonly machine: Machine;
  readonly dice = new Dice("a long run");
  readonly sizes: Sizes[] = [];
  readonly codes = new Map<string, number>();
  readonly violations: string[] = [];
  commands = 0;
  /** By vault, how many commands are at work on it: an administrator only acts where there is none. */
  readonly #busy = new Map<string, number>();

  constructor(lab: Lab) {
    this.lab = lab;
    this.machine = lab.machine();
  }

  async work(until: number, worker: number): Promise<void> {
    while (Date.now() < until && this.violations.length === 0) {
      const { uuid, kind } = this.dice.pick(this.lab.service.vaults);
      for (let n = this.dice.between(-2, 2); n > 0; n -= 1) {
        const call = `${this.dice.pick(["get", "update"])}-${this.dice.pick(["start", "end"])}`;
        this.lab.faults(`${call}/${uuid}:${this.dice.pick(faults)}`);
      }
      const args = this.#command(uuid, kind, worker);
      const isMany = takesMany(args);
      const touched = isMany ? this.lab.service.vaults.map((vault) => vault.uuid) : [uuid];
      for (const one of touched) this.#busy.set(one, (this.#busy.get(one) ?? 0) + 1);
      const result = await this.#run(args, isMany ? 150 : 45);
      for (const one of touched) this.#busy.set(one, (this.#busy.get(one) ?? 0) - 1);
      this.#judge(touched, args, result);
      if (result.code === 8) await this.#administrator(uuid);
      this.commands += 1;
      if (this.commands % 100 === 0) await this.#measure();
    }
  }

  #command(uuid: string, kind: string, worker: number): string[] {
    const file = join(this.machine.home, `out-${worker}.json`);
    rmSync(file, { force: true });
    const update = (): string[] =>
      kind === "generic/offline" || kind.endsWith("/online")
        ? ["get", uuid, "--json"]
        : [
            "update",
            uuid,
            "--card",
            `@${this.machine.file(`card-${worker}.json`, card)}`,
            "--json",
          ];
    // Commands that follow each other share a run, and each other's kills. A run has one operation and one delivery.
    const run = (what: string): string[] => [
      "-o",
      "ndjson",
      "--run",
      `${what}-${Math.floor(this.commands / 40)}`,
    ];
    const commands: { weight: number; args: () => string[] }[] = [
      { weight: 40, args: () => ["get", uuid, "--json"] },
      { weight: 15, args: update },
      { weight: 12, args: () => ["ack", uuid, "--json"] },
      { weight: 8, args: () => ["get", uuid, "--no-ack", "--json"] },
      { weight: 8, args: () => ["get", uuid, "--discard-pending", "--json"] },
      { weight: 6, args: () => ["get", uuid, "--credentials-out", file, "--json"] },
      {
        weight: 2,
        args: () => [
          "get",
          "--all",
          ...(this.dice.chance(0.5)
            ? [...run("files"), "--out-dir", join(this.machine.home, "many")]
            : run("lines")),
        ],
      },
      {
        weight: 1,
        args: () => ["update", "--from", this.#list(), ...run("update")],
      },
      { weight: 1, args: () => ["ack", "--all", "-o", "ndjson"] },
      { weight: 4, args: () => ["status", uuid, "--json"] },
      { weight: 2, args: () => ["export", uuid, "--json"] },
      { weight: 2, args: () => ["guard", uuid, "--json"] },
      { weight: 1, args: () => ["status", "--history", "--json"] },
      {
        weight: 1,
        args: () => [
          "state",
          "backup",
          join(this.machine.home, `backup-${worker}-${this.commands}`),
          "--json",
        ],
      },
      { weight: 0.5, args: () => ["state", "rekey", "--yes", "--json"] },
      { weight: 0.5, args: () => ["audit-replay", "--json"] },
    ];
    return this.dice.draw(commands).args();
  }

  /** The same contents for all that take a card. */
  #list(): string {
    const cards = this.lab.service.vaults.filter(({ kind }) => kind === "credit-card/offline");
    return this.machine.file(
      "cards.ndjson",
      cards.map(({ uuid }) => JSON.stringify({ uuid, card })).join("\n"),
    );
  }

  /** One of six is killed, before one of so many steps. */
  async #run(args: string[], steps: number): Promise<RunResult> {
    const limits =
      args[1] === "rekey" ? ["--max-wait", "2m"] : ["--timeout", "1500ms", "--max-wait", "4s"];
    const timeoutMs = 180_000;
    if (this.dice.between(1, 6) > 1)
      return await this.machine.start({ timeoutMs }, ...args, ...limits).exit;
    return (
      await runKilledAt(this.dice.between(1, steps), this.machine, [...args, ...limits], {
        timeoutMs,
      })
    ).result;
  }

  #judge(uuids: readonly string[], args: string[], result: RunResult): void {
    const isMany = takesMany(args);
    const key = `${args[0] ?? ""}${isMany ? " of many" : ""} ${result.signal ?? result.code ?? ""}`;
    this.codes.set(key, (this.codes.get(key) ?? 0) + 1);
    const said = `vault ${args.join(" ")}: ${key}\n${result.stderr}\n${isMany ? result.stdout : ""}`;
    const isAllowed =
      result.code === null || allowed.includes(result.code) || (isMany && result.code === 16);
    if (!isAllowed) this.violations.push(said);
    for (const { ok, error } of isMany ? outcomesOf(result) : [])
      if (!ok && error !== undefined && !allowed.includes(error.exitCode))
        this.violations.push(said);
    for (const uuid of uuids) {
      const { state, maxFailedAccesses, maxUnackedStarts } = this.lab.service.sandbox.inspect(uuid);
      if (state !== "active" || maxFailedAccesses > 2 || maxUnackedStarts > 4)
        this.violations.push(`${uuid} came to a lock after ${said}`);
    }
  }

  /** Looks at the vault, finds nothing, and says so: what the guard asks of a person. */
  async #administrator(uuid: string): Promise<void> {
    if ((this.#busy.get(uuid) ?? 0) > 0) return;
    this.#busy.set(uuid, 1);
    this.lab.service.sandbox.unlock(uuid);
    const reset = await this.machine.vault(
      "guard",
      uuid,
      "--reset",
      "--yes",
      "--json",
      "--max-wait",
      "4s",
    );
    if (reset.code !== 0 && reset.code !== 15) this.violations.push(reset.stderr);
    this.#busy.set(uuid, 0);
  }

  async #measure(): Promise<void> {
    const { stateDir } = this.machine;
    const size = (name: string): number =>
      statSync(join(stateDir, name), { throwIfNoEntry: false })?.size ?? 0;
    const memory = memoryReport();
    await this.machine.okWith({ env: memory.env }, "status", "--json");
    this.sizes.push({
      commands: this.commands,
      database: size("vault.db"),
      wal: size("vault.db-wal"),
      files: readdirSync(stateDir, { recursive: true }).length,
      kilobytes: memory.kilobytes(),
    });
    for (const name of readdirSync(this.machine.home))
      if (name.startsWith("backup-")) rmSync(join(this.machine.home, name));
  }

  /** The service is well again: every vault comes back in step by what the exit codes ask for. */
  async settle(uuid: string): Promise<RunResult> {
    let result = await this.machine.vault("get", uuid, "--json");
    for (let tries = 0; tries < 4 && result.code !== 0; tries += 1) {
      // An administrator has looked: the service has counted nothing.
      if (result.code === 8 || result.code === 10) {
        this.lab.service.sandbox.unlock(uuid);
        const what = result.code === 8 ? ["--yes"] : ["--unanswered"];
        await this.machine.ok("guard", uuid, "--reset", ...what);
      }
      if (result.code === 11)
        expectExit(await this.machine.vault("ack", uuid, "--json"), 0, 12, 13);
      result = await this.machine.vault("get", uuid, "--json");
    }
    return result;
  }
}

it(`mixed commands of ${workers} processes against a service that fails at random, for ${minutes} minutes`, async () => {
  // Tokens die while commands are repeated, and while held exchanges wait.
  const lab = await openLab(seed, { policy: { tokenTtlMs: 4000 } });
  const run = new LongRun(lab);
  const { machine } = run;
  for (const vault of lab.service.vaults)
    await machine.ok(...firstGetArgs(machine, vault), "--json");
  const until = Date.now() + minutes * 60_000;
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => await run.work(until, worker)),
  );
  expect(run.violations).toEqual([]);

  lab.service.faults.clear();
  for (const { uuid } of lab.service.vaults) {
    const last = await run.settle(uuid);
    expectExit(last, 0);
    const held = lab.service.sandbox.inspect(uuid);
    const { vault } = documentOf(last);
    expect(vault.content ?? vault.creditCard?.number).toBe(held.content ?? held.creditCard?.number);
    await expectInStep(lab, machine, uuid);
    expectFarFromLock(lab, uuid);
  }
  await machine.ok("doctor", "--offline", "--fail-on", "error");
  expect(journalProblems(...localJournal(machine))).toEqual([]);
  const replay = await machine.ok("audit-replay", "--json");
  expect((JSON.parse(replay.stdout) as { skipped: unknown[] }).skipped).toEqual([]);
  expectFlat(run.sizes);
  process.stdout.write(
    `${JSON.stringify(Object.fromEntries([...run.codes].sort()))}\n${run.sizes.map((s) => JSON.stringify(s)).join("\n")}\n`,
  );
  tried("commands of a long run with random faults and kills", run.commands);
});

/** Between the first third and the end: nothing grows but the database, by as much a command as before. */
function expectFlat(sizes: readonly Sizes[]): void {
  const last = sizes.at(-1);
  const first = sizes[Math.floor(sizes.length / 3)];
  const start = sizes[0];
  if (!isWhole || last === undefined || first === undefined || start === undefined) return;
  expect(last.files).toBeLessThanOrEqual(first.files + 4);
  expect(Math.max(...sizes.map(({ wal }) => wal))).toBeLessThan(16_000_000);
  expect(last.kilobytes).toBeLessThan(first.kilobytes * 1.1);
  const perCommand = (from: Sizes, to: Sizes): number =>
    (to.database - from.database) / (to.commands - from.commands);
  expect(perCommand(first, last)).toBeLessThan(perCommand(start, first) * 1.25);
}
