import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { isOnline } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { fingerprint } from "../../protocol/fingerprint.ts";
import type { Credentials } from "../../protocol/requests.ts";
import type { Way } from "../../way.ts";
import { command, noted } from "../../way.ts";
import type { ExchangeContext } from "../context.ts";
import { importOf } from "../dispositions.ts";
import type { Generation, VaultRecord } from "../records.ts";
import { bareCredentials } from "../recovery.ts";
import { isLive } from "../records.ts";
import type { Start } from "./start.ts";

/** Stored credentials with all that is sent with them. */
export interface ChosenPair {
  generation: number;
  credentials: Credentials;
  device: Device | undefined;
  combination: string;
  /** Nobody else can have made them stale, and they were proven with this pin, device and kind: an unanswered start may be repeated. */
  sole: boolean;
}

/** What is sent with credentials in place of what is stored with them. */
type SentWith = Pick<Start, "device" | "hashedPin">;

/**
 * Reads stored credentials, to be sent to a vault of this kind.
 * @throws `guard` without `force` if the device has another browser or operating system than the one last accepted; `state`
 */
export async function chosenPair(
  context: Pick<ExchangeContext, "learnSecret" | "session">,
  vault: VaultRecord,
  kind: Kind,
  generation: Generation,
  start: SentWith & Pick<Start, "force">,
): Promise<ChosenPair> {
  const stored = await context.session.credentials(generation.generation);
  const hashedPin = start.hashedPin ?? stored.hashedPin;
  const credentials = bareCredentials({
    ...stored,
    hashedPin: isOnline(kind) ? hashedPin : undefined,
  });
  for (const secret of Object.values(credentials) as string[]) context.learnSecret(secret);
  const device = isOnline(kind) ? (start.device ?? generation.device ?? undefined) : undefined;
  if (!start.force) guardDevice(vault, device);
  return {
    generation: generation.generation,
    credentials,
    device,
    combination: combinationOf(vault.uuid, kind, credentials, device),
    sole:
      generation.sole &&
      kind === vault.kind &&
      hashedPin === stored.hashedPin &&
      (device === undefined || isDeepStrictEqual(device, generation.device)),
  };
}

/** The generations that the service has refused as they would be sent now. */
export async function refusedNow(
  context: Pick<ExchangeContext, "learnSecret" | "session">,
  vault: VaultRecord,
  kind: Kind,
  start: SentWith,
): Promise<Set<number>> {
  const refusals = await context.session.refusals();
  const refused = new Set<number>();
  if (refusals.length === 0) return refused;
  for (const generation of vault.generations) {
    const forced = { ...start, force: true };
    const { combination } = await chosenPair(context, vault, kind, generation, forced);
    if (refusals.includes(combination)) refused.add(generation.generation);
  }
  return refused;
}

/** @throws `guard` if the device differs from the one last accepted: of the newest proven credentials or, in a restored state, of the current ones */
function guardDevice({ uuid, generations }: VaultRecord, device: Device | undefined): void {
  const last = generations.find((g) => g.proven) ?? currentGeneration({ generations });
  const accepted = last?.device ?? null;
  if (accepted === null || device === undefined) return;
  const differing = (["browserType", "osType"] as const)
    .filter((key) => accepted[key] !== device[key])
    .map(
      (key) => `${key} ${JSON.stringify(device[key])} instead of ${JSON.stringify(accepted[key])}`,
    );
  if (differing.length === 0) return;
  const message = `not sent: the device differs from the one that vault ${uuid} was read with: ${differing.join(", ")}`;
  const hint = "leave --device out to send the accepted one, or use --force";
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

export const currentGeneration = ({
  generations,
}: Pick<VaultRecord, "generations">): Generation | undefined =>
  generations.find((g) => g.standing === "current");

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
    throw differs(what, isForgotten ? importOf(uuid, "--kind", "KIND") : stored);
  }
  if (vault === null) return null;
  const print = fingerprint(uuid, given.credentials);
  const known = vault.generations.find((g) => isLive(g) && g.fingerprint === print);
  if (known !== undefined) return known.generation;
  const keeps = noted(command`vault import ${uuid} --credentials @FILE`, "keeps them for later");
  if (vault.open !== null && vault.open.state !== "in-doubt") {
    const finishes = noted(command`vault ack ${uuid}`, "finishes it");
    throw differs("are not those of the open exchange", finishes, keeps);
  }
  if (currentGeneration(vault)?.proven === true && !force)
    throw differs("differ from the stored current ones", stored, keeps);
  return null;
}
