import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { killHook } from "../../support/crash.ts";
import { Dice } from "../../support/dice.ts";
import { card, expectExit, importAll, outcomesOf, type Lab } from "../../support/lab.ts";
import type { Postgres } from "../../support/postgres.ts";
import type { RunResult } from "../../support/run-vault.ts";
import { isWhole } from "../../support/campaign.ts";
import { tempDir } from "../../support/cleanup.ts";
import { isWholeOperation, locationIn, placeOf, TeamWhole } from "./whole.ts";
import { copyKeys, type Machine } from "../../support/machine.ts";

const clockHook = join(import.meta.dirname, "..", "..", "support", "clock-jump.cjs");

/** What a command may end with whatever happens to the database and to its process: never a bug, a lost pair or a lock. */
const allowed = [0, 8, 11, 12, 13, 14];

const mayBeBusy = /this process was stopped, or without the database|is changing the whole state/;

const takesMany = (args: readonly string[]): boolean => args.includes("ndjson");

/** Of the commands, those on the whole state; the short form has few commands. */
const wholeShare = isWhole ? 0.04 : 0.12;

/** How long a stopped process stands still, in milliseconds: a lease lasts 15 s, and a transaction that stands still 30 s. */
const stalls = [500, 6000, 17_000];
const wholeStalls = isWhole ? [...stalls, 33_000] : stalls;

/** Machines with homes and clocks of their own, and one shared state. */
export class Team {
  readonly dice = new Dice("a team");
  readonly machines: readonly Machine[];
  /** One that knows the time, and that runs its commands in this process. */
  readonly quiet: Machine;
  readonly whole: TeamWhole;
  readonly codes = new Map<string, number>();
  readonly violations: string[] = [];
  commands = 0;
  wholeOperations = 0;
  readonly #lab: Lab;
  /** By vault, how many commands are at work on it: an administrator only acts where there is none. */
  readonly #busy = new Map<string, number>();

  private constructor(
    lab: Lab,
    quiet: Machine,
    machines: readonly Machine[],
    database: Pick<Postgres, "location" | "sql">,
  ) {
    this.#lab = lab;
    this.quiet = quiet;
    this.machines = machines;
    this.whole = new TeamWhole(machines, quiet, database, this.dice);
  }

  /** Ten machines, from five hours behind to four ahead, that know all vaults of the service. */
  static async open(
    lab: Lab,
    database: Pick<Postgres, "location" | "sql">,
    schema: string,
  ): Promise<Team> {
    const stateDir = locationIn(database, schema);
    const env = { PGPASSWORD: "password" };
    const quiet = lab.machine({ stateDir, env });
    expectExit(await quiet.vault("state", "init"), 0);
    await importAll(lab, quiet);
    const machines = Array.from({ length: 10 }, (_, n) => {
      const shift = { CLOCK_SHIFT: String((n - 5) * 3_600_000) };
      const machine = lab.machine({ stateDir, env: { ...env, ...shift } });
      copyKeys(quiet, machine);
      return machine;
    });
    return new Team(lab, quiet, machines, database);
  }

  /** One command after the other on one of the machines. */
  async work(place: number, isOver: () => boolean): Promise<void> {
    const machine = this.machines[place] as Machine;
    while (!isOver()) {
      const { uuid, kind } = this.dice.pick(this.#lab.service.vaults);
      const args = this.#patient(
        this.whole.next(machine, wholeShare) ?? this.#command(machine, uuid, kind),
      );
      const isMany = takesMany(args);
      const touchesAll = isMany || isWholeOperation(args);
      const touched = touchesAll ? this.#lab.service.vaults.map((vault) => vault.uuid) : [uuid];
      for (const one of touched) this.#busy.set(one, (this.#busy.get(one) ?? 0) + 1);
      const fate = this.dice.draw([
        { weight: 6, signal: "" },
        { weight: 3, signal: "SIGKILL" },
        { weight: 1, signal: "SIGSTOP" },
      ]).signal;
      const result = await this.#run(machine, args, fate);
      for (const one of touched) this.#busy.set(one, (this.#busy.get(one) ?? 0) - 1);
      this.#judge(touched, args, fate, result);
      this.whole.note(machine, args, result);
      if (result.code === 8) await this.#administrator(uuid);
      this.commands += 1;
      if (isWholeOperation(args)) this.wholeOperations += 1;
    }
  }

  #command(machine: Machine, uuid: string, kind: string): string[] {
    const update = (): string[] => [
      "update",
      uuid,
      "--card",
      `@${machine.file("card.json", card)}`,
    ];
    // Machines share a run for a while.
    const run = (operation: string): string[] => [
      "-o",
      "ndjson",
      "--run",
      `${operation}-${Math.floor(this.commands / 100)}`,
    ];
    const cards = this.#lab.service.vaults.filter((vault) => !vault.kind.startsWith("generic"));
    const list = (): string =>
      machine.file(
        "cards.ndjson",
        cards.map((vault) => JSON.stringify({ uuid: vault.uuid, card })).join("\n"),
      );
    const commands: { weight: number; args: () => string[] }[] = [
      { weight: 50, args: () => ["get", uuid] },
      { weight: 20, args: () => (kind.startsWith("generic") ? ["get", uuid] : update()) },
      { weight: 10, args: () => ["ack", uuid] },
      { weight: 8, args: () => ["get", uuid, "--discard-pending"] },
      { weight: 6, args: () => ["get", uuid, "--no-ack"] },
      { weight: 1, args: () => ["get", "--all", ...run("get")] },
      { weight: 0.5, args: () => ["update", "--from", list(), ...run("update")] },
      { weight: 0.5, args: () => ["ack", "--all", "-o", "ndjson"] },
      { weight: 3, args: () => ["status", uuid] },
      { weight: 2, args: () => ["export", uuid] },
      { weight: 1, args: () => ["state", "locks"] },
    ];
    return this.dice.draw(commands).args();
  }

  #patient(args: readonly string[]): string[] {
    return [...args, ...(takesMany(args) ? [] : ["--json"]), "--max-wait", "45s"];
  }

  /** Killed or stopped before one of its steps; a stopped one goes on after a while, which may be longer than its lease. */
  async #run(machine: Machine, args: string[], signal: string): Promise<RunResult> {
    const isOnWhole = isWholeOperation(args);
    const steps = takesMany(args) ? 400 : isOnWhole ? 120 : 60;
    const log = join(tempDir("steps"), "steps");
    const kill = {
      KILL_AT: String(signal === "" ? 0 : this.dice.between(1, steps)),
      KILL_SIGNAL: signal || "SIGKILL",
      KILL_LOG: log,
    };
    const env = { NODE_OPTIONS: `--require=${killHook} --require=${clockHook}`, ...kill };
    const run = machine.start({ env, timeoutMs: 180_000 }, ...args);
    if (signal === "SIGSTOP") {
      const isEnded = run.exit.then(() => true);
      while (!existsSync(log)) if (await Promise.race([isEnded, setTimeout(20, false)])) break;
      await Promise.race([isEnded, setTimeout(this.dice.pick(isOnWhole ? wholeStalls : stalls))]);
      run.kill("SIGCONT");
    }
    return await run.exit;
  }

  #judge(uuids: readonly string[], args: string[], signal: string, result: RunResult): void {
    const { code, stderr, stdout } = result;
    const isMany = takesMany(args);
    const isOnWhole = isWholeOperation(args);
    const name = `${args[0] ?? ""}${isMany ? " of many" : isOnWhole ? ` ${args[1]}` : ""}`;
    const key = `${name} ${result.signal ?? code ?? ""}`;
    this.codes.set(key, (this.codes.get(key) ?? 0) + 1);
    const said = `vault ${args.join(" ")} (${signal}): ${key}\n${stderr}`;
    // Whoever was stopped, or without the database, for too long leaves off; nobody waits for longer than a lease for anybody else, but for
    // operations on the whole state, several of which may follow each other, and which wait for everybody.
    const isAllowed = (exit: number, text: string): boolean =>
      allowed.includes(exit) ||
      (exit === 15 && (isOnWhole || mayBeBusy.test(text))) ||
      (exit === 2 && args[1] === "claim" && text.includes("is in use")) ||
      (exit === 2 && args[1] === "move" && text.includes("the state is already there"));
    if (code !== null && !isAllowed(code, stderr) && !(isMany && code === 16))
      this.violations.push(said);
    for (const { error } of isMany ? outcomesOf({ stdout }) : [])
      if (error !== undefined && !isAllowed(error.exitCode, error.message))
        this.violations.push(`${said}\n${JSON.stringify(error)}`);
    for (const uuid of uuids) {
      const { state, maxFailedAccesses, maxUnackedStarts } =
        this.#lab.service.sandbox.inspect(uuid);
      if (state !== "active" || maxFailedAccesses > 2 || maxUnackedStarts > 4)
        this.violations.push(`${uuid} came to a lock after ${said}`);
    }
  }

  /** Looks at the vault, finds nothing, and says so: what the guard asks of a person. */
  async #administrator(uuid: string): Promise<void> {
    if ((this.#busy.get(uuid) ?? 0) > 0) return;
    this.#busy.set(uuid, 1);
    this.#lab.service.sandbox.unlock(uuid);
    await this.#calmly(this.quiet, "guard", uuid, "--reset", "--yes");
    this.#busy.set(uuid, 0);
  }

  /** A command that nothing disturbs, after what refusals ask for. */
  async #calmly(machine: Machine, ...args: string[]): Promise<RunResult> {
    for (let tries = 0; ; tries += 1) {
      const wanted = this.whole.wanted(machine);
      const line = wanted ?? args;
      const result = await machine.vault(...line, "--json");
      this.whole.note(machine, line, result);
      if ((line === args && result.code !== 14) || tries > 8) return result;
    }
  }

  /** Nobody is at work: the state is found, brought back from where a machine has taken it, and finished what was interrupted. */
  async find(): Promise<string> {
    for (const machine of this.machines) {
      await this.#calmly(machine, "status");
      const home = this.whole.wayBack(machine);
      if (home === null) continue;
      expectExit(await this.#calmly(machine, "state", "init", "--state", home), 0);
      expectExit(await this.#calmly(machine, "state", "move", "--to", home, "--yes"), 0);
    }
    expectExit(await this.#calmly(this.quiet, "status"), 0);
    return placeOf(this.quiet);
  }

  /** Places beside the one where the state is that can be used, and hold anything. */
  async others(): Promise<string[]> {
    const found: string[] = [];
    for (const place of this.whole.places.filter((each) => each !== placeOf(this.quiet))) {
      const { code, stdout } = await this.quiet.vault("status", "--json", "--state", place);
      if (code === 0 && (JSON.parse(stdout) as { vaults: unknown[] }).vaults.length > 0)
        found.push(place);
    }
    return found;
  }

  /** Brings a vault in step, by what the exit codes ask for. */
  async settle(uuid: string): Promise<RunResult> {
    const get = async (): Promise<RunResult> =>
      await this.#calmly(this.quiet, "get", uuid, "--discard-pending");
    const first = await get();
    if (first.code !== 8) return first;
    this.#lab.service.sandbox.unlock(uuid);
    expectExit(await this.quiet.vault("guard", uuid, "--reset", "--yes"), 0);
    return await get();
  }
}
