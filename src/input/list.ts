import * as z from "zod/mini";
import type { Io } from "../parts/basics.ts";
import type { VaultNames } from "../cli/vault-name.ts";
import { isLabel, labelRule, oneOf } from "../cli/values.ts";
import { kinds, type Kind, type Operation } from "../protocol/endpoints.ts";
import { VaultError } from "../errors.ts";
import { checkCredentials, givenCredentials } from "../exchange/credentials.ts";
import { noCredentials, type Named, type VaultRecord } from "../exchange/records.ts";
import { checkStart, type Start, type VaultContents } from "../exchange/start/start.ts";
import { creditCard, device, externalRef, objectOf, uuid } from "../protocol/fields.ts";
import { parseList, placeName } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import { printableLine } from "../terminal/redactor.ts";
import { checkContentsOptions } from "./contents.ts";
import type { ManyOptions } from "./flags.ts";
import type { ForAll } from "./read-start.ts";
import { command } from "../way.ts";

/** Properties of one vault in a file of many. */
export const vaultProperties = {
  uuid,
  kind: z.optional(z.enum(kinds, { error: `must be ${oneOf(kinds)}` })),
  credentials: z.optional(givenCredentials),
  device: z.optional(device),
  label: z.optional(z.nullable(z.string().check(z.refine(isLabel, { error: labelRule })))),
};

/** Which vaults: names on the command line; a file, or `-`, with a vault a line, or NDJSON; or every known vault with credentials. */
export type ListChoice = Pick<ManyOptions, "all" | "from" | "vaults">;

type ListOperation = Operation | "ack";

/**
 * Reads the list of a command with many vaults and checks all that can be checked before anything is sent (vault help many-vaults):
 * `make` makes of each entry what the command works with, from its line and from what is known of it. `known` are the vaults known at
 * this service. Secrets in the list are not registered with the redaction: that is done when the turn of their vault comes.
 * @throws `invalid-input` with the line for what is wrong in a file, and never with a value, and for an empty list; for names on the
 * command line `usage` and `no-credentials`, as for a single vault
 */
export async function readList<Vault>(
  io: Io,
  choice: ListChoice,
  operation: ListOperation,
  known: VaultNames<VaultRecord>,
  make: (line: VaultLine, vault: VaultRecord | undefined) => Vault,
): Promise<Vault[]> {
  // Of a person who can be asked, before the list takes standard input.
  const exact = !io.ask.isPossible;
  const inFile = choice.from !== undefined;
  const places = new Map<string, string>();
  return (await readEntries(io, choice, operation, known)).map(({ given, where }) => {
    try {
      const { uuid, vault } = known.find(given.uuid, exact, inFile ? undefined : where);
      const before = places.get(uuid.toLowerCase());
      if (before !== undefined)
        throw new VaultError("usage", `${inFile ? "" : `${where}: `}the same vault as ${before}`, {
          uuid,
          hint: "nothing was sent; name each vault once",
        });
      places.set(uuid.toLowerCase(), where);
      return make({ ...given, uuid }, vault);
    } catch (error) {
      if (!inFile || !(error instanceof VaultError)) throw error;
      throw new VaultError("invalid-input", `--from ${where}: ${error.message}`, error.facts);
    }
  });
}

/** The vaults as they are given, and where: a place in a file, or the name itself. */
async function readEntries(
  { sources }: Io,
  { vaults, from, all }: ListChoice,
  operation: ListOperation,
  known: VaultNames<VaultRecord>,
): Promise<{ given: VaultLine; where: string }[]> {
  if (from !== undefined) {
    const { schema, example } = lines[operation];
    const valid = `a valid line: ${example}`;
    const hint = `nothing was sent; ${valid}`;
    const text = await sources.read(from, "--from");
    const entries = Array.from(parseList(text, "--from", hint), ({ place, value }) => {
      const where = placeName(place);
      const isName = typeof value === "string";
      const given = isName
        ? { uuid: value }
        : checkGiven(schema, value, `--from ${where}`, hint, "place");
      return { given, where };
    });
    if (entries.length > 0) return entries;
    throw new VaultError("invalid-input", "--from: the list is empty; nothing was sent", {
      hint: valid,
    });
  }
  if (all !== true) return vaults.map((uuid) => ({ given: { uuid }, where: printableLine(uuid) }));
  const able = Array.from(known.vaults).filter(({ generations }) => generations.length > 0);
  // `ack` finishes what is pending, which may be nothing.
  if (able.length > 0 || operation === "ack")
    return able.map(({ uuid }) => ({ given: { uuid }, where: uuid }));
  throw new VaultError(
    "invalid-input",
    "--all: no vault of this service has credentials here; nothing was sent",
    { next: [command`vault import --file FILE`] },
  );
}

const read = { ...vaultProperties, externalRef: z.optional(externalRef) };
const card = z.optional(creditCard);
const content = z.optional(z.string({ error: "must be text" }));

const rule = 'must be an object, such as {"uuid":"…"}';
const update = objectOf({ ...read, card, content }, rule);

type VaultLine = z.infer<typeof update>;

const lines: Readonly<
  Record<ListOperation, { schema: z.core.$ZodType<VaultLine>; example: string }>
> = {
  get: {
    schema: objectOf(read, rule),
    example: 'a UUID, a label, or {"uuid":"…","kind":"generic/offline","credentials":{…}}',
  },
  update: {
    schema: update,
    example:
      '{"uuid":"…","card":{"number":"4111111111111111","name":"Ada Lovelace","expiryMonth":4,"expiryYear":2029}}, or {"uuid":"…","content":"…"}',
  },
  ack: { schema: objectOf({ uuid }, rule), example: 'a UUID, a label, or {"uuid":"…"}' },
};

/** The name of a vault of a list that is acknowledged. @throws `no-credentials` */
export function nameOf({ uuid }: VaultLine, vault: VaultRecord | undefined): Named {
  if (vault === undefined || vault.generations.length === 0) throw noCredentials(uuid);
  return { uuid, label: vault.label };
}

/** The start of a vault of a list. @throws as `readList` */
export function startOf(forAll: ForAll, line: VaultLine, vault: VaultRecord | undefined): Start {
  const { uuid } = line;
  const { operation } = forAll;
  const given = line.credentials && checkCredentials(line.credentials, "credentials");
  const pair = given?.type === "pair" ? given : undefined;
  const device = line.device ?? pair?.device ?? forAll.device;
  const asked = { uuid, operation, kind: line.kind ?? pair?.kind ?? forAll.kind, given, device };
  const kind = checkStart(vault ?? null, asked);
  return {
    ...forAll,
    ...asked,
    kind,
    label: vault?.label ?? line.label ?? given?.label ?? null,
    hashedPin: pair?.credentials.hashedPin,
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
      hint: `nothing was sent; a valid line: ${lines.update.example}`,
    });
  checkContentsOptions({ card: card && "given", content }, kind);
  return card === undefined ? { content: content ?? "" } : { creditCard: card };
}
