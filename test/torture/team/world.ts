import type { StoredDocument } from "../../support/stored-vaults.ts";
import pg from "pg";
import type { Reply } from "../../../src/exchange/ports.ts";
import { Dice } from "../../support/dice.ts";
import { SchemaCopy, sharedState, type SharedState } from "../../support/shared-state.ts";
import { tcpProxy, type Proxy } from "../../support/proxies.ts";
import { postgres } from "../../support/postgres.ts";
import { raising } from "../../../src/store/document.ts";
import { dialectOf } from "../../../src/store/postgres/schema.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import { TeamProcess, TeamService, type Command } from "./process.ts";
import { serviceName } from "../../support/in-process.ts";

/** What a command may end with, whatever happens. */
const allowed = [
  "ok",
  "busy",
  "state",
  "guard",
  "pending",
  "in-doubt",
  "network",
  "service",
  "no-credentials",
];

const commands: { weight: number; command: Command }[] = [
  { weight: 6, command: "get" },
  { weight: 2, command: "update" },
  { weight: 2, command: "ack" },
  { weight: 1, command: "get --no-ack" },
  { weight: 2, command: "get --discard-pending" },
];

let proxies: Promise<Proxy[]> | null = null;

/** One vault, one service, and processes that share a state: what happens next is drawn by lot. */
export class TeamWorld {
  readonly violations: string[] = [];
  readonly #state: SharedState;
  readonly #dice: Dice;
  readonly #proxies: readonly Proxy[];
  readonly #service: TeamService;
  readonly #processes: TeamProcess[] = [];
  /** Processes whose command was under way when the rows went back: these may lack what it has counted, and that it has the vault. */
  readonly #unsure = new Set<TeamProcess>();
  /** Whether the rows have gone back since all leases ended: who had one cannot know that somebody else may have the vault by now. */
  #areLeasesLost = false;
  readonly #log: string[] = [];
  #standby: SchemaCopy | null = null;
  #isCopied = false;
  /** Whether the rows have gone back: what they lack then, a machine has. */
  #hasGoneBack = false;
  readonly #sql: pg.Client;
  readonly #schema: string;

  private constructor(
    state: SharedState,
    seed: string,
    proxies: readonly Proxy[],
    sql: pg.Client,
    schema: string,
  ) {
    this.#state = state;
    this.#schema = schema;
    this.#sql = sql;
    this.#dice = new Dice(seed);
    this.#proxies = proxies;
    this.#service = new TeamService(() => state.clock.now(), this.#dice, this.#log);
  }

  /** With failovers there is a copy of the rows, which they go back to. */
  static async open(seed: string, hasFailovers: boolean): Promise<TeamWorld> {
    proxies ??= Promise.all([
      tcpProxy(await postgres()),
      tcpProxy(await postgres()),
      tcpProxy(await postgres()),
    ]);
    const state = await sharedState();
    const schema = new URL(state.location).searchParams.get("schema") ?? "";
    const sql = new pg.Client({ connectionString: state.location });
    await sql.connect();
    await sql.query(`SET search_path = ${schema}`);
    const world = new TeamWorld(state, seed, await proxies, sql, schema);
    for (const place of world.#proxies.keys()) world.#processes[place] = world.#another(place);
    const { store, clock } = world.#state;
    const session = await store.lock(serviceName, world.#service.uuid, {
      deadline: clock.elapsed(),
      signal: new AbortController().signal,
    });
    const [vault] = world.#service.sandbox.vaults();
    if (vault !== undefined)
      await session.recordPair({ credentials: vault.credentials, kind: vault.kind });
    await session.release();
    if (hasFailovers)
      world.#standby = new SchemaCopy((await postgres()).sql, schema, `${schema}_standby`);
    return world;
  }

  async close(): Promise<void> {
    this.#state.dispose();
    await this.#sql.end();
  }

  told(): string {
    return this.#log.join("\n");
  }

  /** The next thing. */
  async happen(): Promise<void> {
    // Most find the vault held: what is under way goes on more often than something else begins.
    const busy = this.#processes.flatMap(({ at }, place) => (at === null ? [] : [place]));
    const place =
      busy.length > 0 && this.#dice.chance(0.8)
        ? this.#dice.pick(busy)
        : this.#dice.between(0, this.#processes.length - 1);
    const process = this.#processes[place] as TeamProcess;
    const { what } = this.#dice.draw([
      { weight: 60, what: "step" },
      { weight: 8, what: "leases end" },
      { weight: 2, what: "dies" },
      { weight: 8, what: "cut" },
      { weight: this.#standby === null ? 0 : 6, what: "copy" },
      { weight: this.#standby === null ? 0 : 4, what: "failover" },
    ]);
    if (what === "step") await this.#step(place, process);
    else if (what === "leases end") await this.#endLeases();
    else if (what === "copy") await this.#copy();
    else if (what === "failover") await this.#failover();
    else if (what === "dies") {
      this.#log.push(`${place} dies at ${process.at}`);
      this.#processes[place] = this.#another(place);
    } else {
      const [n, cut] = [this.#dice.between(1, 3), this.#dice.pick(["before", "after"] as const)];
      this.#log.push(`${place} is cut ${cut} request ${n}`);
      this.#proxies[place]?.cutAt(n, cut);
    }
    await this.#check();
  }

  /** All processes have died, and their leases are over: a person brings the vault in step by what the exit codes ask for. */
  async settle(): Promise<string> {
    for (const proxy of this.#proxies) proxy.cutAt(Number.POSITIVE_INFINITY, "before");
    await this.#endLeases();
    // After a failover only the machine that has made the last exchange has its credentials; after that all others have them too.
    const places = [...this.#processes.keys()];
    for (const place of places) if ((await this.#bringInStep(place)) === "ok") break;
    const codes: string[] = [];
    for (const place of places) codes.push(await this.#bringInStep(place));
    await this.#check();
    const { failedAccesses, unackedStarts } = this.#service.sandbox.inspect(this.#service.uuid);
    return (
      codes.find((code) => code !== "ok") ??
      (failedAccesses > 0 || unackedStarts > 0 ? "not in step" : "ok")
    );
  }

  async #bringInStep(place: number): Promise<string> {
    const process = new TeamProcess(this.#store(place), this.#around(null));
    this.#log.push(`a person at ${place}`);
    let code = "";
    for (let tries = 0; tries < 6 && code !== "ok" && code !== "state"; tries += 1) {
      if (code === "guard" || code === "network") {
        this.#service.unlock();
        await this.#whole(process, "guard --reset");
      }
      // Where several may be valid, a person says which.
      const live = code === "guard" ? await this.#generation() : undefined;
      code = await this.#whole(
        process,
        live === undefined ? "get --discard-pending" : `get --generation ${live}`,
      );
    }
    return code;
  }

  async #whole(process: TeamProcess, command: Command): Promise<string> {
    await process.begin(command);
    while (process.at !== null) await process.step();
    this.#log.push(`${command}: ${process.code}`);
    return process.code;
  }

  async #step(place: number, process: TeamProcess): Promise<void> {
    if (process.at !== null) {
      this.#log.push(`${place} ${process.at}`);
      await process.step();
    } else {
      const { command } =
        process.code === "guard" && this.#isQuiet()
          ? { command: "guard --reset" as const }
          : this.#dice.draw(commands);
      if (command === "guard --reset") this.#service.unlock();
      this.#log.push(`${place} begins ${command}`);
      await process.begin(command);
    }
    if (process.at !== null) return;
    this.#unsure.delete(process);
    this.#log.push(`${place} ends: ${process.code}`);
    // After a failover others have only what is superseded by then: the guard counts it.
    const isAllowed =
      allowed.includes(process.code) || (process.code === "rejected" && this.#hasGoneBack);
    if (!isAllowed) this.violations.push(`a command ended with ${process.code}`);
  }

  #isQuiet(): boolean {
    return this.#processes.every(({ at }) => at === null);
  }

  async #copy(): Promise<void> {
    this.#log.push("the rows are copied");
    await this.#standby?.take();
    this.#isCopied = true;
  }

  /** Starts that were counted since are lost: an administrator has a look, and sets the service's counters to what the rows say. */
  async #failover(): Promise<void> {
    if (!this.#isCopied) return;
    this.#log.push("the rows go back to the copy");
    for (const process of this.#processes) if (process.at !== null) this.#unsure.add(process);
    await this.#standby?.putBack();
    // As the first command marks it that finds another server.
    for (const name of ["copies", "doubts"] as const) {
      const { sql, values = [] } = raising(dialectOf(this.#schema), name);
      await this.#sql.query(sql, [...values]);
    }
    this.#hasGoneBack = this.#areLeasesLost = true;
    this.#service.unlock();
  }

  /** By then so much time has gone by for everybody. */
  async #endLeases(): Promise<void> {
    this.#log.push("leases end");
    await this.#sql.query(`UPDATE vaults SET ends_at = '-infinity'`);
    this.#areLeasesLost = false;
    await this.#state.clock.sleep(16_000);
  }

  #another(place: number): TeamProcess {
    const process: TeamProcess = new TeamProcess(
      this.#store(place),
      this.#around(() => process),
    );
    return process;
  }

  /** Whether the rows name it as the last that took the vault. */
  async #holds({ store }: TeamProcess): Promise<boolean> {
    const holder = "SELECT 1 FROM vaults WHERE uuid = $1 AND holder::json ->> 'pid' = $2";
    return (
      (await this.#sql.query(holder, [this.#service.uuid, String(store.parts.by.pid)])).rows
        .length > 0
    );
  }

  /** Of the pair that the service accepts, if the rows have it. */
  async #generation(): Promise<number | undefined> {
    const { rows } = await this.#sql.query<{ doc: string }>(
      "SELECT doc FROM vaults WHERE status <> 'absent'",
    );
    const kept = rows.flatMap(({ doc }) => (JSON.parse(doc) as StoredDocument).credentials);
    const print = this.#service.accepted();
    return kept.find((row) => row.kept && row.fingerprint === print)?.generation;
  }

  /** A process of a machine, which has what those before it have kept. */
  #store(place: number): PostgresStore {
    return this.#state.through(this.#proxies[place]?.port ?? 0, undefined, `machine ${place}`);
  }

  #around(of: (() => TeamProcess) | null): ConstructorParameters<typeof TeamProcess>[1] {
    const { clock } = this.#state;
    const sending = async (name: string, call: () => Reply): Promise<Reply> => {
      const process = of?.();
      const isUnsure = process !== undefined && this.#unsure.has(process);
      if (
        process !== undefined &&
        !(isUnsure && this.#areLeasesLost) &&
        !(await this.#holds(process))
      )
        this.violations.push(`${name} was sent by a process that had lost its vault`);
      const reply = call();
      // The administrator who has a look after the failover sees it too.
      if (isUnsure) this.#service.unlock();
      return reply;
    };
    const send = this.#service.calls(sending, of !== null);
    return {
      clock,
      uuid: this.#service.uuid,
      send,
      probe: () => of === null || this.#dice.chance(0.8),
    };
  }

  /** Whatever has happened: the pair that the service accepts is kept (by a machine: `settle` finds out), and the vault is far from a lock. */
  async #check(): Promise<void> {
    const { state, maxFailedAccesses, maxUnackedStarts } = this.#service.sandbox.inspect(
      this.#service.uuid,
    );
    if (!this.#hasGoneBack && (await this.#generation()) === undefined)
      this.violations.push("the pair that the service accepts is not kept");
    if (state !== "active" || maxFailedAccesses > 2 || maxUnackedStarts > 4)
      this.violations.push(`${state} or near to a lock`);
  }
}
