import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { command } from "../../way.ts";
import { isOnline } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { candidates, chosenGeneration, currentGeneration } from "./candidates.ts";
import type { ExchangeContext } from "../context.ts";
import { guardDevice, refusedBeforeError } from "../guard.ts";
import type { Generation, VaultRecord } from "../records.ts";
import type { Credentials } from "../../protocol/requests.ts";
import type { Start } from "./start.ts";

/** A pair that may be sent, with all that is sent with it. */
export interface ChosenPair {
  generation: number;
  credentials: Credentials;
  device: Device | undefined;
  combination: string;
  /** Nobody else can have made them stale, and they were proven with this pin, device and kind: an unanswered start may be repeated. */
  sole: boolean;
}

/**
 * The stored pairs to start with, in the order of `candidates`; at least one. Combinations that the service has refused are left
 * out, or come last with --force.
 * @throws `guard` if nothing else is left or the device differs, `no-credentials` for a generation that cannot be chosen, and if
 * all pairs were superseded
 */
export async function choosePairs(
  context: ExchangeContext,
  record: VaultRecord,
  kind: Kind,
  start: Pick<Start, "device" | "force" | "generation" | "hashedPin">,
): Promise<ChosenPair[]> {
  const { generation, force } = start;
  const wanted =
    generation === undefined ? candidates(record) : [chosenGeneration(record, generation, force)];
  const [first] = wanted;
  if (first === undefined) throw allSuperseded(record.uuid);
  const refusals = await context.session.refusals();
  const fresh: ChosenPair[] = [];
  const refused: ChosenPair[] = [];
  for (const each of wanted) {
    const pair = await complete(context, record, kind, each, start);
    if (!force) guardDevice(record.uuid, acceptedDevice(record), pair.device);
    (refusals.includes(pair.combination) ? refused : fresh).push(pair);
  }
  const chosen = force ? [...fresh, ...refused] : fresh;
  if (chosen.length === 0) throw refusedBeforeError(record, first.generation);
  return chosen;
}

/** The error of a state in which nothing may be sent. */
function allSuperseded(uuid: string): VaultError {
  return new VaultError(
    "no-credentials",
    `all stored credentials of vault ${uuid} were superseded; they are never sent`,
    {
      uuid,
      next: [
        {
          ...command`vault import ${uuid} --credentials @FILE`,
          note: "the credentials that replaced them",
        },
      ],
    },
  );
}

async function complete(
  context: ExchangeContext,
  record: VaultRecord,
  kind: Kind,
  generation: Generation,
  start: Pick<Start, "device" | "hashedPin">,
): Promise<ChosenPair> {
  const stored = await context.session.credentials(generation.generation);
  const hashedPin = start.hashedPin ?? stored.hashedPin;
  const credentials: Credentials = {
    encryptedData: stored.encryptedData,
    payload: stored.payload,
    ...(hashedPin === undefined || !isOnline(kind) ? {} : { hashedPin }),
  };
  for (const secret of Object.values(credentials) as string[]) context.learnSecret(secret);
  const device = isOnline(kind) ? (start.device ?? generation.device ?? undefined) : undefined;
  return {
    generation: generation.generation,
    credentials,
    device,
    combination: combinationOf(record.uuid, kind, credentials, device),
    sole:
      generation.sole &&
      kind === record.kind &&
      hashedPin === stored.hashedPin &&
      isSameDevice(device, generation.device),
  };
}

const isSameDevice = (device: Device | undefined, accepted: Device | null): boolean =>
  device === undefined || isDeepStrictEqual(device, accepted);

/** The device that the service last accepted: of the newest proven pair or, in a restored state, of the current one. */
const acceptedDevice = (record: VaultRecord): Device | null =>
  (record.generations.find((g) => g.proven) ?? currentGeneration(record))?.device ?? null;

/** SHA-256, as 64 hexadecimal digits, over the length-prefixed parts: no two lists of parts give the same input. */
function digest(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    const bytes = Buffer.from(part, "utf8");
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest("hex");
}

/** Identifies a combination that the service accepts or refuses: pair, hashedPin, device and kind of a vault, as SHA-256 in hex. */
export function combinationOf(
  uuid: string,
  kind: Kind,
  credentials: Credentials,
  device?: Device,
): string {
  const { encryptedData, payload, hashedPin } = credentials;
  const machine =
    device === undefined
      ? []
      : [device.browserType, device.browserVersion, device.osType, ...device.fonts];
  return digest([uuid.toLowerCase(), kind, encryptedData, payload, hashedPin ?? "", ...machine]);
}
