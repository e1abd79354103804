import { deriveKey } from "../../src/secrets/sealing.ts";
import type { MergedVault } from "../../src/store/backup/merge/merge-state.ts";
import { mergeOpened, opened, sealed } from "../../src/store/backup/merge/merge-state.ts";
import { liveGeneration } from "../../src/store/steps/generations.ts";
import * as ends from "../../src/store/steps/end.ts";
import { openCredentials } from "../../src/store/steps/sealed.ts";
import { vaultRecord } from "../../src/store/vault-record.ts";
import { candidates } from "../../src/exchange/next-action.ts";
import { adopt, recordPair } from "../../src/store/steps/import.ts";
import type { CredentialsRow, VaultRows } from "../../src/store/steps/rows.ts";
import { unknownVault } from "../../src/store/steps/rows.ts";
import * as starts from "../../src/store/steps/start.ts";
import * as vaults from "../../src/store/steps/vault.ts";
import { intent, lower, pair, problem, service, started } from "../contract/store-fixture.ts";

const key = deriveKey(Buffer.alloc(32, 7));

/** How far an exchange gets. */
export const stages = [
  "intent",
  "started",
  "held",
  "ending",
  "in-doubt",
  "expired",
  "discarded",
  "rejected",
  "acknowledged",
] as const;
type Stage = (typeof stages)[number];

/** The time of a world whose states are compared: a minute a step. A token lives for five. */
export class Minutes {
  n = 0;
  readonly at = (n = this.n): string =>
    new Date(Date.parse("2026-11-21T10:00:00Z") + n * 60_000).toISOString();
}

/** A state with one vault, changed by the steps that engines run. Names of exchanges and credentials are the caller's. */
export class OneVault {
  readonly minutes: Minutes;
  rows: VaultRows;

  constructor(
    minutes: Minutes,
    place: { service: string; uuid: string } = { service, uuid: lower },
  ) {
    this.minutes = minutes;
    this.rows = unknownVault({ ...place, at: minutes.at() });
  }

  copy(): OneVault {
    const other = new OneVault(this.minutes);
    other.rows = structuredClone(this.rows);
    return other;
  }

  /** Runs a step, which changes nothing if it throws. */
  run(step: (rows: VaultRows) => void): void {
    this.minutes.n += 1;
    const rows = { ...structuredClone(this.rows), at: this.minutes.at() };
    step(rows);
    const isForgotten = rows.vault?.forgotten === true;
    this.rows = isForgotten ? { ...rows, credentials: [], exchanges: [] } : rows;
  }

  current = (): CredentialsRow | undefined =>
    this.rows.credentials.find(({ standing }) => standing === "current");
  generation = (name: string): number =>
    this.rows.credentials.findLast((row) => this.nameOf(row) === name)?.generation ?? 0;
  nameOf = (row: CredentialsRow): string =>
    row.sealed === null
      ? ""
      : openCredentials(key, this.rows, row).payload.replace("payload-of-", "");

  import(name: string, hashedPin?: string): this {
    const credentials = { ...pair(name), ...(hashedPin === undefined ? {} : { hashedPin }) };
    return this.does(
      (rows) => void recordPair(rows, key, { credentials, kind: "credit-card/offline" }),
    );
  }

  adopt(id: string, [old, made]: [string, string], unread = false): this {
    const tokenExpiry = this.minutes.at(this.minutes.n + 5);
    const more = {
      operation: "get",
      kind: "credit-card/offline",
      token: `token-${id}`,
      tokenExpiry,
      unread,
    } as const;
    this.run(
      (rows) => void adopt(rows, key, { exchangeId: id, old: pair(old), new: pair(made), ...more }),
    );
    return this;
  }

  /** An exchange with the current credentials, or the named ones, that brings `made` and gets as far as `stage`. */
  exchange(id: string, made: string, stage: Stage = "acknowledged", base?: string): this {
    const generation =
      base === undefined
        ? (this.current()?.generation ?? this.rows.credentials.at(-1)?.generation ?? 0)
        : this.generation(base);
    this.run((rows) => starts.recordIntent(rows, () => key, intent(id, generation)));
    const name = this.rows.credentials.find((row) => row.generation === generation);
    const combination = `combination-of-${name === undefined ? "" : this.nameOf(name)}`;
    if (stage === "intent") return this;
    if (stage === "rejected")
      return this.does((rows) =>
        starts.reject(rows, id, combination, { code: "rejected", message: "no" }),
      );
    if (stage === "discarded") return this.does((rows) => starts.revertIntent(rows, id, problem));
    const tokenExpiry = this.minutes.at(this.minutes.n + 5);
    this.run(
      (rows) =>
        void starts.recordStarted(rows, key, id, started(made, { combination, tokenExpiry })),
    );
    return this.goOn(id, stage);
  }

  /** Takes an exchange after step 2 as far as `stage`. */
  goOn(id: string, stage: Stage): this {
    if (stage === "held")
      return this.does((rows) =>
        ends.hold(rows, id, "no-ack", { delivered: true, saveOwed: false }),
      );
    if (stage === "started") return this;
    this.run((rows) => ends.recordEnding(rows, id, true));
    return stage === "ending" ? this : this.settle(id, stage);
  }

  /** The end of an exchange whose end call may have been sent. */
  settle(id: string, stage: Stage): this {
    if (stage === "acknowledged") return this.does((rows) => ends.acknowledge(rows, id));
    if (stage === "expired") return this.does((rows) => ends.expire(rows, id, problem));
    return this.does((rows) => ends.markInDoubt(rows, id, problem));
  }

  does(step: (rows: VaultRows) => void): this {
    this.run(step);
    return this;
  }

  forget = (): this => this.does(vaults.forget);
  label = (label: string): this => this.does((rows) => vaults.setLabel(rows, label));
  gone = (): this =>
    this.does(
      (rows) =>
        void (rows.vault && (rows.vault.lastError = { at: "", code: "gone", message: "no" })),
    );

  delete(id: string): this {
    const generation = this.current()?.generation ?? 0;
    this.run((rows) =>
      starts.recordIntent(rows, () => key, intent(id, generation, { operation: "delete" })),
    );
    return this.does((rows) => vaults.recordDeleted(rows, id));
  }

  /** What a backup of it holds, with its secrets open. */
  contents(): VaultRows {
    return { ...opened(structuredClone(this.rows), key), at: "", journal: [], begunIn: null };
  }

  /** Merges a file into it. `labels` are those of other vaults here. */
  restore(file: VaultRows, now?: number, labels = new Set<string>()): MergedVault {
    this.minutes.n += 1;
    const time = now ?? Date.parse(this.minutes.at());
    const rows = { ...this.contents(), at: new Date(time).toISOString() };
    const superseded = new Set(
      [...rows.superseded].filter((print) => liveGeneration(rows, print) === undefined),
    );
    const merged = mergeOpened(rows, structuredClone(file), { now: time, superseded }, labels);
    this.rows = { ...sealed(rows, key), journal: [] };
    return merged;
  }

  /** Names of the credentials that a start would try, in this order. */
  candidates(): string[] {
    const { credentials } = this.rows;
    const record = vaultRecord(this.rows);
    if (record === null) return [];
    const numbers = candidates(record).map(({ generation }) => generation);
    return numbers.map((n) =>
      credentials
        .filter(({ generation }) => generation === n)
        .map(this.nameOf)
        .join(),
    );
  }

  /** Names of the credentials that the service has proven to this state. */
  proven = (): string[] =>
    this.rows.credentials
      .filter((row) => row.proven && row.standing !== "superseded")
      .map(this.nameOf);

  counters() {
    const {
      unackedStarts: starts = 0,
      failedAttempts: failed = 0,
      possiblyFailed: possibly = 0,
    } = vaultRecord(this.rows) ?? {};
    return { starts, failed, possibly };
  }

  states = (): string[] => this.rows.exchanges.map(({ id, state }) => `${id} ${state}`);
}
