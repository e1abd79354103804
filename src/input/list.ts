import * as z from "zod/mini";
import type { Io } from "../parts/basics.ts";
import type { VaultNames } from "../cli/vault-name.ts";
import { isLabel, labelRule, oneOf } from "../cli/values.ts";
import { kinds, type Kind, type Operation } from "../protocol/endpoints.ts";
import { VaultError, type ErrorFacts } from "../errors.ts";
import { checkOwner, checkCredentials, deviceOf, givenCredentials } from "../exchange/recovery.ts";
import { noCredentials, type Named, type VaultRecord } from "../exchange/records.ts";
import type { VaultContents, Start } from "../exchange/start/start.ts";
import { checkStart } from "../exchange/start/start.ts";
import { creditCard, device, externalRef, objectOf, uuid } from "../protocol/fields.ts";
import { parseList, placeName, type Place } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import { printableLine } from "../terminal/redactor.ts";
import { checkContentsOptions } from "./contents.ts";
import { command } from "../way.ts";

/** Properties of one vault in a file of many. */
export const vaultProperties = {
  uuid,
  kind: z.optional(z.enum(kinds, { error: `must be ${oneOf(kinds)}` })),
  credentials: z.optional(givenCredentials),
  device: z.optional(device),
  label: z.optional(z.nullable(z.string().check(z.refine(isLabel, { error: labelRule })))),
};

/** Which vaults: one of the three. */
export interface ListChoice {
  /** Names on the command line. */
  vaults: readonly string[];
  /** A file, or `-`: a vault a line, or NDJSON. */
  from?: string | undefined;
  /** Every known vault with credentials. */
  all?: boolean | undefined;
}

type ListOperation = Operation | "ack";

/** What is asked for with all vaults, if a line does not say it itself. */
export type ForAll = Omit<Start, "label" | "uuid">;

/**
 * Reads the list of a command that starts with many vaults and checks all that can be checked before anything is sent (vault help
 * many-vaults); `known` are the vaults known at this service. Secrets in the list are not registered with the redaction: that is done
 * when the turn of their vault comes.
 * @throws `invalid-input` with the line for what is wrong in a file, and never with a value, and for an empty list; for names on the
 * command line `usage` and `no-credentials`, as for a single vault
 */
export async function readStarts(
  io: Io,
  choice: ListChoice,
  forAll: ForAll,
  known: VaultNames<VaultRecord>,
): Promise<Start[]> {
  return await readList(io, choice, forAll.operation, known, (line, vault) =>
    startOf(forAll, line, vault),
  );
}

/** As `readStarts`, of vaults that are acknowledged. */
export async function readNames(
  io: Io,
  choice: ListChoice,
  known: VaultNames<VaultRecord>,
): Promise<Named[]> {
  return await readList(io, choice, "ack", known, ({ uuid }, vault) => {
    if (vault === undefined || vault.generations.length === 0) throw noCredentials(uuid);
    return { uuid, label: vault.label };
  });
}

/** A vault as it is given; `place` if that is in a file. */
interface Entry {
  given: VaultLine;
  place?: Place;
}

async function readList<Vault>(
  io: Io,
  choice: ListChoice,
  operation: ListOperation,
  known: VaultNames<VaultRecord>,
  make: Make<Vault>,
): Promise<Vault[]> {
  // Of a person who can be asked, before the list takes standard input.
  const exact = !io.ask.isPossible;
  const entries = await readEntries(io, choice, operation, known);
  const entryOf = new Map<string, Entry>();
  return entries.map((entry) => {
    const { given, place } = entry;
    const shown = place === undefined ? { shown: printableLine(given.uuid) } : {};
    try {
      const { uuid, vault } = known.find(given.uuid, { ...shown, exact });
      const before = entryOf.get(uuid.toLowerCase());
      if (before !== undefined) throw sameVault(uuid, entry, before);
      entryOf.set(uuid.toLowerCase(), entry);
      return make({ ...given, uuid }, vault);
    } catch (error) {
      if (place === undefined || !(error instanceof VaultError)) throw error;
      throw new VaultError(
        "invalid-input",
        `--from ${placeName(place)}: ${error.message}`,
        error.facts,
      );
    }
  });
}

function sameVault(uuid: string, { given, place }: Entry, before: Entry): VaultError {
  const former =
    before.place === undefined ? printableLine(before.given.uuid) : `in ${placeName(before.place)}`;
  const start = place === undefined ? `${printableLine(given.uuid)}: ` : "";
  return new VaultError("usage", `${start}the same vault as ${former}`, {
    uuid,
    hint: "nothing was sent; name each vault once",
  });
}

async function readEntries(
  { sources }: Io,
  { vaults: names, from, all }: ListChoice,
  operation: ListOperation,
  known: VaultNames<VaultRecord>,
): Promise<Entry[]> {
  const hint = `a valid line: a UUID, a label, or ${examples[operation]}`;
  const refuse = (message: string, facts: ErrorFacts): never => {
    throw new VaultError("invalid-input", `${message}; nothing was sent`, facts);
  };
  if (from !== undefined) {
    const entries: Entry[] = [];
    const text = await sources.read(from, "--from");
    for (const { place, value } of parseList(text, "--from", `nothing was sent; ${hint}`)) {
      const where = `--from ${placeName(place)}`;
      const given =
        typeof value === "string"
          ? { uuid: value }
          : checkGiven(objects[operation], value, where, `nothing was sent; ${hint}`, "place");
      entries.push({ given, place });
    }
    return entries.length > 0 ? entries : refuse("--from: the list is empty", { hint });
  }
  if (all === true) {
    const able = Array.from(known.vaults).filter(({ generations }) => generations.length > 0);
    // `ack` finishes what is pending, which may be nothing.
    if (able.length === 0 && operation !== "ack")
      refuse("--all: no vault of this service has credentials here", {
        next: [command`vault import --file FILE`],
      });
    return able.map(({ uuid }) => ({ given: { uuid } }));
  }
  return names.map((uuid) => ({ given: { uuid } }));
}

/** Makes a vault of the list from its line, and from what is known of it. */
type Make<Vault> = (line: VaultLine, vault: VaultRecord | undefined) => Vault;

const read = { ...vaultProperties, externalRef: z.optional(externalRef) };
const contents = {
  card: z.optional(creditCard),
  content: z.optional(z.string({ error: "must be text" })),
};

const rule = 'must be an object, such as {"uuid":"…"}';
const get = objectOf(read, rule);
const update = objectOf({ ...read, ...contents }, rule);
const ack = objectOf({ uuid }, rule);

/** One vault of the list as it is given. */
type VaultLine = z.infer<typeof update>;

const objects: Readonly<Record<ListOperation, z.core.$ZodType<VaultLine>>> = { get, update, ack };

const examples: Readonly<Record<ListOperation, string>> = {
  get: '{"uuid":"…","kind":"generic/offline","credentials":{…}}',
  update:
    '{"uuid":"…","card":{"number":"4111111111111111","name":"Ada Lovelace","expiryMonth":4,"expiryYear":2029}}',
  ack: '{"uuid":"…"}',
};

function startOf(forAll: ForAll, line: VaultLine, vault: VaultRecord | undefined): Start {
  const { uuid } = line;
  const { operation } = forAll;
  const given = line.credentials && checkCredentials(line.credentials, "credentials");
  checkOwner(uuid, given?.uuid);
  const pair = given?.type === "pair" ? given : undefined;
  const device = line.device ?? deviceOf(given) ?? forAll.device;
  const asked = { uuid, operation, kind: line.kind ?? pair?.kind ?? forAll.kind, given, device };
  const kind = checkStart(vault ?? null, asked);
  return {
    ...forAll,
    uuid,
    label: vault?.label ?? line.label ?? given?.label ?? null,
    kind,
    given,
    hashedPin: pair?.credentials.hashedPin,
    device,
    externalRef: line.externalRef ?? forAll.externalRef,
    newVault: operation === "update" ? contentsOf(line, kind) : undefined,
  };
}

/**
 * The new contents of a vault.
 * @throws `invalid-input` if there are none, `usage` if they do not fit the kind of the vault
 */
function contentsOf({ card, content }: VaultLine, kind: Kind): VaultContents {
  if (card === undefined && content === undefined)
    throw new VaultError("invalid-input", "card or content is missing", {
      hint: "nothing was sent",
    });
  checkContentsOptions({ card: card && "given", content }, kind);
  return card === undefined ? { content: content ?? "" } : { creditCard: card };
}
