import { asVaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { seal, unseal, type SealingKey, type VaultPlace } from "../../secrets/sealing.ts";
import { StoredWhole, type StateFacts } from "../whole/stored-whole.ts";
import { marksIn, type Marks } from "../whole/marks.ts";
import { Whole, WholeReader, type Engine, type WholeOperation } from "../whole/whole.ts";
import type { Row as WholeRow } from "../tables.ts";
import type { Database, Query } from "./database.ts";
import { alreadyThere, cannotBeUsed, codeOf } from "./errors.ts";
import { lockIn, transactWhole } from "./gate.ts";
import type { Outbox } from "./outbox.ts";
import {
  aboutIn,
  aboutStatement,
  checkDurable,
  checkIncarnation,
  checkVersion,
  dialectOf,
  grants,
  metaIn,
  readMeta,
  reborn,
  schemaVersion,
  tables,
} from "./schema.ts";
import * as version1 from "../version-1.ts";
import type { Created, StateParts, StoredState } from "../stored-state.ts";
import { busy } from "../vault-session.ts";

export interface SharedParts extends StateParts {
  schema: string;
  database: Database;
  outbox: Outbox;
}

export type SharedStore = StoredState & {
  parts: SharedParts;
  ready(): Promise<{ about: Pick<Marks, "state">; key: SealingKey }>;
};

export class PostgresWhole extends StoredWhole<SharedStore> {
  /** As `StoredState.create`: makes or updates the schema, and names a key if nothing is sealed. */
  async create(grant?: string): Promise<Created> {
    const { database, keyring, schema } = this.store.parts;
    const created = await this.#define(grant);
    if ((await readMeta(database))["key"] === undefined) {
      const sealed = `SELECT FROM ${schema}.vaults WHERE strpos(sealed, '"s1:') > 0 LIMIT 1`;
      if ((await database.query({ sql: sealed })).length > 0)
        throw cannotBeUsed(database.address, "it has lost the name of its key: restore a backup");
      const make = await keyring.fresh();
      const sql = `INSERT INTO ${schema}.meta VALUES ('key', $1) ON CONFLICT (name) DO NOTHING`;
      await database.transact([{ sql, values: [make().id] }]);
    }
    const { key } = await this.store.ready();
    return { created, keyId: key.id };
  }

  /** Defines what the schema lacks. Of several at once one does, and the others look again. */
  async #define(grant: string | undefined): Promise<boolean> {
    const { schema, database } = this.store.parts;
    for (let tries = 10; ; tries -= 1) {
      const [there] = await database.query({
        sql: "SELECT to_regclass($1) IS NOT NULL AS is, current_setting('fsync') AS fsync",
        values: [`${schema}.meta`],
      });
      checkDurable(there?.["fsync"], database.address);
      const created = there?.["is"] !== true;
      const former = created ? {} : await readMeta(database);
      // One that version 0.2.0 has fenced stays so, as documents.
      if (!created && former["version"] !== "1") checkVersion(former, database.address);
      // Whoever has not made the schema may not have the right to.
      const isLacking = Number(former["version"] ?? 0) < schemaVersion;
      const granted = grant === undefined ? [] : grants(schema, grant);
      try {
        if (former["version"] === "1") await this.#takeFormer();
        const needed = [...(isLacking ? tables(schema) : []), ...granted];
        if (needed.length > 0) await database.transact([{ sql: needed.join(";\n") }]);
        return created;
      } catch (error) {
        if (tries <= 1 || !alreadyThere.includes(codeOf(error))) throw error;
      }
    }
  }

  /** Turns tables of version 1 into documents, and seals values for every state to take in. */
  async #takeFormer(): Promise<void> {
    const { database, keyring, schema } = this.store.parts;
    const prefix = `${schema}.`;
    await database.converse("READ COMMITTED", async (query) => {
      const sql = `SELECT value FROM ${prefix}meta WHERE name = 'version' FOR UPDATE`;
      const [version] = await query({ sql });
      if (version?.["value"] !== "1") return;
      // Each step of that version begins with one of these: none runs between reading and dropping.
      await query({ sql: `LOCK TABLE ${prefix}state, ${prefix}leases IN ACCESS EXCLUSIVE MODE` });
      const [lease] = await query({ sql: version1.formerLease(prefix) });
      if (lease !== undefined) throw busy(lockIn(lease));
      const { state = "", key: keyId = "" } = await readMeta({ address: database.address, query });
      const key = await keyring.key(keyId);
      await query({
        sql: `${version1.makingWay(prefix)}; ALTER TABLE ${prefix}identity DROP COLUMN claims`,
      });
      await query({ sql: tables(schema).join(";\n") });
      const former: Record<string, WholeRow[]> = {};
      for (const table of version1.formerTables)
        former[table] = (await query({ sql: version1.formerTable(prefix, table) })) as WholeRow[];
      const open = (place: VaultPlace, value: string): string =>
        unseal(key, { ...place, state }, value);
      const documents = version1.documentsOf(
        former,
        (place, value) => seal(key, place, open(place, value)),
        open,
      );
      const whole = new Whole(engineOf(schema, query), marksIn({}), keyring);
      for (const table of ["vaults", "spent", "runs"] as const)
        await whole.put(table, documents[table]);
      await query({
        sql: `${version1.droppingFormer(prefix)} DROP TABLE ${prefix}leases, ${prefix}state`,
      });
    });
  }

  async read<T>(work: (whole: WholeReader) => T | Promise<T>): Promise<T> {
    const { database, keyring, schema } = this.store.parts;
    return await database.converse("REPEATABLE READ READ ONLY", async (query) => {
      const marks = marksIn(await readMeta({ address: database.address, query }));
      return await work(new WholeReader(engineOf(schema, query), marks, keyring));
    });
  }

  async transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T> {
    const { database, keyring, schema, warn } = this.store.parts;
    const { address } = database;
    return await transactWhole(this.store.parts, waiting, async (query) => {
      const [row] = await query(aboutStatement(schema));
      const marks = marksIn(metaIn(row, address));
      // One that is used, which a copy may not be before it is claimed.
      if (marks.fence === null && marks.moved === null) {
        const about = aboutIn(row, address);
        if (operation !== "claim") await checkIncarnation(address, about, query, warn);
      }
      const result = await work(new Whole(engineOf(schema, query), marks, keyring));
      if (operation === "claim") await query({ sql: reborn(schema) });
      return result;
    });
  }

  async inspect(): Promise<StateFacts> {
    const { tls } = this.store.parts.database.address;
    try {
      const { key } = await this.store.ready();
      // Read whole: a damaged document is told.
      const vaults = (await this.store.list()).length;
      const facts = { location: this.shown, hasTls: tls !== undefined, keyId: key.id };
      return { problem: null, vaults, place: { type: "server", ...facts } };
    } catch (error) {
      return { problem: asVaultError(error), vaults: null, place: null };
    }
  }
}

const engineOf = (schema: string, query: Query): Engine => ({
  ...dialectOf(schema),
  query: async (statement) => (await query(statement)) as WholeRow[],
});
