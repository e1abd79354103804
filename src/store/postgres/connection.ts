import pg from "pg";
import { VaultError } from "../../errors.ts";
import type { Statement } from "../statement.ts";
import type { Address } from "./address.ts";
import type { Wire } from "./client.ts";
import { answerBytes, PlainClient, wholeAnswerBytes } from "./client.ts";
import type { WayOut } from "./reasons.ts";
import { brief, refusalReason } from "./reasons.ts";

export type Row = Record<string, unknown>;

/** How long what reads or writes the whole state may take, in milliseconds. */
export const wholeMs = 600_000;

/** Errors of a transaction that has changed nothing and may be run again: a conflict with another one, and a deadlock. */
export const repeatable = ["40001", "40P01"];

/** Errors of those that make something at the same time as somebody else: a row, or a part of the schema. */
export const alreadyThere = ["23505", "42P06", "42P07", "42701", "42710", "XX000"];

/** The error for a label that another vault has: no other column of a step is unique over all vaults. */
export const labelTwice = "23505";

/** Errors after which there is no connection any more. Words like FATAL are in the language of the server. */
const fatal = /^(?:08...|57P..|25P0[345])$/;

/** The error of a statement that the server has refused: nothing of its transaction was done. */
export class Refused extends VaultError {
  readonly sqlState: string;

  constructor(address: Address, sqlState: string, message: string) {
    const { why, ...out } = refusalReason(address, sqlState, message);
    const retry = repeatable.includes(sqlState) ? "safe" : undefined;
    super("state", unusable(address, why), { retry, ...out });
    this.sqlState = sqlState;
  }
}

/** The error where the answer is lost: what was sent to the database may have been done. */
export class AnswerLost extends VaultError {
  constructor(address: Address, why: string) {
    super("state", `the connection to the state ${address.shown} was lost: ${brief(why)}`, {
      hint: "run it again when the database is there; what was not recorded was not sent",
      retry: "safe",
    });
  }
}

/**
 * One connection to PostgreSQL. Uses nothing that lives as long as a session, so that a pooler in transaction mode does as well;
 * statements go out together, in one round trip.
 */
export class Connection extends PlainClient {
  /** Why it is of no use any more. */
  dead: Error | null = null;
  readonly #address: Address;
  /** How often it was said that a commit may not be durable, and the last time. */
  #notices = 0;
  #notice = "";

  constructor(address: Address, config: pg.ClientConfig) {
    super(config);
    this.#address = address;
    this.on("error", (error: Error) => (this.dead ??= error));
    this.on("end", () => (this.dead ??= new Error("the connection was closed")));
    this.on("notice", ({ code, message }) => {
      if (code !== "01000") return;
      this.#notices += 1;
      this.#notice = message ?? "";
    });
  }

  /**
   * Sends all at once; the first failure is thrown when all are answered.
   * @throws {AnswerLost} if they may have been run
   * @throws {Refused} if they were not
   * @throws `state` if they may get lost although they were committed
   */
  async send(statements: readonly Statement[], mayTakeMs: number): Promise<pg.QueryResult<Row>[]> {
    if (this.dead !== null) throw new AnswerLost(this.#address, this.dead.message);
    const { stream } = (this as unknown as Wire).connection;
    const timer = setTimeout(() => {
      this.dead ??= new Error("no answer in time");
      // A query that is not answered must not be answered later.
      stream.destroy();
    }, mayTakeMs);
    const noticed = this.#notices;
    this.inbound.allow(mayTakeMs === wholeMs ? wholeAnswerBytes : answerBytes);
    // In one piece: `pg` writes five times for each.
    stream.cork();
    const sent = statements.map(
      async ({ sql, values }) => await this.query<Row>(sql, [...(values ?? [])]),
    );
    stream.uncork();
    const answers = await Promise.allSettled(sent);
    clearTimeout(timer);
    const failed = answers.find((answer) => answer.status === "rejected");
    if (failed !== undefined) throw this.#failure(failed.reason as Error);
    if (this.#notices > noticed)
      throw cannotBeUsed(this.#address, `a commit may not be durable (${brief(this.#notice)})`);
    return answers.map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult<Row>>).value);
  }

  /** Closes without waiting. */
  close(): void {
    this.dead ??= new Error("the connection was closed");
    void this.end().catch(() => undefined);
  }

  #failure(reason: Error): VaultError {
    // The connection's own failures have no code, or one of the system, like EPIPE.
    const code = codeOf(reason);
    if (reason instanceof pg.DatabaseError && !fatal.test(code))
      return new Refused(this.#address, code, reason.message);
    this.dead ??= reason;
    return new AnswerLost(this.#address, this.dead.message);
  }
}

/** The code of an error of the server (SQLSTATE, five characters) or of the system; else empty. */
export function codeOf(error: unknown): string {
  if (error instanceof Refused) return error.sqlState;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether a row that was not to be waited for is locked. */
export const isLocked = (error: unknown): boolean => codeOf(error) === "55P03";

/** The error for a shared state that cannot be used; nothing was sent to the service. */
export const cannotBeUsed = (address: Address, why: string, out: WayOut = {}): VaultError =>
  new VaultError("state", unusable(address, why), out);

const unusable = ({ shown }: Address, why: string): string =>
  `the state ${shown} cannot be used: ${why}`;
