import { VaultError, type ErrorFacts } from "../../errors.ts";
import { command, noted } from "../../way.ts";
import type { Address } from "./address.ts";

/** Errors of a transaction that changed nothing and may be repeated: a conflict, and a deadlock. */
export const repeatable = ["40001", "40P01"];

/** Errors of making something when somebody else does: a row, or a part of the schema. */
export const alreadyThere = ["23505", "42P06", "42P07", "42701", "42710", "XX000"];

/** The error for a label that another vault has: a step's only column unique over all vaults. */
export const labelTwice = "23505";

/** The error for a shared state that cannot be used; nothing was sent to the service. */
export const cannotBeUsed = ({ shown }: Address, why: string, facts: ErrorFacts = {}): VaultError =>
  new VaultError("state", `the state ${shown} cannot be used: ${why}`, facts);

/** The error if the answer is lost: what was sent to the database may have been done. */
export class AnswerLost extends VaultError {
  constructor({ shown }: Address, why: string) {
    super("state", `the connection to the state ${shown} was lost: ${brief(why)}`, {
      hint: "run it again when the database is there; what was not recorded was not sent",
      retry: "safe",
    });
  }
}

/** The code of an error or its cause: SQLSTATE (five characters), of the system, or empty. */
export function codeOf(error: unknown): string {
  const cause = error instanceof VaultError ? error.facts.cause : error;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether a row that was not to be waited for is locked. */
export const isLocked = (error: unknown): boolean => codeOf(error) === "55P03";

/** The cause if no server answers, or it has no such database or state: else one may be there. */
export const absent = { code: "absent" };

/** A text of a server, on one line and short. */
export const brief = (text: string): string => text.slice(0, 300).replaceAll(/\s+/g, " ").trim();

/** What says that no server answers. */
const nobody =
  /^(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EPIPE|ETIMEDOUT) |^ .*(?:in time|terminated|timeout)/i;

/** Why a server is of no use, said of the server, and the way out; a `cause` if one may be there. */
export function connectionReason(cause: unknown): ErrorFacts & { why: string } {
  const code = codeOf(cause);
  // What follows is advice about Node.js.
  const [message = ""] = brief((cause as Error).message).split(";");
  const why = /^[0-9X]....$/.test(code)
    ? `refused the connection (${message}, ${code})`
    : `cannot be reached (${message || code})`;
  const byCertificate =
    "sslrootcert=FILE in the address, with the authority's certificate; and the host as the certificate names it";
  const byServer = "configure TLS on the server; only on a network of your own: sslmode=disable";
  const byPassword = "set PGPASSWORD, or put the password into ~/.pgpass";
  const byTime = "run it again when the database is there";
  const ways: [RegExp, ErrorFacts][] = [
    [/28P01|password must be/, { hint: byPassword, cause }],
    [/^(?:28|42)/, { cause }],
    [/certificate|self.signed|altnames/i, { hint: byCertificate, cause }],
    [/not support SSL/, { hint: byServer, cause }],
    [/^3D|no such database/i, {}],
    [nobody, { hint: byTime, retry: "safe" }],
    [/(?:)/, { hint: byTime, retry: "safe", cause }],
  ];
  return { why, ...ways.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1] };
}

/** The error for a place without a state: none was made there, or somebody has dropped it. */
export const nothingThere = (address: Address): VaultError =>
  cannotBeUsed(address, "it holds no state", {
    next: [
      command`vault state init --state ${address.shown}`,
      noted(command`vault state restore FILE --state ${address.shown}`, "then, after a loss"),
    ],
    cause: absent,
  });

export const olderVersion = (address: Address): VaultError =>
  cannotBeUsed(address, "it is of an older version", {
    next: [command`vault state init --state ${address.shown}`],
  });

/** The error for a statement that was refused, by SQLSTATE; nothing of its transaction was done. */
export function refusal(address: Address, code: string, cause: Error): VaultError {
  const { shown, user } = address;
  const text = brief(cause.message);
  if (code === "3F000" || code === "42P01") return nothingThere(address);
  if (code === "42703") return olderVersion(address);
  if (code === "42501") {
    const byOwner = shown.replace(/\/\/[^@]*@/, "//OWNER@");
    const granting = command`vault state init --state ${byOwner} --grant ${user}`;
    const note = "OWNER is the role that made the state, or owns the database";
    return cannotBeUsed(address, `its role ${user} lacks a right (${text})`, {
      next: [{ ...granting, note, fill: [byOwner] }],
      cause,
    });
  }
  // The latter two are time limits.
  const isSafe = [...repeatable, "55P03", "57014"].includes(code);
  const retry = isSafe ? "safe" : undefined;
  return cannotBeUsed(address, `the server says ${text} (${code})`, { retry, cause });
}
