import { deriveKey } from "../../src/secrets/sealing.ts";
import type { RestoredVault } from "../../src/documents/state.ts";
import { restoreVault } from "../../src/store/backup/restore-vault.ts";
import { columnsOf, rowsOf } from "../../src/store/document.ts";
import { candidates } from "../../src/exchange/next-action.ts";
import { VaultRows, type CredentialsRow } from "../../src/store/steps/rows.ts";
import * as exchanges from "../../src/store/steps/exchange.ts";
import * as vaults from "../../src/store/steps/vault.ts";
import { intent, lower, pair, problem, service, started } from "../contract/store-fixture.ts";

/** The key that seals every state here. */
export const key = deriveKey(Buffer.alloc(32, 7));

/** How far an exchange gets. */
type Stage =
  | "intent"
  | "started"
  | "held"
  | "ending"
  | "in-doubt"
  | "expired"
  | "discarded"
  | "rejected"
  | "acknowledged";

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
  /** Exchanges in the journal. */
  past = new Set<string>();

  constructor(minutes: Minutes) {
    this.minutes = minutes;
    this.rows = new VaultRows({ service, uuid: lower, at: minutes.at() });
  }

  copy(): OneVault {
    const other = new OneVault(this.minutes);
    other.rows = this.rows.copy();
    other.past = new Set(this.past);
    return other;
  }

  /** Runs a step, which changes nothing if it throws. */
  run<T>(step: (rows: VaultRows) => T, n = (this.minutes.n += 1)): T {
    const after = this.rows.with({ at: this.minutes.at(n), key }).copy();
    const result = step(after);
    after.trim();
    for (const { exchange } of after.journal) if (exchange !== null) this.past.add(exchange);
    // As it is stored, which asserts what must be true of every vault.
    const stored = after.vault === null ? after : rowsOf(columnsOf(after), after.since, after.at);
    for (const print of after.superseded) stored.superseded.add(print);
    this.rows = stored.with({ key: undefined });
    return result;
  }

  current = (): CredentialsRow | undefined =>
    this.rows.credentials.find(({ standing }) => standing === "current");
  generation = (name: string): number =>
    this.rows.credentials.findLast((row) => this.nameOf(row) === name)?.generation ?? 0;
  nameOf = (row: CredentialsRow): string =>
    row.sealed === null ? "" : this.rows.openPair(row, key).payload.replace("payload-of-", "");

  import(name: string): this {
    const given = { credentials: pair(name), kind: "credit-card/offline" } as const;
    return this.does((rows) => void vaults.recordPair(rows, given));
  }

  /** An exchange with the current credentials, or the named ones, that brings `made` and gets as far as `stage`. */
  exchange(id: string, made: string, stage: Stage = "acknowledged", base?: string): this {
    const generation =
      base === undefined
        ? (this.current()?.generation ?? this.rows.credentials.at(-1)?.generation ?? 0)
        : this.generation(base);
    this.run((rows) => exchanges.recordIntent(rows, intent(id, generation)));
    const name = this.rows.credentials.find((row) => row.generation === generation);
    const combination = `combination-of-${name === undefined ? "" : this.nameOf(name)}`;
    if (stage === "intent") return this;
    if (stage === "rejected")
      return this.does((rows) =>
        exchanges.noteOutcome(
          rows,
          id,
          "refused",
          { code: "rejected", message: "no" },
          combination,
        ),
      );
    if (stage === "discarded")
      return this.does((rows) => exchanges.noteOutcome(rows, id, "free", problem));
    const tokenExpiry = this.minutes.at(this.minutes.n + 5);
    this.run((rows) =>
      exchanges.recordStarted(rows, id, started(made, { combination, tokenExpiry })),
    );
    return this.goOn(id, stage);
  }

  /** Takes an exchange after step 2 as far as `stage`. */
  goOn(id: string, stage: Stage): this {
    if (stage === "held")
      return this.does((rows) =>
        exchanges.hold(rows, id, "no-ack", { delivered: true, saveOwed: false }),
      );
    if (stage === "started") return this;
    this.run((rows) => exchanges.recordEnding(rows, id, true));
    return stage === "ending" ? this : this.settle(id, stage);
  }

  /** The end of an exchange whose end call may have been sent. */
  settle(id: string, stage: Stage): this {
    if (stage === "acknowledged") return this.does((rows) => exchanges.acknowledge(rows, id));
    if (stage === "expired")
      return this.does((rows) => exchanges.settle(rows, id, "expired", problem));
    return this.does((rows) => exchanges.settle(rows, id, "in-doubt", problem));
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
      exchanges.recordIntent(rows, intent(id, generation, { operation: "delete" })),
    );
    return this.does((rows) => exchanges.recordDeleted(rows, id));
  }

  /** What a backup has of it. */
  backup(): VaultRows {
    return this.rows.copy();
  }

  /** Restores what a backup has; `n` is the minute of that. */
  restore(file: VaultRows, n?: number, isLabelTaken = false): RestoredVault {
    const { past } = this;
    const theirs = file.copy();
    return this.run((rows) => restoreVault(rows, theirs, { past, isLabelTaken }), n);
  }

  /** Names of the credentials that a start would try, in this order. */
  candidates(): string[] {
    const { credentials } = this.rows;
    const record = this.rows.record();
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
    } = this.rows.record() ?? {};
    return { starts, failed, possibly };
  }
}
