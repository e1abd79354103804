import { DatabaseSync } from "node:sqlite";
import type { Waiting } from "../../exchange/ports.ts";
import { nothing } from "../contents.ts";
import type { StateHistory } from "../journal/history.ts";
import { historyIn } from "../journal/history.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { SharedRekey } from "../keys/rekey.ts";
import { copyInto } from "../sqlite/state-file.ts";
import { checkVersion, readMeta } from "./about.ts";
import type { Statement } from "./connection.ts";
import { alreadyThere, codeOf } from "./connection.ts";
import type { DatabasePlace } from "./place.ts";
import { grants, schemaVersion, tables } from "./schema.ts";
import { reborn, setBack } from "./set-back.ts";
import type { PostgresStore } from "./store.ts";

/** What `doctor` tells of a server. */
export interface ServerFacts {
  location: string;
  /** As the server names it, like `18.4`. */
  version: string;
  hasTls: boolean;
  keyId: string;
  /** Standbys that are connected, and whether a commit waits for one. */
  standbys: number;
  waitsForStandby: boolean;
  /** Exchanges that this machine keeps, in case of a failover, and the system's code if it cannot. */
  kept: number;
  unwritable: string | null;
  /** How long an answer takes, in whole milliseconds; 0 if that is negligible. */
  latencyMs: number;
}

/** Operations on the whole of a shared state. */
export class SharedState {
  readonly #store: PostgresStore;
  readonly #place: DatabasePlace;

  constructor(store: PostgresStore, place: DatabasePlace) {
    this.#store = store;
    this.#place = place;
  }

  /**
   * Makes the schema, or brings it up to date, and makes the key if there is none; running it twice changes nothing. Gives a role, if
   * one is named, the rights that everything else needs.
   */
  async initialize(
    grant?: string,
  ): Promise<{ created: boolean; updated: boolean; location: string; keyId: string }> {
    const { database, keyring } = this.#store.parts;
    const { created, updated } = await this.#define(grant);
    const { key: sealing = null } = await readMeta(this.#store.parts);
    const key = await keyring.forSecret(sealing);
    if (sealing === null) await database.transact(this.#keyed(key.id, "NOTHING"));
    const { keyId } = await this.#store.ready();
    return { created, updated, location: database.address.shown, keyId };
  }

  /** Defines what the schema lacks. Of several at once one does, and the others look again. */
  async #define(grant: string | undefined): Promise<{ created: boolean; updated: boolean }> {
    const { schema, database } = this.#store.parts;
    for (let tries = 10; ; tries -= 1) {
      const [there] = await database.query({
        sql: "SELECT to_regclass($1) IS NOT NULL AS is",
        values: [`${schema}.meta`],
      });
      const created = there?.["is"] !== true;
      const former = created ? {} : await readMeta(this.#store.parts);
      if (!created) checkVersion(former, database.address);
      // Whoever has not made the schema may not have the right to.
      const lacking = Number(former["version"] ?? 0) < schemaVersion ? tables(schema) : [];
      const needed = [...lacking, ...(grant === undefined ? [] : grants(schema, grant))];
      try {
        if (needed.length > 0) await database.transact([{ sql: needed.join(";\n") }]);
        return { created, updated: !created && lacking.length > 0 };
      } catch (error) {
        if (tries <= 1 || !alreadyThere.includes(codeOf(error))) throw error;
      }
    }
  }

  /** Facts about the server, for `doctor`. */
  async inspect(): Promise<ServerFacts> {
    const { database, machine } = this.#store.parts;
    const { keyId } = await this.#store.ready();
    const [row] = await database.query({
      sql: `SELECT current_setting('server_version') AS version, current_setting('synchronous_standby_names') <> '' AS waits,
        (SELECT count(*)::int FROM pg_stat_replication) AS standbys`,
    });
    const { version, waits, standbys } = row as {
      version: string;
      waits: boolean;
      standbys: number;
    };
    const { shown, tls } = database.address;
    const server = {
      location: shown,
      version,
      hasTls: tls !== undefined,
      latencyMs: Math.round(await this.#store.latencyMs()),
    };
    return {
      ...server,
      keyId,
      standbys,
      waitsForStandby: waits,
      kept: await machine.kept(),
      unwritable: machine.unwritable(),
    };
  }

  /**
   * Makes a copy the original, which nobody uses any more: no pair counts as proven, and what this machine has seen of the former one
   * does not stop it any more.
   * @throws `busy`, `interrupted`, `state`
   */
  async claim(waiting: Waiting): Promise<void> {
    const { schema, machine } = this.#store.parts;
    await this.#place.change("claim", waiting, async (whole, query) => {
      const { state } = whole.marks;
      const seen = (await machine.state(state))?.claims;
      for (const statement of [...reborn(schema, seen), ...setBack(schema, "the state was copied")])
        await query(statement);
      await whole.mark({ fence: null, moved: null });
    });
    await this.#store.ready();
  }

  /** What the journal tells, as of now: a copy in memory. */
  async history(): Promise<StateHistory> {
    const { key } = await this.#store.ready();
    const db = new DatabaseSync(":memory:");
    await this.#place.read(
      async (whole) =>
        await copyInto(db, whole, key, ({ vaults, breakers }) => ({
          ...nothing(),
          vaults,
          breakers,
        })),
    );
    return historyIn(db);
  }

  /** Does the work of a rekey: the change of this state is one transaction. */
  async rekey<T>(waiting: Waiting, work: (shared: SharedRekey) => Promise<T>): Promise<T> {
    const { keyId, state } = await this.#store.ready();
    const { keyring, machine } = this.#store.parts;
    const reseal = async (to: SealingKey): Promise<number> => {
      const values = await this.#place.change("rekey", waiting, async (whole, query) => {
        // Another machine may have changed it meanwhile.
        await keyring.key(whole.keyId ?? "");
        let written = 0;
        for await (const part of whole.parts()) written += await whole.write(part, part, to);
        if (whole.keyId !== to.id)
          for (const statement of this.#keyed(to.id, "UPDATE SET value = excluded.value"))
            await query(statement);
        return written;
      });
      await machine.noteKey(state, to.id);
      return values;
    };
    return await work({ shown: this.#place.shown, keyId, reseal });
  }

  /** Records the key, and who has it; `where` says what becomes of one that is there. */
  #keyed(id: string, where: string): Statement[] {
    const { schema, holder, keyring } = this.#store.parts;
    const { host, user } = holder;
    const put = `INSERT INTO ${schema}.meta VALUES ($1, $2) ON CONFLICT (name) DO ${where}`;
    return [
      { sql: put, values: ["key", id] },
      { sql: put, values: ["keyed", JSON.stringify({ host, user, file: keyring.keyFile })] },
    ];
  }
}
