import { randomUUID } from "node:crypto";
import type { Breaker } from "../../exchange/breaker.ts";
import { VaultError } from "../../errors.ts";
import type { VaultSession, Waiting } from "../../exchange/ports.ts";
import type {
  CreatedVault,
  Creation,
  RunExchange,
  VaultRecord,
  VaultSummary,
} from "../../exchange/records.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { Keyring } from "../keys/keyring.ts";
import type { JournalEntry } from "../journal/journal.ts";
import { appending, prunedBefore, pruning } from "../journal/journal.ts";
import type { Created, Lock, State } from "../state.ts";
import { completeCreation } from "../steps/import.ts";
import { openDigest } from "../steps/exchange-rows.ts";
import type { ExchangeRow, Place } from "../steps/rows.ts";
import { isListed } from "../steps/rows.ts";
import type { SummaryRow } from "../steps/vault-record.ts";
import { runExchange, vaultRecord, vaultSummary } from "../steps/vault-record.ts";
import type { About } from "./about.ts";
import { aboutIn, aboutStatement } from "./about.ts";
import { completed, runExchangesOf, StoredState } from "../stored-state.ts";
import { breakerInRow, changeBreaker } from "./breakers.ts";
import type { Statement } from "../steps/changes.ts";
import type { Row } from "./connection.ts";
import { AnswerLost, codeOf, gateClosed, isLocked } from "./connection.ts";
import type { Address } from "./address.ts";
import { Database } from "./database.ts";
import { DatabaseClock } from "./database-clock.ts";
import { checkIncarnation, isLater, warnOfWeakerTls } from "./incarnation.ts";
import { passGate, transactAtGate } from "./gate.ts";
import { holders, lockIn } from "./holders.ts";
import { Lease } from "./lease.ts";
import { reserve } from "./limiter.ts";
import { MachineRecord } from "./machine-record.ts";
import { bringBack } from "./outbox.ts";
import { openLabel, readVault, storedVault, summariesOf, vaultsWhere } from "./read-vaults.ts";
import { PostgresVaultSession } from "./vault-session.ts";
import type { PostgresWhole, SharedParts } from "./whole-state.ts";
import { statementsFor } from "./write-vault.ts";

interface Options extends Omit<SharedParts, "database" | "keyring" | "machine" | "schema"> {
  address: Address;
  /** Cached keys by id, shared by everything in one run. */
  keys?: Map<string, SealingKey>;
  /** As Node names it. */
  platform: string;
  /** How long the command waits. */
  waiting?: Waiting;
  /** The database's clock; by default estimated from its answers. */
  time?: Pick<DatabaseClock, "isKnown" | "latencyMs" | "note" | "now" | "took" | "tookLogin">;
}

/** What the state says of itself, with the key that seals it. */
type Ready = About & { key: SealingKey; isSetBack: boolean };

/**
 * The state of several machines, in a PostgreSQL. Reads nothing before the first call.
 * @throws `state` from every method if the database or the key cannot be used, if nothing is there yet, or if it is a copy
 */
export class PostgresStore extends StoredState implements State {
  readonly shown: string;
  readonly isShared = true;
  protected readonly prefix: string;
  readonly parts: SharedParts;
  readonly #time: Pick<DatabaseClock, "isKnown" | "latencyMs" | "note" | "now">;
  #ready: Promise<Ready> | null = null;
  #seen: About | null = null;

  constructor({
    address,
    keySource,
    clock,
    holder,
    warn,
    keys,
    directory,
    platform,
    waiting,
    time = new DatabaseClock(clock),
  }: Options) {
    super();
    this.shown = address.shown;
    this.prefix = `${address.schema}.`;
    this.#time = time;
    const machine = new MachineRecord({ directory, platform, clock, warn });
    const beforeLogin = async (): Promise<void> =>
      await warnOfWeakerTls({ address, machine, warn });
    const database = new Database(address, time, { clock, waiting, beforeLogin });
    const keyring = new Keyring(keySource, address.shown, warn, keys);
    const { schema } = address;
    const given = { keySource, directory, clock, holder, warn };
    this.parts = { ...given, schema, database, keyring, machine };
  }

  async create(grant?: string): Promise<Created> {
    return await (await this.whole()).create(grant);
  }

  async whole(): Promise<PostgresWhole> {
    return new (await import("./whole-state.ts")).PostgresWhole(this);
  }

  async locks(): Promise<Lock[]> {
    return (await this.parts.database.query(holders(this.parts.schema))).map(lockIn);
  }

  /** Closes the connection without waiting. */
  close(): void {
    this.parts.database.close();
  }

  async lock(service: string, uuid: string, waiting: Waiting): Promise<VaultSession> {
    const { schema, database, keyring, machine, warn } = this.parts;
    const lower = uuid.toLowerCase();
    const prints = (await machine.vault(service, lower)).flatMap(({ fingerprint, kept }) => [
      fingerprint,
      kept ?? fingerprint,
    ]);
    const reading = [
      aboutStatement(schema),
      ...readVault(schema, { service, uuid: lower, at: "" }, { prints }),
    ];
    const [lease, [[facts] = [], [row] = [], [breaker] = []], sentAt] = await Lease.take(
      this.parts,
      lower,
      waiting,
      reading,
    );
    try {
      const about = await this.#checked(facts, sentAt);
      if (about.isSetBack) {
        await lease.release();
        return await this.lock(service, uuid, waiting);
      }
      const { state, key } = about;
      const vault = storedVault(this.#place(about, service, lower), key, row);
      this.breakersKnown.note(service, breakerInRow(breaker));
      const parts = {
        schema,
        state,
        lease,
        key,
        database,
        machine,
        about,
        now: () => this.#time.now(),
        breakers: this.breakersKnown,
      };
      const session = new PostgresVaultSession(service, lower, parts, vault);
      // Read again: a claim elsewhere has made less of it.
      for (const seen of await machine.vault(service, lower))
        await bringBack({ session, rows: vault.rows, seen, about, keyring, warn });
      return session;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  async list(): Promise<VaultRecord[]> {
    const vaults = await this.#vaults(isListed, []);
    const { state } = await this.ready();
    const seen = vaults.flatMap(({ service, uuid, label, kind, generations: [last] }) =>
      last === undefined
        ? []
        : [
            {
              service,
              uuid,
              generation: last.generation,
              fingerprint: last.fingerprint,
              label,
              kind,
            },
          ],
    );
    await this.parts.machine.noteVaults(state, seen);
    return vaults;
  }

  async find(uuid: string): Promise<VaultRecord[]> {
    return await this.#vaults("vaults.uuid = $1 AND forgotten = 0", [uuid.toLowerCase()]);
  }

  async summaries(service: string): Promise<VaultSummary[]> {
    const [ready, rows] = await Promise.all([
      this.ready(),
      this.parts.database.query(summariesOf(this.parts.schema, service)),
    ]);
    return (rows as unknown as (SummaryRow & { open: ExchangeRow | null })[]).map(
      ({ open, ...row }) => {
        const label =
          row.label === null
            ? null
            : openLabel(ready.key, this.#place(ready, service, row.uuid), row.label);
        return vaultSummary({ ...row, label }, open ?? undefined);
      },
    );
  }

  async run(service: string, name: string, uuid?: string): Promise<RunExchange[]> {
    const statement = runExchangesOf(this.prefix, service, name, uuid);
    const [ready, rows] = await Promise.all([this.ready(), this.parts.database.query(statement)]);
    return (rows as unknown as Parameters<typeof runExchange>[0][]).map((row) =>
      runExchange(
        row,
        row.digest === null
          ? null
          : openDigest(ready.key, this.#place(ready, service, row.uuid), row.id, row.digest),
      ),
    );
  }

  async completeCreation(
    creation: Creation,
    created: CreatedVault,
  ): ReturnType<State["completeCreation"]> {
    const { schema, database, clock } = this.parts;
    const service = creation.service;
    const uuid = created.uuid.toLowerCase();
    const reading = readVault(schema, { service, uuid, at: "" }, { pairs: [created.credentials] });
    for (let tries = 5; ; tries -= 1) {
      const sentAt = clock.elapsed();
      const [[facts] = [], [row] = []] = await database.transact([
        aboutStatement(schema),
        ...reading,
      ]);
      const ready = await this.#checked(facts, sentAt);
      const { key } = ready;
      const { id, lastSeq, rows } = storedVault(this.#place(ready, service, uuid), key, row);
      const after = structuredClone(rows);
      // A label that another vault has taken meanwhile is no reason to lose the credentials.
      const result = completeCreation(
        after,
        key,
        creation,
        tries > 3 ? created : { ...created, label: undefined },
      );
      try {
        await this.#write([
          sameKey(schema, key.id),
          ...statementsFor({ schema, id: id ?? randomUUID(), lastSeq, key }, rows, after),
        ]);
        return result;
      } catch (error) {
        // Somebody else was faster, the key was changed, or the answer was lost.
        if (
          tries <= 1 ||
          (!["22012", "23505"].includes(codeOf(error)) && !(error instanceof AnswerLost))
        )
          throw error;
        if ((await this.parts.database.query(completed(this.prefix, creation))).length > 0)
          return result;
      }
    }
  }

  async reserveSlot(
    application: string,
    now: number,
    intervalMs: number,
    longestMs = Number.POSITIVE_INFINITY,
  ): Promise<number> {
    if (intervalMs === 0) return 0;
    return await reserve(this.parts, this.#time, { application, now, intervalMs, longestMs });
  }

  now(): number {
    return this.#time.now();
  }

  async latencyMs(): Promise<number> {
    await this.parts.database.connect();
    return this.#time.latencyMs();
  }

  protected async query(statement: Statement): Promise<unknown[]> {
    return await this.parts.database.query(statement);
  }

  protected async append(entry: JournalEntry): Promise<void> {
    await this.#write([appending(this.prefix, entry)]);
  }

  protected async prepareKey(): Promise<void> {
    await this.ready();
  }

  protected async changeBreaker(
    service: string,
    change: (breaker: Breaker) => Breaker,
  ): Promise<Breaker> {
    const { database, schema } = this.parts;
    return await changeBreaker(database, schema, service, change);
  }

  /** Writes without a lease. */
  async #write(statements: readonly Statement[]): Promise<void> {
    await transactAtGate(this.parts, statements, async () => await this.check());
  }

  /** Looks again at what the state says of itself. */
  async check(): Promise<Ready> {
    this.#ready = null;
    return await this.ready();
  }

  /** What the state says of itself, read once. */
  async ready(): Promise<Ready> {
    this.#ready ??= this.#read();
    return await this.#ready.catch((error: unknown) => {
      this.#ready = null;
      throw error;
    });
  }

  async #read(): Promise<Ready> {
    const { clock, database, schema } = this.parts;
    await database.connect();
    const sentAt = clock.elapsed();
    const [row] = await this.parts.database.query(aboutStatement(schema));
    return await this.#checked(row, sentAt);
  }

  /** What `aboutStatement` returned, which was sent at `sentAt` (on `elapsed`). */
  async #checked(row: Row | undefined, sentAt: number): Promise<Ready> {
    const { schema, database, keyring } = this.parts;
    const about = aboutIn(row, database.address);
    this.#time.note(about.now, sentAt);
    const isSetBack =
      (this.#seen === null || !isLater(about, this.#seen)) &&
      (await checkIncarnation(this.parts, about));
    this.#seen = about;
    const before = prunedBefore(about.oldest, about.now);
    if (before !== null)
      await database
        .transact([passGate(schema), ...pruning(this.prefix, before)])
        .catch(unlessGateClosed);
    try {
      await keyring.ensure(about.keyId);
      return { ...about, key: await keyring.key(about.keyId), isSetBack };
    } catch (error) {
      throw withKeeper(error, about);
    }
  }

  #place({ state }: About, service: string, uuid: string): Place {
    return { state, service, uuid, at: this.time() };
  }

  async #vaults(condition: string, values: readonly string[]): Promise<VaultRecord[]> {
    const [ready, rows] = await Promise.all([
      this.ready(),
      this.parts.database.query(vaultsWhere(this.parts.schema, condition, values)),
    ]);
    return rows.flatMap((row) => {
      const { service, uuid } = row["vault"] as Place;
      const { rows: read } = storedVault(this.#place(ready, service, uuid), ready.key, row);
      return read.vault === null ? [] : [vaultRecord(read.vault, read)];
    });
  }
}

/** Fails unless the state is sealed with that key: a division by zero. */
const sameKey = (schema: string, id: string): Statement => ({
  sql: `SELECT 1 / (SELECT count(*) FROM ${schema}.meta WHERE name = 'key' AND value = $1)`,
  values: [id],
});

/** What can be done another time is. */
function unlessGateClosed(error: unknown): void {
  if (codeOf(error) !== gateClosed && !isLocked(error)) throw error;
}

/** The error for a machine that lacks the key, with who has it and what to do with a copy of that. */
function withKeeper(error: unknown, { keyId, keyed }: About): unknown {
  if (!(error instanceof VaultError) || keyed === null || !error.message.includes(keyId))
    return error;
  const { host, user, file } = JSON.parse(keyed) as {
    host: string;
    user: string;
    file: string | null;
  };
  const where = file === null ? "gave it" : `has it in the key file ${file}`;
  // Without any key file, a copy of that one does.
  const hint = error.message.startsWith("wrong key")
    ? "vault state rekey --state-key @FILE (FILE: a copy of that key)"
    : error.facts.hint;
  return new VaultError(error.code, `${error.message}; ${user} on ${host} ${where}`, {
    ...error.facts,
    hint,
  });
}
