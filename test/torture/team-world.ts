import pg from "pg";
import type { Reply, Service } from "../../src/exchange/ports.ts";
import { openSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import { fingerprint } from "../../src/secrets/fingerprints.ts";
import type { HttpRequest, Target } from "../../src/service/request.ts";
import { endRequest, startRequest } from "../../src/service/request.ts";
import { Dice } from "../support/dice.ts";
import type { Proxy, SharedState } from "../support/shared-state.ts";
import { cuttingProxy, sharedState } from "../support/shared-state.ts";
import { postgres } from "../support/postgres.ts";
import { SchemaCopy } from "../support/schema-copy.ts";
import type { Command } from "./team-process.ts";
import { TeamProcess, vaultService } from "./team-process.ts";

const application = { apiKey: "0a0a0a0a-1111-4222-8333-444444444444", uuid: "0b0b0b0b-1111-4222-8333-444444444444" };
const target: Target = { baseUrl: "https://vaults.test", apiPrefix: "/vaultsvc/v1-2", application, version: "test" };
const creditCard = { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2031 };

/** What a command may end with, whatever happens. */
const allowed = ["ok", "busy", "state", "guard", "pending", "in-doubt", "network", "service", "no-credentials"];

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
  readonly #sandbox;
  readonly #handle;
  readonly #uuid: string;
  readonly #processes: TeamProcess[] = [];
  /** The one that has the lease. */
  #holder: TeamProcess | null = null;
  readonly #log: string[] = [];
  #standby: SchemaCopy | null = null;
  /** What the service accepted when the copy was made; null where there is none. */
  #copied: string | null = null;
  readonly #sql: pg.Client;

  private constructor(state: SharedState, seed: string, proxies: readonly Proxy[], sql: pg.Client) {
    this.#state = state;
    this.#sql = sql;
    this.#dice = new Dice(seed);
    this.#proxies = proxies;
    const { sandbox, handle } = openSandbox({
      now: () => state.clock.now(),
      randomSeed: seed,
      application,
      seed: [{ kind: "credit-card/offline", creditCard }],
      policy: { tokenTtlMs: 60_000, rate: 0 },
    });
    this.#sandbox = sandbox;
    this.#handle = handle;
    this.#uuid = sandbox.vaults()[0]?.uuid ?? "";
  }

  /** With failovers there is a copy of the rows, which they go back to. */
  static async open(seed: string, hasFailovers: boolean): Promise<TeamWorld> {
    proxies ??= Promise.all([cuttingProxy(), cuttingProxy(), cuttingProxy()]);
    const state = await sharedState();
    const schema = new URL(state.location).searchParams.get("schema") ?? "";
    const sql = new pg.Client({ connectionString: state.location });
    await sql.connect();
    await sql.query(`SET search_path = ${schema}`);
    const world = new TeamWorld(state, seed, await proxies, sql);
    for (const place of world.#proxies.keys()) world.#processes[place] = world.#another(place);
    const { store, clock } = world.#state;
    const session = await store.lock(vaultService, world.#uuid, { deadline: clock.elapsed(), signal: new AbortController().signal });
    const [vault] = world.#sandbox.vaults();
    if (vault !== undefined) await session.recordPair({ credentials: vault.credentials, kind: vault.kind });
    await session.release();
    if (hasFailovers) world.#standby = new SchemaCopy((await postgres()).sql, schema, `${schema}_standby`);
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
    const place = busy.length > 0 && this.#dice.chance(0.8) ? this.#dice.pick(busy) : this.#dice.between(0, this.#processes.length - 1);
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
    const process = new TeamProcess(this.#state.store, this.#around(null));
    let code = "";
    for (let tries = 0; tries < 6 && code !== "ok"; tries += 1) {
      if (code === "guard") {
        this.#sandbox.unlock(this.#uuid);
        await this.#whole(process, "guard --reset");
      }
      code = await this.#whole(process, "get --discard-pending");
    }
    await this.#check();
    const { failedAccesses, unackedStarts } = this.#sandbox.inspect(this.#uuid);
    return code === "ok" && (failedAccesses > 0 || unackedStarts > 0) ? "not in step" : code;
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
      const { command } = process.code === "guard" && this.#isQuiet() ? { command: "guard --reset" as const } : this.#dice.draw(commands);
      if (command === "guard --reset") this.#sandbox.unlock(this.#uuid);
      this.#log.push(`${place} begins ${command}`);
      await process.begin(command);
    }
    if (process.at !== null) return;
    this.#log.push(`${place} ends: ${process.code}`);
    if (!allowed.includes(process.code)) this.violations.push(`a command ended with ${process.code}`);
  }

  #isQuiet(): boolean {
    return this.#processes.every(({ at }) => at === null);
  }

  async #copy(): Promise<void> {
    this.#log.push("the rows are copied");
    await this.#standby?.take();
    this.#copied = this.#accepted();
  }

  /**
   * Not where an exchange is acknowledged or about to be: what has been lost then is not in the database any more. Nor are starts
   * that were counted since: an administrator has a look, and sets the service's counters to what the rows say.
   */
  async #failover(): Promise<void> {
    const isEnding = this.#processes.some(({ at }) => at === "send end" || at === "noteEndAnswered");
    if (this.#copied !== this.#accepted() || isEnding) return;
    this.#log.push("the rows go back to the copy");
    await this.#standby?.putBack();
    this.#sandbox.unlock(this.#uuid);
  }

  #accepted(): string {
    return fingerprint(this.#uuid, this.#sandbox.inspect(this.#uuid).currentPair);
  }

  /** By then so much time has gone by for everybody. */
  async #endLeases(): Promise<void> {
    this.#log.push("leases end");
    await this.#sql.query("UPDATE leases SET ends_at = '-infinity'");
    await this.#state.clock.sleep(16_000);
  }

  #another(place: number): TeamProcess {
    const store = this.#state.through(this.#proxies[place]?.port ?? 0);
    const process: TeamProcess = new TeamProcess(
      store,
      this.#around(() => process),
    );
    const lock = store.lock.bind(store);
    store.lock = async (...given) => {
      const session = await lock(...given);
      this.#holder = process;
      return session;
    };
    return process;
  }

  #around(of: (() => TeamProcess) | null): ConstructorParameters<typeof TeamProcess>[1] {
    const send = async (name: string, request: HttpRequest): Promise<Reply> => {
      if (of !== null && of() !== this.#holder) this.violations.push(`${name} was sent by a process that had lost its vault`);
      return Promise.resolve(this.#exchangeBytes(name, request, of !== null));
    };
    const service: Pick<Service, "start" | "end"> = {
      start: async (call) => await send("start", startRequest(target, call)),
      end: async (call) => await send("end", endRequest(target, call)),
    };
    return { clock: this.#state.clock, uuid: this.#uuid, service, probe: () => of === null || this.#dice.chance(0.8) };
  }

  #exchangeBytes(name: string, { method, path, headers, body }: HttpRequest, mayFail: boolean): Reply {
    const weather = mayFail
      ? this.#dice.draw([
          { weight: 20, what: "fine" },
          { weight: 1, what: "not sent" },
          { weight: 1, what: "lost" },
          { weight: 1, what: "answer lost" },
        ]).what
      : "fine";
    this.#log.push(`  ${name}: ${weather}`);
    if (weather === "not sent") return { type: "not-sent", cause: "connection refused" };
    if (weather === "lost") return { type: "no-answer", cause: "reset" };
    const response = this.#handle({ method, path, headers, body: JSON.stringify(body) ?? "", remoteAddress: "127.0.0.1" });
    if (weather === "answer lost") return { type: "no-answer", cause: "reset" };
    return { type: "answer", answer: { httpStatus: response.status, body: JSON.parse(response.body) as Record<string, unknown> } };
  }

  /** Whatever has happened: the pair that the service accepts is kept, and the vault is far from a lock. */
  async #check(): Promise<void> {
    const { state, maxFailedAccesses, maxUnackedStarts } = this.#sandbox.inspect(this.#uuid);
    const kept = "SELECT 1 FROM credentials WHERE sealed IS NOT NULL AND fingerprint = $1";
    const { rows } = await this.#sql.query(kept, [this.#accepted()]);
    if (rows.length === 0) this.violations.push("the pair that the service accepts is not kept");
    if (state !== "active" || maxFailedAccesses > 2 || maxUnackedStarts > 4) this.violations.push(`${state} or near to a lock`);
  }
}
