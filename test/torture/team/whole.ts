import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Dice } from "../../support/dice.ts";
import { documentOf, copyKeys, type Machine } from "../../support/machine.ts";
import type { Postgres } from "../../support/postgres.ts";
import type { RunResult } from "../../support/run-vault.ts";

/** Commands that change the whole state, or where it is. */
const operations = ["init", "move", "restore", "rekey", "claim"] as const;
export const isWholeOperation = ([first, second]: readonly string[]): boolean =>
  first === "state" && (operations as readonly unknown[]).includes(second);

const isDirectory = (place: string): boolean => place.startsWith("/");

/**
 * What operations on the whole state make of a team: they take it to other places and change its key. At each machine there is a
 * person, who does what a refusal asks for: by a command, which may be killed like any other, or by another setting.
 */
export class TeamWhole {
  /** All places of the state, the first one included; those that were made, and that nothing was moved to as far as anybody knows. */
  readonly places: string[];
  #empty: string[] = [];
  /** Where a state was moved to, by the place that it left. */
  readonly #forwarded = new Map<string, string>();
  readonly #backups: string[] = [];
  /** Commands that the person at a machine gives next. */
  readonly #wanted = new Map<Machine, string[]>();
  /** At work; and one more, which is not. */
  readonly #machines: readonly Machine[];
  readonly #quiet: Machine;
  readonly #database: Pick<Postgres, "location" | "sql">;
  readonly #dice: Dice;
  #made = 0;

  constructor(
    machines: readonly Machine[],
    quiet: Machine,
    database: Pick<Postgres, "location" | "sql">,
    dice: Dice,
  ) {
    this.#machines = machines;
    this.#quiet = quiet;
    this.#database = database;
    this.#dice = dice;
    this.places = [placeOf(quiet)];
  }

  get #all(): readonly Machine[] {
    return [...this.#machines, this.#quiet];
  }

  /** The command that the machine gives now, if there is one that does not depend on a vault. */
  next(machine: Machine, probability: number): string[] | null {
    const wanted = this.wanted(machine);
    if (wanted !== undefined) return wanted;
    // While it is at one machine, all others wait for it.
    const isAway = isDirectory(placeOf(machine));
    if (!this.#dice.chance(isAway ? 0.6 : probability)) return null;
    return isAway ? this.#move() : this.#operation(machine);
  }

  #operation(machine: Machine): string[] {
    return this.#dice
      .draw([
        { weight: 4, args: () => this.#move() },
        { weight: 1, args: () => this.#moveTo(this.#place(join(machine.home, this.#name()))) },
        { weight: 3, args: () => ["state", "rekey", "--yes"] },
        { weight: 2, args: () => this.#backup(machine) },
        { weight: 3, args: () => this.#restore(machine) },
        { weight: 1, args: () => this.#init() },
      ])
      .args();
  }

  #name(): string {
    return `place_${(this.#made += 1)}`;
  }

  #place(place: string): string {
    this.places.push(place);
    return place;
  }

  /** Another machine may do the same at that moment. */
  #init(): string[] {
    const args = [
      "state",
      "init",
      "--state",
      this.#place(locationIn(this.#database, this.#name())),
    ];
    if (this.#dice.chance(0.5)) this.#wanted.set(this.#dice.pick(this.#machines), args);
    return args;
  }

  #move(): string[] {
    return this.#empty.length === 0 ? this.#init() : this.#moveTo(this.#dice.pick(this.#empty));
  }

  #moveTo(to: string): string[] {
    return ["state", "move", "--to", to, "--yes"];
  }

  #backup(machine: Machine): string[] {
    return ["state", "backup", join(machine.home, `${this.#name()}.db`)];
  }

  #restore(machine: Machine): string[] {
    const file = this.#dice.pick(this.#backups) as string | undefined;
    return file === undefined ? this.#backup(machine) : ["state", "restore", file, "--yes"];
  }

  /** Takes note of how a command has ended, and does what it asks for. */
  note(machine: Machine, args: readonly string[], result: RunResult): void {
    if (result.code === 0) this.#noteDone(args, result);
    else if (result.code === 14) this.#follow(machine, args, result.stderr);
  }

  #noteDone(
    [, operation = "", third = "", fourth = ""]: readonly string[],
    result: RunResult,
  ): void {
    if (operation === "init" && !this.#empty.includes(fourth)) this.#empty.push(fourth);
    if (operation === "backup") this.#backups.push(third);
    if (operation !== "move") return;
    const { moved } = documentOf(result) as unknown as { moved?: { from: string; to: string } };
    if (moved !== undefined) this.#noteMoved(moved.from, moved.to);
  }

  #noteMoved(from: string, to: string): void {
    this.#forwarded.set(from, to);
    this.#empty = this.#empty.filter((place) => place !== to);
    for (const machine of this.#all) if (placeOf(machine) === from) this.#goTo(machine, to);
  }

  /** The person hears where it is by now, and sets that, unless it is at another machine. */
  #goTo(machine: Machine, place: string): void {
    let to = place;
    for (let next: string | undefined = to; next !== undefined; next = this.#forwarded.get(to))
      to = next;
    if (!isDirectory(to) || to.startsWith(machine.home)) machine.env["VAULTSVC_STATE"] = to;
  }

  #follow(machine: Machine, args: readonly string[], said: string): void {
    const [, from = "", to = ""] =
      /the state (\S+) was moved to (\S+); nothing was sent/.exec(said) ?? [];
    if (to !== "") return this.#noteMoved(from, to);
    const [, occupied = ""] = /another state is there already: (\S+); /.exec(said) ?? [];
    this.#empty = this.#empty.filter((place) => place !== occupied);
    const [, left = "", target = ""] =
      /the move of the state from (\S+) to (\S+) was interrupted/.exec(said) ?? [];
    if (left !== "" && (!isDirectory(target) || target.startsWith(machine.home))) {
      // Of a database that is away, nobody says that it is gone for good.
      const isLeft = isDirectory(target) && this.#dice.chance(0.4);
      const rest = isLeft ? ["claim"] : ["move", "--to", target];
      this.#wanted.set(machine, ["state", ...rest, "--state", left, "--yes"]);
    }
    const [, absent] = /"argv":\["vault","state","init","--state","([^"]+)"\]/.exec(said) ?? [];
    if (absent !== undefined) this.#wanted.set(machine, ["state", "init", "--state", absent]);
    const [, gone] =
      /"argv":\["vault","state","claim","--state","([^"]+)"\],"note":"if the other/.exec(said) ??
      [];
    if (gone !== undefined) this.#wanted.set(machine, ["state", "claim", "--state", gone, "--yes"]);
    // One of them says so for all.
    if (said.includes("is a copy (") && (machine === this.#quiet || this.#dice.chance(0.5)))
      this.#wanted.set(machine, ["state", "claim", "--yes"]);
    const [, key = ""] = /encrypted with key ([0-9a-f]{16})/.exec(said) ?? [];
    if (key !== "" && args[1] !== "restore") this.#carry(machine, key);
  }

  /** Brings the machine a key from one that has it; where none has, the state has another one by now. */
  #carry(machine: Machine, id: string): void {
    const fileOf = ({ configDir }: Machine): string => join(configDir, "keys", `${id}.key`);
    const holder = this.#all.find((each) => existsSync(fileOf(each)));
    if (holder !== undefined) copyKeys(holder, machine);
  }

  /** What a refusal has asked the person at the machine for. */
  wanted(machine: Machine): string[] | undefined {
    const args = this.#wanted.get(machine);
    this.#wanted.delete(machine);
    return args;
  }

  /** A new place in the database for a machine that has the state; null for the others. */
  wayBack(machine: Machine): string | null {
    return isDirectory(placeOf(machine))
      ? this.#place(locationIn(this.#database, this.#name()))
      : null;
  }

  /**
   * What the administrator of the database does: the state is dumped and loaded again, which makes it a copy; or a place that nothing
   * was moved to is dropped. The server may be away, and others may have the rows.
   */
  async administer(): Promise<void> {
    const isDropped = this.#dice.chance(0.7) && this.#empty.length > 0;
    const place = isDropped ? this.#dice.pick(this.#empty) : placeOf(this.#quiet);
    const schema = new URL(place).searchParams.get("schema") ?? "";
    const isUsed = `SELECT FROM ${schema}.meta WHERE name = 'taken' UNION ALL SELECT FROM ${schema}.vaults`;
    const drop = `DO $$ BEGIN
      LOCK TABLE ${schema}.state, ${schema}.meta, ${schema}.vaults IN ACCESS EXCLUSIVE MODE;
      IF NOT EXISTS (${isUsed}) THEN DROP SCHEMA ${schema} CASCADE; END IF;
    END $$`;
    const reload = `UPDATE ${schema}.identity SET id = id`;
    await this.#database
      .sql(`SET lock_timeout = '2s'; ${isDropped ? drop : reload}`)
      .catch(() => undefined);
  }
}

/** The place that a machine is set to. */
export const placeOf = (machine: Machine): string => machine.env["VAULTSVC_STATE"] ?? "";

/** As the program shows it: without the password, which is in the environment. */
export const locationIn = (database: Pick<Postgres, "location" | "sql">, schema: string): string =>
  database.location(schema).replace(/:[^:@]*@/, "@");
