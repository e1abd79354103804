import type { ErrorFacts } from "../../errors.ts";
import type { Address } from "./address.ts";
import { command } from "../../way.ts";

/** Why a database cannot be used, and the way out. */
export interface Reason extends WayOut {
  why: string;
}

export type WayOut = Pick<ErrorFacts, "hint" | "next" | "isMissing" | "retry">;

type Reasons = Readonly<Record<string, Reason>>;

/** What is said of a server that sends more than is read. */
export const tooMuchSaid = "the server sends too much, or is not PostgreSQL";

/** The longest text of a server that is shown, in characters. */
const shownCharacters = 300;

/** A text of a server, on one line and short. */
export function brief(text: string): string {
  const line = text
    .slice(0, 2 * shownCharacters)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length <= shownCharacters ? line : `${line.slice(0, shownCharacters)}…`;
}

/** Why a server let nobody in, said of the server: by SQLSTATE or the code of the system, or by the message where there is none. */
export function connectionReason(
  { password }: Pick<Address, "password">,
  code: string,
  text: string,
): Reason {
  const message = brief(text);
  const setPassword = "set PGPASSWORD, or put the password into ~/.pgpass";
  if (password === "" && (code === "28P01" || message.includes("password must be")))
    return { why: "asks for a password, and none is known", hint: setPassword };
  if (code === "28P01") return { why: "refused the password", hint: setPassword };
  if (/certificate|self.signed|altnames/i.test(`${code} ${message}`)) {
    // What follows is advice about Node.js.
    const [said = ""] = message.split(";");
    return {
      why: `has a certificate that is not trusted (${said})`,
      hint: "sslrootcert=FILE in the address, with the authority's certificate; and the host as the certificate names it",
    };
  }
  if (message === tooMuchSaid) return { why: "sends too much, or is not PostgreSQL" };
  if (/^SASL: Only|authenticationOk message/.test(message))
    return {
      why: "asks for a login that this program does not offer",
      hint: "scram-sha-256 in pg_hba.conf of the server",
    };
  if (message.startsWith("SASL"))
    return { why: `does not prove that it knows the password (${message})` };
  if (message.includes("does not support SSL"))
    return {
      why: "does not offer TLS",
      hint: "configure TLS on the server; only on a network of your own: sslmode=disable",
    };
  const why = /^[0-9A-Z]{5}$/.test(code)
    ? `refused the connection (${message}, ${code})`
    : `cannot be reached (${code || message})`;
  const isLasting = /^(?:28|3D|42)/.test(code);
  return isLasting
    ? { why }
    : { why, hint: "run it again when the database is there", retry: "safe" };
}

/** Why a place without a state cannot be used: none was made there, or somebody has dropped it. */
export function nothingThere({ reached }: Address): Reason {
  const next = [
    command`vault state init --state ${reached}`,
    { ...command`vault state restore FILE`, note: "then, after a loss" },
  ];
  return { why: "it holds no state", next, isMissing: true };
}

/** A state that an older version of this program has made. */
export const olderVersion = {
  why: "it is of an older version",
  next: [command`vault state init`],
} satisfies Reason;

/** Why a statement was refused, by SQLSTATE; nothing was changed. */
export function refusalReason(address: Address, code: string, text: string): Reason {
  const { database, reached, user } = address;
  const message = brief(text);
  const byOwner = reached.replace(/\/\/[^@]*@/, "//OWNER@");
  const granting = command`vault state init --state ${byOwner} --grant ${user}`;
  const isMissing = nothingThere(address);
  const timeLimit = {
    why: `a time limit of the server ended a statement (${message})`,
    hint: `raise it for the role ${user}`,
    retry: "safe",
  } as const;
  const by: Reasons = {
    "3F000": isMissing,
    "42P01": isMissing,
    "42703": olderVersion,
    "42501": {
      why: `its role ${user} lacks a right (${message})`,
      ...(message.includes("for database")
        ? {
            hint: `OWNER can also run: GRANT CREATE ON DATABASE ${database} TO ${user}`,
            next: [{ ...granting, note: "OWNER owns the database" }],
          }
        : { next: [{ ...granting, note: "OWNER is the role that made the state" }] }),
    },
    "25006": { why: "it is a read-only standby, or default_transaction_read_only is set" },
    "53100": { why: "the server's disk is full" },
    "55P03": timeLimit,
    "57014": timeLimit,
  };
  return by[code] ?? { why: `the server says ${message} (${code})` };
}
