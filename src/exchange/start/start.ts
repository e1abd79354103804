import { createHash } from "node:crypto";
import { VaultError } from "../../errors.ts";
import type { Kind, Operation } from "../../protocol/endpoints.ts";
import { findEndpoint, isOnline, kindList } from "../../protocol/endpoints.ts";
import type { CreditCard, Device } from "../../protocol/fields.ts";
import { fingerprint } from "../../protocol/fingerprint.ts";
import type { Credentials } from "../../protocol/requests.ts";
import { command, noted, type Way } from "../../way.ts";
import type { Wish } from "../next-action.ts";
import type { ExchangeContext, StartCall } from "../ports.ts";
import type { Generation, Intent, JournalledOperation, VaultRecord } from "../records.ts";
import { bareCredentials, currentGeneration, importOf, isLive } from "../records.ts";
import { newId, noCredentials } from "../records.ts";
import type { GivenCredentials } from "../credentials.ts";

/** `newVault` of an update, or what a `vault` is created with. */
export type VaultContents = { creditCard: CreditCard } | { content: string };

/** What a person asks for with one vault, checked as far as that needs no lock. */
export interface Start extends Wish {
  uuid: string;
  /** As far as it is known, for what is said of the vault. */
  label: string | null;
  operation: Operation;
  /** As it is given; by default, and always of a proven vault, the recorded one. */
  kind?: Kind | undefined;
  /** A pair, or a recovery document in its place. */
  given?: GivenCredentials | undefined;
  /** Replaces the hashedPin of the given or stored credentials. */
  hashedPin?: string | undefined;
  device?: Device | undefined;
  /** By default contains the exchange's id, so that audit items can be matched with the journal. */
  externalRef?: string | undefined;
  /** Updates only: the new contents, `newVault` of the interface. */
  newVault?: VaultContents | undefined;
  /** The part that the exchange has in a run of many vaults. */
  run?: Intent["run"];
}

/** What the service counts toward lockout: a start, or a delete. */
export type Counted = Omit<Start, "operation"> & { operation: JournalledOperation };

/**
 * Checks all of a start that can be refused without a lock: owner, kind, endpoint, device. Returns the kind.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
export function checkStart(
  record: VaultRecord | null,
  start: Pick<Counted, "device" | "given" | "kind" | "operation" | "uuid">,
): Kind {
  const { uuid, operation, given } = start;
  checkOwner(uuid, given?.uuid);
  const known = record !== null && record.generations.length > 0;
  if (!known && given === undefined) throw noCredentials(uuid);
  // A delete has its endpoint for every kind, and goes with the device of the credentials.
  if (operation === "delete") return chooseKind(uuid, record, undefined);
  const document = given?.type === "recovery" ? given.document : undefined;
  // What adopts a document says of which kind the vault is, but for one that is known.
  const said = document === undefined ? start.kind : known ? undefined : document.kind;
  const kind = chooseKind(uuid, record, said);
  if (findEndpoint(kind, operation, "start") === undefined) {
    const message = `the interface has no ${operation} of ${kind} vaults`;
    throw new VaultError("invalid-input", message, { uuid });
  }
  const hasDevice =
    (start.device ?? document?.device) !== undefined ||
    record?.generations.some((g) => g.device !== null);
  if (isOnline(kind) && hasDevice !== true) {
    const message = `vault ${uuid} is an online vault; its first read needs a device`;
    const hint = "set it with --device @FILE, VAULTSVC_DEVICE or the config key device";
    throw new VaultError("usage", message, { uuid, hint });
  }
  return kind;
}

/**
 * Checks that given credentials are of this vault, if they name one.
 * @throws `invalid-input` for another vault's document
 */
export function checkOwner(uuid: string, named: string | undefined): void {
  if (named === undefined || named.toLowerCase() === uuid.toLowerCase()) return;
  const own = command`vault get ${named} --credentials @FILE`;
  throw new VaultError("invalid-input", `--credentials: this document belongs to vault ${named}`, {
    uuid,
    next: [{ ...own, note: "uses it with that vault" }],
  });
}

/**
 * The kind of the vault: the given one while no pair is proven, else the recorded one.
 * @throws `usage` if it is neither given nor recorded, `invalid-input` if it differs from that of a proven vault
 */
export function chooseKind(
  uuid: string,
  record: VaultRecord | null,
  given: Kind | undefined,
): Kind {
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

/** The error for a uuid that is known under another base URL: a pair is never sent to a service that it does not belong to. */
export function otherService(uuid: string, here: string, there: string): VaultError {
  const message = `vault ${uuid} belongs to ${there}, not to ${here}; nothing was sent`;
  return new VaultError("no-credentials", message, {
    uuid,
    hint: "use --base-url and --api-prefix of that service; if it has moved, export there and import here",
    next: [
      command`vault export ${uuid} --base-url ${there} --api-prefix /`,
      command`vault import ${uuid} --credentials @FILE`,
    ],
  });
}

/** A start with the credentials that were chosen, as ① records it and as it is sent. */
export interface ChosenStart extends StartCall, Omit<Intent, "seen"> {
  /** What the service accepts or refuses, as `combinationOf` names it. */
  combination: string;
  /** Unless the credentials have worked with another hashedPin or kind: then a refusal is of them. */
  isAsStored: boolean;
}

/**
 * Completes a start with stored credentials, to be sent to a vault of this kind.
 * @throws `guard` without `force` if the device has another browser or operating system than the one last accepted; `state`
 */
export async function chosenStart(
  context: Pick<ExchangeContext, "clock" | "learnSecret" | "session">,
  vault: VaultRecord,
  kind: Kind,
  { generation, proven, sole, device: accepted }: Generation,
  start: Counted,
): Promise<ChosenStart> {
  const { uuid, operation, newVault, run } = start;
  const stored = await context.session.credentials(generation);
  const { credentials, device, combination } = sentAs(kind, stored, accepted, start);
  for (const secret of Object.values(credentials) as string[]) context.learnSecret(secret);
  if (!start.force) guardDevice(vault, device);
  const exchangeId = newId(context.clock);
  const isUsual = kind === vault.kind && credentials.hashedPin === stored.hashedPin;
  return {
    step: "start",
    exchangeId,
    uuid,
    kind,
    operation,
    externalRef: start.externalRef ?? `vault-${exchangeId}`,
    generation,
    credentials,
    device,
    newVault,
    run,
    combination,
    isAsStored: !proven || (isUsual && !isOther(accepted, device)),
    // Proven with this very pin, device and kind.
    sole: sole && combination === sentAs(vault.kind, stored, accepted, { uuid }).combination,
  };
}

/** Stored credentials as they are sent: with the hashedPin and device beside them that are given, else those that are stored. */
function sentAs(
  kind: Kind,
  stored: Credentials,
  accepted: Device | null,
  given: Pick<Counted, "device" | "hashedPin" | "uuid">,
) {
  const hashedPin = isOnline(kind) ? (given.hashedPin ?? stored.hashedPin) : undefined;
  const device = isOnline(kind) ? (given.device ?? accepted ?? undefined) : undefined;
  const credentials = bareCredentials({ ...stored, hashedPin });
  return { credentials, device, combination: combinationOf(given.uuid, kind, credentials, device) };
}

/** The generations that the service has refused as they would be sent now. */
export async function refusedNow(
  { session }: Pick<ExchangeContext, "session">,
  { generations }: VaultRecord,
  kind: Kind,
  start: Counted,
): Promise<Set<number>> {
  const refusals = await session.refusals();
  const refused = new Set<number>();
  for (const { generation, device } of refusals.length > 0 ? generations : []) {
    const { combination } = sentAs(kind, await session.credentials(generation), device, start);
    if (refusals.includes(combination)) refused.add(generation);
  }
  return refused;
}

/** Whether a device is surely another than the one that was accepted, if any was. */
const isOther = (accepted: Device | null, given: Device | undefined): boolean =>
  accepted !== null &&
  given !== undefined &&
  (accepted.browserType !== given.browserType || accepted.osType !== given.osType);

/** @throws `guard` if the device differs from the one last accepted: of the newest proven credentials or, in a restored state, of the current ones */
function guardDevice({ uuid, generations }: VaultRecord, device: Device | undefined): void {
  const last = generations.find((g) => g.proven) ?? currentGeneration({ generations });
  const accepted = last?.device ?? null;
  if (accepted === null || !isOther(accepted, device)) return;
  const { browserType, osType } = accepted;
  const message = `not sent: vault ${uuid} was read with another device (${JSON.stringify({ browserType, osType })})`;
  const hint =
    "leave --device (VAULTSVC_DEVICE, the config key device) out to send the accepted one, or use --force";
  throw new VaultError("guard", message, { uuid, hint });
}

/** Identifies a combination that the service accepts or refuses: pair, hashedPin, device and kind of a vault, as SHA-256 in hex. */
export function combinationOf(
  uuid: string,
  kind: Kind,
  { encryptedData, payload, hashedPin }: Credentials,
  device?: Device,
): string {
  const machine =
    device === undefined
      ? []
      : [device.browserType, device.browserVersion, device.osType, ...device.fonts];
  const parts = [uuid.toLowerCase(), kind, encryptedData, payload, hashedPin ?? "", ...machine];
  // With its length in front of each part, no two lists of parts give the same input.
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest("hex");
}

/**
 * Checks a given pair against the stored ones, before anything is recorded or sent. Returns the generation as which it is recorded, or
 * null for a new one.
 * @throws `no-credentials` for a superseded pair, and for a new one without --force if the current one is proven, or while an
 * exchange is open
 */
export async function recordedAs(
  { session }: Pick<ExchangeContext, "session">,
  vault: VaultRecord | null,
  { given, force }: Pick<Start, "force" | "given">,
): Promise<number | null> {
  if (given?.type !== "pair") return null;
  const { uuid } = session;
  const differs = (what: string, ...next: Way[]): VaultError =>
    new VaultError("no-credentials", `the given credentials ${what}`, { uuid, next });
  const stored = noted(command`vault get ${uuid}`, "uses the stored credentials");
  if (await session.isSuperseded(given.credentials)) {
    const what = "were superseded by an exchange of this machine; they are never sent";
    const isForgotten = vault === null || vault.generations.length === 0;
    throw differs(what, isForgotten ? importOf(uuid, "--kind", vault?.kind ?? "KIND") : stored);
  }
  if (vault === null) return null;
  const print = fingerprint(uuid, given.credentials);
  const known = vault.generations.find((g) => isLive(g) && g.fingerprint === print);
  if (known !== undefined) return known.generation;
  const keeps = noted(command`vault import ${uuid} --credentials @FILE`, "keeps them for later");
  if (vault.open !== null && vault.open.state !== "in-doubt")
    throw differs(
      "are not those of the open exchange",
      noted(command`vault ack ${uuid}`, "finishes it"),
      keeps,
    );
  if (currentGeneration(vault)?.proven === true && !force)
    throw differs("differ from the stored current ones", stored, keeps);
  return null;
}
