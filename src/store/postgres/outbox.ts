import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../attempt.ts";
import { VaultError } from "../../errors.ts";
import type { AdoptedExchange } from "../../exchange/records.ts";
import { replaceFile } from "../../files/durable-file.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { ensurePrivateDirectory } from "../../files/private-directory.ts";
import { systemCode } from "../../files/state-error.ts";
import { keyIdOf, seal, unseal, type VaultPlace } from "../../secrets/sealing.ts";
import { command, noted } from "../../way.ts";
import type { Keyring } from "../../secrets/keys.ts";
import type { StateParts } from "../stored-state.ts";
import type { ExchangeRow, VaultRows } from "../steps/rows.ts";
import type { StoredVaultSession } from "../vault-session.ts";
import type { Marks } from "../whole/marks.ts";
import { isSamePlace } from "./address.ts";

interface Parts extends Pick<StateParts, "directory" | "machineDirectory" | "warn"> {
  /** The state in use, as in messages: a former one that was there and is gone may have had more. */
  shown: string;
  keyring: Pick<Keyring, "find">;
}

/** How long, in ms of the database's clock, a vault's older entries are kept; how many are. */
const keptMs = 7 * 86_400_000;
const keptAtMost = 16;

/** An exchange that this machine was about to acknowledge, as its file's name tells it, keyless. */
export interface Entry {
  uuid: string;
  /** Id of the state. */
  state: string;
  /** Epoch milliseconds by the database's clock; later than those of the vault before. */
  at: number;
  /** Of the new pair. */
  fingerprint: string;
}

const named = /^(?<state>[^.]+)\.(?<at>\d+)\.(?<fingerprint>[0-9a-f]{64})\.json$/;

interface Contents {
  service: string;
  /** Of the state, as in messages. */
  address: string;
  /** The recovery document, sealed. */
  document: string;
}

/** The ids of a state that may lack an exchange, and of those that came to it. */
type Here = Pick<Marks, "state" | "predecessors">;

const isOf = ({ state, predecessors }: Here, entry: Entry): boolean =>
  [state, ...predecessors].includes(entry.state);

/**
 * What this machine keeps of its exchanges before they are acknowledged, a file each in a folder
 * for each vault: a failover can lose what the database has of them.
 */
export class Outbox {
  readonly #folder: string;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#folder = join(parts.machineDirectory?.() ?? parts.directory, "outbox");
    this.#parts = parts;
  }

  vaults(): string[] {
    return namesIn(this.#folder);
  }

  /** The entries of a vault, newest first. */
  of(uuid: string): Entry[] {
    const entries = namesIn(this.#folderOf(uuid)).flatMap((name) => {
      const { state = "", at, fingerprint = "" } = named.exec(name)?.groups ?? {};
      return at === undefined ? [] : [{ uuid, state, at: Number(at), fingerprint }];
    });
    return entries.toSorted((a, b) => b.at - a.at);
  }

  /** The newest entry of a vault that is of use in a state. */
  newestFor(here: Here, uuid: string): Entry | undefined {
    const { shown } = this.#parts;
    const wasHere = (entry: Entry) => isSamePlace(this.read(entry)?.address ?? "", shown);
    return this.of(uuid).find((entry) => isOf(here, entry) || wasHere(entry));
  }

  /** Keeps an exchange of a state, durably. That it cannot be written is a warning. */
  keep(state: string, rows: VaultRows, exchange: ExchangeRow): void {
    const { service, uuid } = rows;
    const now = Date.parse(rows.at);
    const made = rows.kept(exchange.newGeneration);
    const former = this.of(uuid);
    // The clock may have been set back since the last one.
    const at = Math.max(now, (former[0]?.at ?? 0) + 1);
    const kept = { uuid, state, at, fingerprint: made.fingerprint };
    const adopted: AdoptedExchange = {
      exchangeId: exchange.id,
      kind: exchange.kind,
      operation: exchange.operation as Operation,
      old: rows.openPair(rows.kept(exchange.baseGeneration)),
      new: rows.openPair(made),
      token: rows.openToken(exchange),
      tokenExpiry: exchange.tokenExpiry,
      externalRef: exchange.externalRef,
      unread: false,
    };
    const document = seal(rows.sealing, placeOf(kept, service), JSON.stringify(adopted));
    const contents: Contents = { service, address: this.#parts.shown, document };
    const isOld = ({ at }: Entry, index: number): boolean =>
      at < now - keptMs || index + 1 >= keptAtMost;
    try {
      ensurePrivateDirectory(this.#folderOf(kept.uuid));
      replaceFile(this.#pathOf(kept), JSON.stringify(contents));
      for (const old of former.filter(isOld)) rmSync(this.#pathOf(old), { force: true });
    } catch (error) {
      this.#parts.warn(
        `what this machine keeps of the exchange could not be written: ${(error as Error).message}`,
      );
    }
  }

  /** Reads an entry; null for one that is gone, or damaged. */
  read(entry: Entry): Contents | null {
    try {
      const { service, address, document } = JSON.parse(
        readFileSync(this.#pathOf(entry), "utf8"),
      ) as Contents;
      if ([service, address, document].every((text) => typeof text === "string"))
        return { service, address, document };
      throw new Error("a part of it is missing");
    } catch (error) {
      if (systemCode(error) !== "ENOENT") this.#setAside(entry, error);
      return null;
    }
  }

  /**
   * Makes this machine's last exchange with a vault just locked a candidate again, if unknown.
   * @throws `state` for one whose key is not available
   */
  async offer(
    session: Pick<StoredVaultSession, "adopt" | "recordPair" | "service" | "stored" | "uuid">,
    here: Here,
  ): Promise<void> {
    const { service, uuid } = session;
    const entry = this.newestFor(here, uuid);
    if (entry === undefined) return;
    const { credentials } = await session.stored();
    if (credentials.some(({ fingerprint }) => fingerprint === entry.fingerprint)) return;
    const { vault, superseded } = await session.stored([entry.fingerprint]);
    if (superseded.has(entry.fingerprint) || vault?.forgotten === true) return;
    if (entry.at <= Date.parse(vault?.forgottenAt ?? "")) return;
    const isOwn = isOf(here, entry);
    // A start that has succeeded in a state that was made anew had newer credentials.
    if (!isOwn && (vault?.provenAt ?? null) !== null) return;
    const kept = this.read(entry);
    if (kept?.service !== service) return;
    const exchange = await this.#open(entry, kept);
    if (exchange === null) return;
    try {
      // Another machine may have used the vault since; adopting would try both pairs.
      if (isOwn) await session.adopt(exchange);
      else await session.recordPair({ kind: exchange.kind, credentials: exchange.new });
    } catch (error) {
      // Another machine's start has proved since that its end call never arrived.
      if (error instanceof VaultError && error.code === "no-credentials") return;
      throw error;
    }
    this.#parts.warn(
      `the database had lost the last exchange of vault ${uuid}; its credentials are candidates again`,
    );
  }

  /** Null for one that is damaged. */
  async #open(entry: Entry, { service, document }: Contents): Promise<AdoptedExchange | null> {
    const { uuid } = entry;
    const keyId = keyIdOf(document);
    const key = await this.#parts.keyring.find(keyId).catch(() => null);
    if (key === null)
      throw new VaultError(
        "state",
        `the database has lost the last exchange of vault ${uuid}, and what this machine has kept of it is encrypted with key ${keyId}, which is not available`,
        {
          uuid,
          hint: `to go on without these credentials, move ${this.#folderOf(uuid)} elsewhere`,
          next: [noted(command`vault get ${uuid}`, "once its key file is back")],
        },
      );
    try {
      return JSON.parse(unseal(key, placeOf(entry, service), document)) as AdoptedExchange;
    } catch (error) {
      this.#setAside(entry, error);
      return null;
    }
  }

  /** Renames the file of an unusable entry, if that is possible, with a warning. */
  #setAside(entry: Entry, error: unknown): void {
    const path = this.#pathOf(entry);
    attempt(() => renameSync(path, `${path}.damaged`));
    const now = existsSync(path) ? "" : `, and is ${path}.damaged now`;
    this.#parts.warn(`${path} cannot be used (${(error as Error).message})${now}`);
  }

  #pathOf({ uuid, state, at, fingerprint }: Entry): string {
    return join(this.#folderOf(uuid), `${state}.${at}.${fingerprint}.json`);
  }

  #folderOf(uuid: string): string {
    return join(this.#folder, uuid.replaceAll(/[^\w-]/g, "_"));
  }
}

const placeOf = ({ state, uuid }: Entry, service: string): VaultPlace => ({
  state,
  service,
  uuid,
  column: "outbox.document",
  row: "",
});

const namesIn = (folder: string): string[] => attempt(() => readdirSync(folder)) ?? [];
