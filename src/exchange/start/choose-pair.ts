import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { isOnline, kindList } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { candidates, chosenGeneration, currentGeneration, liveGenerations } from "./candidates.ts";
import type { ExchangeContext } from "../context.ts";
import { guardDevice, refusedBeforeError } from "../guard.ts";
import type { Credentials, Generation, KnownVault, VaultRecord } from "../records.ts";

/** What the user gave for the start, already validated. */
export interface PairChoice {
  kind?: Kind | undefined;
  given?: Credentials | undefined;
  /** Replaces the hashedPin of the given or stored credentials. */
  hashedPin?: string | undefined;
  device?: Device | undefined;
  generation?: number | undefined;
  force: boolean;
}

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
  throw new VaultError(
    "invalid-input",
    `--kind: vault ${uuid} is known as ${known.kind}, not ${given}`,
    {
      uuid,
      hint: "leave --kind out",
    },
  );
}

/**
 * Checks a given pair against the stored ones, before anything is recorded or sent. Returns the generation as which it is
 * recorded, or undefined for a new pair.
 * @throws `no-credentials` for a superseded pair, and for a new one without --force if a current pair is proven, or while an
 * exchange is open
 */
export async function checkGiven(
  context: Pick<ExchangeContext, "session">,
  record: VaultRecord | null,
  given: Credentials,
  force: boolean,
): Promise<number | undefined> {
  const { session } = context;
  if (await session.isSuperseded(given)) {
    throw new VaultError(
      "no-credentials",
      "the given credentials were superseded by an exchange of this machine; they are never sent",
      {
        uuid: session.uuid,
        hint:
          record === null
            ? "give the credentials that replaced them"
            : `vault get ${session.uuid} (without them: uses the stored credentials)`,
      },
    );
  }
  if (record === null) return undefined;
  for (const { generation } of liveGenerations(record)) {
    const stored = await session.credentials(generation);
    if (stored.encryptedData === given.encryptedData && stored.payload === given.payload)
      return generation;
  }
  const { open } = record;
  if (open !== null && open.state !== "in-doubt") {
    throw new VaultError(
      "no-credentials",
      "the given credentials are not those of the open exchange",
      {
        uuid: session.uuid,
        hint: `vault ack ${session.uuid} (finishes it); vault import ${session.uuid} --credentials @FILE (keeps them for later)`,
      },
    );
  }
  if (currentGeneration(record)?.proven === true && !force) {
    throw new VaultError(
      "no-credentials",
      "the given credentials differ from the stored current ones",
      {
        uuid: session.uuid,
        hint: `leave them out to use the stored credentials (generation ${currentGeneration(record)?.generation}); vault import ${session.uuid} --credentials @FILE (if those no longer work)`,
      },
    );
  }
  return undefined;
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
  choice: PairChoice,
): Promise<ChosenPair[]> {
  const { generation, force } = choice;
  const wanted =
    generation === undefined ? candidates(record) : [chosenGeneration(record, generation, force)];
  const [first] = wanted;
  if (first === undefined) throw allSuperseded(record.uuid);
  const refusals = await context.session.refusals();
  const fresh: ChosenPair[] = [];
  const refused: ChosenPair[] = [];
  for (const each of wanted) {
    const pair = await complete(context, record, kind, each, choice);
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
      hint: `vault import ${uuid} --credentials @FILE (the credentials that replaced them)`,
    },
  );
}

async function complete(
  context: ExchangeContext,
  record: VaultRecord,
  kind: Kind,
  generation: Generation,
  choice: PairChoice,
): Promise<ChosenPair> {
  const stored = await context.session.credentials(generation.generation);
  const hashedPin = choice.hashedPin ?? stored.hashedPin;
  const credentials: Credentials = {
    encryptedData: stored.encryptedData,
    payload: stored.payload,
    ...(hashedPin === undefined || !isOnline(kind) ? {} : { hashedPin }),
  };
  for (const secret of Object.values(credentials) as string[]) context.learnSecret(secret);
  const device = isOnline(kind) ? (choice.device ?? generation.device ?? undefined) : undefined;
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
