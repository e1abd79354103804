import { VaultError } from "../../errors.ts";
import { command } from "../../way.ts";
import type { Kind, Operation } from "../../protocol/endpoints.ts";
import { findEndpoint, isOnline, kindList, kinds } from "../../protocol/endpoints.ts";
import type { CreditCard, Device } from "../../protocol/fields.ts";
import type { JournalledOperation, KnownVault, RunPart } from "../records.ts";
import type { GivenCredentials } from "../recovery.ts";

/** `newVault` of an update, or what a `vault` is created with. */
export type VaultContents = { creditCard: CreditCard } | { content: string };

/** What a person asks for with one vault, checked as far as that needs no lock. */
export interface Start {
  uuid: string;
  /** As far as it is known, for what is said of the vault. */
  label: string | null;
  operation: Operation;
  kind: Kind;
  /** A pair, or a recovery document in its place, with the counters that came with it. */
  given?: GivenCredentials | undefined;
  /** Replaces the hashedPin of the given or stored credentials. */
  hashedPin?: string | undefined;
  device?: Device | undefined;
  /** The stored pair to send, in place of all that may be valid. */
  generation?: number | undefined;
  /** Sends it whatever the guard says. */
  force: boolean;
  /** By default contains the exchange's id, so that audit items can be matched with the journal. */
  externalRef?: string | undefined;
  /** Updates only: the new contents, `newVault` of the interface. */
  newVault?: VaultContents | undefined;
  /** Hold the exchange after the delivery. */
  noAck: boolean;
  /** Another program has a part in the delivery, and the end call waits for it. */
  takesTime?: boolean | undefined;
  /** Start again with the old credentials, although an exchange is open. */
  discardPending: boolean;
  /** The part that the exchange has in a run of many vaults. */
  run?: RunPart | undefined;
}

/** A start whose kind is as yet as the command line has it, if at all. */
export type Unchecked = Omit<Start, "kind"> & { kind?: Kind | undefined };

/** What the service counts toward lockout: a start, or a delete. */
export type Counted = Omit<Unchecked, "operation"> & { operation: JournalledOperation };

/**
 * Checks all of a start that can be refused without a lock: kind, endpoint, device. Returns the kind.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
export function checkStart(
  record: KnownVault | null,
  start: Pick<Unchecked, "device" | "given" | "kind" | "uuid"> & Pick<Counted, "operation">,
): Kind {
  const { uuid, operation, given } = start;
  const known = record !== null && record.generations.length > 0;
  if (!known && given === undefined) throw noCredentials(uuid);
  // A delete has its endpoint for every kind, and goes with the device of the credentials.
  if (operation === "delete") return chooseKind(uuid, record, undefined);
  // A recovery document has been adopted, with the kind that it says.
  const kind = chooseKind(uuid, record, given?.type === "recovery" ? undefined : start.kind);
  if (findEndpoint(kind, operation, "start") === undefined) {
    const able = kinds.filter((k) => findEndpoint(k, operation, "start") !== undefined);
    throw new VaultError("invalid-input", `the interface has no ${operation} of ${kind} vaults`, {
      uuid,
      hint: `it has one for ${able.join(", ")}`,
    });
  }
  const hasDevice =
    start.device !== undefined || record?.generations.some((g) => g.device !== null);
  if (isOnline(kind) && hasDevice !== true) {
    const message = `vault ${uuid} is an online vault; its first read needs a device`;
    const hint = "set it with --device @FILE, VAULTSVC_DEVICE or the config key device";
    throw new VaultError("usage", message, { uuid, hint });
  }
  return kind;
}

/** As `checkStart`, before the lock: a recovery document, which is adopted under it, has the kind of its exchange. */
export const checkAsked = (
  record: KnownVault | null,
  asked: Parameters<typeof checkStart>[1],
): Kind =>
  asked.given?.type === "recovery" ? asked.given.document.kind : checkStart(record, asked);

/**
 * The kind of the vault: the given one while no pair is proven, else the recorded one.
 * @throws `usage` if it is neither given nor recorded, `invalid-input` if it differs from that of a proven vault
 */
export function chooseKind(uuid: string, record: KnownVault | null, given: Kind | undefined): Kind {
  const known = record !== null && record.generations.length > 0 ? record : null;
  if (known === null) {
    if (given !== undefined) return given;
    throw new VaultError("usage", `--kind is needed the first time vault ${uuid} is used here`, {
      uuid,
      hint: `use --kind ${kindList}`,
    });
  }
  if (given === undefined || given === known.kind) return known.kind;
  if (!known.generations.some((g) => g.proven)) return given;
  const message = `--kind: vault ${uuid} is known as ${known.kind}, not ${given}`;
  throw new VaultError("invalid-input", message, { uuid, hint: "leave --kind out" });
}

export const noCredentials = (uuid: string): VaultError =>
  new VaultError("no-credentials", `no credentials are known for vault ${uuid} at this service`, {
    uuid,
    next: [
      command`vault import ${uuid} --kind KIND --credentials @FILE`,
      command`vault get ${uuid} --kind KIND --credentials @FILE`,
    ],
  });

/** The error for a uuid that is known under another base URL: a pair is never sent to a service that it does not belong to. */
export function otherService(uuid: string, here: string, there: string): VaultError {
  const message = `vault ${uuid} belongs to ${there}, not to ${here}; nothing was sent`;
  return new VaultError("no-credentials", message, {
    uuid,
    hint: "use --base-url of that service; if the service has moved, export there and import here",
    next: [
      command`vault export ${uuid} --base-url URL`,
      command`vault import ${uuid} --credentials @FILE`,
    ],
  });
}
