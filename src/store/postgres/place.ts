import type { Waiting } from "../../exchange/ports.ts";
import type { Contents } from "../contents.ts";
import { VaultError } from "../../errors.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { Sealing } from "../contents.ts";
import { checkSame, countSealed, keyIdsOf, opened, sealed } from "../contents.ts";
import type { MovablePlace, Standing } from "../move.ts";
import { readMeta } from "./about.ts";
import type { Statement } from "./connection.ts";
import { readContents, replaceContents } from "./contents.ts";
import { Lease } from "./lease.ts";
import { oldestVersion, unusableVersion } from "./schema.ts";
import type { PostgresStore } from "./store.ts";

/** The database of a shared state, as a place from or to which a state is moved. */
export class DatabasePlace implements MovablePlace {
  readonly shown: string;
  readonly #store: PostgresStore;
  #lease: Lease | null = null;

  constructor(store: PostgresStore) {
    this.shown = store.parts.database.address.shown;
    this.#store = store;
  }

  async standing(): Promise<Standing> {
    const { moved, incoming } = await readMeta(this.#store.parts);
    if (moved !== undefined) return { moved };
    if (incoming !== undefined) return { incoming };
    await this.#store.ready();
    const { schema, database } = this.#store.parts;
    const sql = `SELECT EXISTS (SELECT 1 FROM ${schema}.vaults) OR EXISTS (SELECT 1 FROM ${schema}.journal) AS used`;
    return (await database.query({ sql }))[0]?.["used"] === true ? "active" : "empty";
  }

  async exclusively<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
    this.#lease = await Lease.takeWhole(this.#store.parts, waiting);
    try {
      return await work();
    } finally {
      await this.#lease.release();
    }
  }

  async read(): Promise<Contents> {
    const { keyring } = this.#store.parts;
    const contents = await readContents(this.#store.parts);
    const sealing = await this.#sealing();
    return opened(contents, sealing, await keyring.all(keyIdsOf(contents, sealing)));
  }

  async receive(contents: Contents, from: string): Promise<void> {
    await this.replace(contents, unusable(this.#store.parts.schema, "incoming", from));
  }

  /** Puts contents in the place of what is there, and makes other changes, in one transaction. Call it inside `exclusively`. */
  async replace(contents: Contents, changes: readonly Statement[]): Promise<void> {
    const { schema, keyring } = this.#store.parts;
    const { key = "" } = await readMeta(this.#store.parts);
    const own = sealed(contents, await this.#sealing(), await keyring.key(key));
    await this.write([...replaceContents(schema, own), ...changes]);
  }

  /** Seals everything with another key. Returns the number of values. Call it inside `exclusively`. */
  async reseal(to: SealingKey): Promise<number> {
    const { schema } = this.#store.parts;
    const sealing = await this.#sealing();
    const contents = await this.read();
    const rekeyed = { sql: `UPDATE ${schema}.meta SET value = $1 WHERE name = 'key'`, values: [to.id] };
    await this.write([...replaceContents(schema, sealed(contents, sealing, to)), rekeyed]);
    const written = await readContents(this.#store.parts);
    checkSame(contents, opened(written, sealing, new Map([[to.id, to]])), this.shown);
    return countSealed(written, sealing);
  }

  async markMoved(to: string): Promise<void> {
    await this.write(unusable(this.#store.parts.schema, "moved", to));
  }

  async activate(): Promise<void> {
    const { schema } = this.#store.parts;
    await this.write([
      { sql: `DELETE FROM ${schema}.meta WHERE name = 'incoming'` },
      { sql: `UPDATE ${schema}.meta SET value = '${oldestVersion}' WHERE name = 'oldest'` },
    ]);
  }

  /** Makes changes in one transaction. Call it inside `exclusively`. */
  async write(statements: readonly Statement[]): Promise<void> {
    if (this.#lease === null) throw new VaultError("internal", "a place was written to that is not held");
    await this.#lease.transact(statements);
  }

  async #sealing(): Promise<Sealing> {
    return { state: (await readMeta(this.#store.parts))["state"] };
  }
}

/** Makes a state unusable, also for older programs, and says why. */
const unusable = (schema: string, name: "moved" | "incoming", value: string): Statement[] => [
  {
    sql: `INSERT INTO ${schema}.meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    values: [name, value],
  },
  { sql: `UPDATE ${schema}.meta SET value = '${unusableVersion}' WHERE name = 'oldest'` },
];
