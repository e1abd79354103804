import { randomBytes } from "node:crypto";
import type { Actor } from "../actor.ts";
import { defined } from "../defined.ts";
import { VaultError, type ErrorFacts } from "../errors.ts";
import type { StartSuccess, VaultDates } from "../protocol/answers.ts";
import type { Kind, Operation } from "../protocol/endpoints.ts";
import type { Device } from "../protocol/fields.ts";
import type { Credentials } from "../protocol/requests.ts";
import { command, noted, type Way } from "../way.ts";
import type { Seen } from "./breaker.ts";
import type { ExchangeState, HoldReason, Standing } from "./states.ts";

/** Whether credentials may be valid, by what is known here. */
export const isLive = ({ standing }: { standing: Standing }): boolean =>
  ["current", "imported", "offered"].includes(standing);

/** Place of imported credentials among the candidates: they followed the current ones, or are older by the service's times. */
export type Placed = "successor" | "older";

export interface Generation {
  generation: number;
  standing: Standing;
  proven: boolean;
  /** SHA-256 over the length-prefixed lower-case uuid, encryptedData and payload; 64 hexadecimal digits. */
  fingerprint: string;
  device: Device | null;
  createdAt: string;
  /** Also known outside this state: imported, exported, in a recovery document, a backup or a copy. */
  elsewhere: boolean;
  /** A start with this pair was refused after it was last accepted. */
  refused: boolean;
  /** Nobody else can have made it stale (docs/design.md, Counting). */
  sole: boolean;
  placed: Placed | null;
}

/** A pair with its hashedPin, and nothing else. */
export function bareCredentials({ encryptedData, payload, hashedPin }: Credentials): Credentials {
  return defined({ encryptedData, payload, hashedPin });
}

/** A vault, by what people and the service call it. */
export interface Named {
  uuid: string;
  label: string | null;
}

/** Order of vaults in lists: by label without regard to case, those without one last; then by UUID. */
export function byLabel(a: Named, b: Named): number {
  if (a.label === null || b.label === null)
    return Number(a.label === null) - Number(b.label === null) || compare(a.uuid, b.uuid);
  return compare(a.label.toLowerCase(), b.label.toLowerCase()) || compare(a.uuid, b.uuid);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Operations that begin with a start. A delete is never acknowledged. */
export type JournalledOperation = Operation | "delete";

export interface ExchangeRecord {
  id: string;
  operation: JournalledOperation;
  kind: Kind;
  state: ExchangeState;
  externalRef: string;
  /** The pair it was started with. */
  baseGeneration: number;
  /** The pair it received; null before ②. */
  newGeneration: number | null;
  startedAt: string;
  tokenExpiry: string | null;
  /** From the start response. */
  usesRemaining: number | null;
  /** At ② the vault was known to allow a limited number of reads. */
  limited: boolean;
  holdReason: HoldReason | null;
  /** The contents are known to have been delivered whole. */
  delivered: boolean;
  /** A --save-cmd or --credentials-out is owed before an acknowledgement. */
  saveOwed: boolean;
  /** Number of end calls that may have been sent and were not answered. */
  endsUnanswered: number;
  acknowledgedAt: string | null;
  /** Adopted from a recovery document: the answer to its end call supersedes nothing. */
  adopted: boolean;
  /** Hash of the document that --save-cmd replaces: the one that the run has read, or saved last. */
  given: string | null;
  /** Who began or adopted it; null if that was not recorded. */
  by: Actor | null;
}

/** An exchange as documents and errors show it. `generation`: of the new credentials. */
type ExchangeSummary = NonNullable<ErrorFacts["exchange"]>;

/** What became of an exchange that an earlier run left, as in `settled` of the JSON documents. */
export type Settled = NonNullable<ErrorFacts["settled"]>[number];

/** How an exchange ended: only the service's answer decides it. */
export type EndOutcome = "acknowledged" | "expired" | "in-doubt";

export function settledAs(
  { id, operation, externalRef, startedAt, by }: Settled["exchange"],
  outcome: EndOutcome,
): Settled {
  const acknowledged = operation === "update" ? "applied" : "acknowledged";
  const words = { acknowledged, expired: "not-applied", "in-doubt": "in-doubt" } as const;
  const exchange = { id, operation, externalRef, startedAt, by };
  return { exchange, operation, outcome: words[outcome] };
}

/** An exchange as the journal has it, also one that its vault does not have any more. */
export interface PastExchange {
  /** Without its token and generation. */
  exchange: ExchangeSummary;
  /** When and by whom it came into its state. */
  changedAt: string;
  changedBy: Actor | null;
}

/** An exchange that can be acknowledged, or was: it is at ② at least. */
export type OpenExchange = ExchangeRecord & { operation: Operation; newGeneration: number };

/** What a start response says about the vault, besides its contents. */
interface VaultFacts extends VaultDates {
  usesRemaining: number | null;
  /** The vault is known to allow a limited number of reads. */
  limited: boolean;
}

export interface VaultRecord extends VaultFacts {
  /** Origin, path and prefix of the service, as `serviceName` writes it. */
  service: string;
  uuid: string;
  kind: Kind;
  label: string | null;
  /** Generations whose pair is still kept, newest first. Forgotten vaults have none. */
  generations: Generation[];
  unackedStarts: number;
  failedAttempts: number;
  /** The part of `failedAttempts` that is uncertain: starts of unknown outcome. */
  possiblyFailed: number;
  /** The part of `unackedStarts` that got no answer. */
  unansweredStarts: number;
  /** When a start last succeeded here; null if none has. */
  provenAt: string | null;
  /** The start of the newest get whose contents arrived here. */
  lastReadAt: string | null;
  lastError: { at: string; code: string; message: string } | null;
  /** The exchange in one of the open states; at most one exists at a time. */
  open: OpenExchange | null;
  /** The newest exchange, whatever its state. */
  last: ExchangeRecord | null;
  /** Those that the state keeps, newest first. */
  exchanges: ExchangeRecord[];
}

/** What ① records. */
export interface Intent {
  exchangeId: string;
  operation: JournalledOperation;
  kind: Kind;
  externalRef: string;
  generation: number;
  /** With sole credentials, an unanswered start is no possibly failed attempt. */
  sole: boolean;
  /** What the start has seen of the circuit breaker; null for one that goes past it. */
  seen: Seen | null;
  /** The run that it is begun in. */
  run?: RunPart | undefined;
}

/** The part that an exchange has in a run of many vaults. */
export interface RunPart {
  name: string;
  /** Of the contents that an update sends: tells whether a repetition would send others. */
  digest?: string | undefined;
  /** Of where a read delivers its contents: a run has one place. */
  delivery?: string | undefined;
}

/** The newest exchange of a vault that was begun in a run. */
export interface RunExchange extends Pick<
  ExchangeRecord,
  "id" | "operation" | "state" | "delivered"
> {
  /** In lower case. */
  uuid: string;
  digest: string | null;
  delivery: string | null;
}

/** What ② records: all that a start response says, but for the contents. */
export interface Started extends Omit<StartSuccess, "vault" | "warnings"> {
  /** The vault is known to allow a limited number of reads. */
  limited: boolean;
  hashedPin?: string | undefined;
  device?: Device | undefined;
  /** The combination that was accepted (`combinationOf`), which clears its refusal. */
  combination: string;
  /** The new pair will leave this state: in a recovery document, or with the contents. */
  elsewhere: boolean;
  /** Hash of the document that --save-cmd replaces. */
  given?: string | undefined;
  /** A person has said to drop what was left: that is told, too. */
  discardPending?: boolean;
}

/** What `guard --reset` makes of the counters: zero, without unanswered starts, or what the audit log shows. */
export type CounterReset =
  "all" | "unanswered" | Partial<Pick<VaultRecord, "unackedStarts" | "failedAttempts">>;

export interface ErrorNote {
  code: string;
  /** With secrets replaced. */
  message: string;
}

export interface NewPair {
  credentials: Credentials;
  kind: Kind;
  device?: Device | undefined;
  label?: string | undefined;
}

/** A vault that is being created. Until the service answers, only the external reference can identify it. */
export interface Creation {
  id: string;
  service: string;
  kind: Kind;
  externalRef: string;
}

/** What the service returned for a creation. */
export interface CreatedVault extends VaultFacts, Omit<NewPair, "kind"> {
  uuid: string;
}

/** What a state needs of the recovery document of an exchange that it adopts. */
export interface AdoptedExchange extends Pick<OpenExchange, "operation" | "kind" | "tokenExpiry"> {
  exchangeId: string;
  old: Credentials;
  new: Credentials;
  token: string;
  device?: Device | undefined;
  externalRef?: string | null;
  /** A read of a limited vault that was not delivered: it waits for a decision. */
  unread?: boolean | undefined;
}

/** What a recovery document became: an open exchange; candidates alone, because another one is open; or nothing new. */
export type AdoptionOutcome = "open" | "candidates" | "known";

/** @throws `internal` if the exchange is not the open one */
export function openExchange({ open }: VaultRecord, id: string): OpenExchange {
  if (open?.id !== id)
    throw new VaultError("internal", `exchange ${id} is not the open one of this vault`);
  return open;
}

export const currentGeneration = ({
  generations,
}: Pick<VaultRecord, "generations">): Generation | undefined =>
  generations.find((g) => g.standing === "current");

/** A read whose contents nobody may have seen. */
export const isUndelivered = ({
  operation,
  delivered,
}: Pick<ExchangeRecord, "delivered" | "operation">): boolean => operation === "get" && !delivered;

/** Such a read of a limited vault: acknowledging it uses it up. */
export const isUnread = (
  exchange: Pick<ExchangeRecord, "delivered" | "limited" | "operation">,
): boolean => exchange.limited && isUndelivered(exchange);

export function summarize<Of extends ExchangeRecord>(exchange: Of) {
  const { id, state, externalRef, startedAt, tokenExpiry, by } = exchange;
  const operation: Of["operation"] = exchange.operation;
  const generation: Of["newGeneration"] = exchange.newGeneration;
  return { id, operation, state, externalRef, startedAt, tokenExpiry, generation, by };
}

/**
 * When a token expires, in milliseconds since the epoch by the clock of the state: good enough to choose words and to stop waiting, never
 * to settle anything. A token of unknown lifetime is assumed to live for a day.
 */
export function tokenExpiresAt({
  tokenExpiry,
  startedAt,
}: Pick<ExchangeRecord, "tokenExpiry" | "startedAt">): number {
  return tokenExpiry === null ? Date.parse(startedAt) + 86_400_000 : Date.parse(tokenExpiry);
}

/** The command for a vault that is locked: the counters begin anew once an administrator has unlocked it. */
export const unlockedOf = (uuid: string): Way =>
  noted(command`vault guard ${uuid} --reset`, "after an administrator has unlocked the vault");

/** The command that finds or takes the right credentials, if those that are known do not work. */
export const importOf = (uuid: string, ...more: readonly string[]): Way =>
  noted(command`vault import ${uuid} ${more} --credentials @FILE`, "the right credentials");

export const noCredentials = (uuid: string): VaultError =>
  new VaultError("no-credentials", `no credentials are known for vault ${uuid} at this service`, {
    uuid,
    next: [
      command`vault import ${uuid} --kind KIND --credentials @FILE`,
      command`vault get ${uuid} --kind KIND --credentials @FILE`,
    ],
  });

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A new ULID: 10 characters of time in milliseconds, of which a database's clock has fractions, and 16 random ones. */
export const newId = (clock: { now(): number }): string =>
  firstIdAt(Math.floor(clock.now())) +
  Array.from(randomBytes(16), (byte) => alphabet[byte % 32]).join("");

/** An id that sorts before all of that time, in milliseconds since the epoch, and after all of before it. */
export const firstIdAt = (time: number): string =>
  Array.from(time.toString(32), (digit) => alphabet[Number.parseInt(digit, 32)])
    .join("")
    .padStart(10, "0");
