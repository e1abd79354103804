import { command, type Flags, type OptionValues } from "../cli/command.ts";
import { uuid } from "../cli/values.ts";
import { newVaultFlags } from "../input/flags.ts";
import * as z from "zod/mini";
import type { App } from "../app.ts";
import { eachOf, vaultsAtATime } from "../at-a-time.ts";
import { vaultLine } from "../cli/output.ts";
import { withLabel } from "../cli/vault-name.ts";
import { defined } from "../defined.ts";
import type { Imported } from "../documents/state.ts";
import type { Document } from "../documents/schemas.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { acknowledgeOpen } from "../exchange/end.ts";
import { currentRecord } from "../exchange/context.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import { aRead, candidates } from "../exchange/next-action.ts";
import {
  checkCredentials,
  givenCredentials,
  type GivenCredentials,
} from "../exchange/credentials.ts";
import { bareCredentials, settledAs } from "../exchange/records.ts";
import { adoptable } from "../exchange/recovery.ts";
import { refusalError } from "../exchange/refusals.ts";
import { checkOwner, chooseKind, type Start } from "../exchange/start/start.ts";
import { askKind, askCredentials, askVault } from "../input/ask.ts";
import { vaultProperties } from "../input/list.ts";
import { learnAll, lookUp, readGiven } from "../input/read-start.ts";
import type { Io } from "../parts/basics.ts";
import type { Kind } from "../protocol/endpoints.ts";
import { parseList, placeName, type Place } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import { namedFingerprint, shownFingerprint } from "../terminal/secrets.ts";
import { command as wayTo } from "../way.ts";

type Entry = Pick<Start, "uuid" | "kind" | "device"> & {
  given: GivenCredentials;
  label: string | undefined;
};
type Line = { place: Place; uuid: string; outcome?: Imported | VaultError };

const flags = {
  ...newVaultFlags,
  "--credentials <secret>":
    "credentials as JSON, or a recovery document (finishes its exchange): @FILE, -, env:NAME",
  "--file <file>": {
    help: "import many vaults, as vault export --all writes them; - is standard input",
    conflicts: ["uuid", "kind", "credentials", "label"],
  },
} as const satisfies Flags;

type ImportOptions = OptionValues<typeof flags> & { uuid?: string | undefined };

const importVaults = command({
  description:
    "Add credentials to the state, even while an exchange is open. The former ones are kept until a start with the new ones succeeds.",
  arguments: {
    uuid: {
      term: "[uuid]",
      help: "the vault (or --file for many)",
      values: { from: "vaults" },
      parse: uuid,
    },
  },
  options: flags,
  examples: [
    "vault import $VAULT --kind credit-card/offline --credentials @pair.json",
    "vault import $VAULT --credentials @pair.json --label 'spare card'",
    "vault import --file vaults.ndjson",
  ],
  async run(app, options) {
    if (options.file !== undefined) return await importFile(app, options.file);
    const entry = await readOne(app, options);
    await print(app.io, [{ ...entry, place: { line: 1 }, outcome: await importOne(app, entry) }]);
  },
});
export { importVaults as import };

/**
 * Checks the whole file before the first entry is recorded, and parses it again then: entries are large. Many vaults at a time, lines of
 * one vault in their order. What would fail for all of them stops it.
 */
async function importFile(app: App, file: string): Promise<void> {
  const text = await app.io.sources.read(file, "--file");
  const lines = Array.from(entriesIn(text), ({ place, uuid }): Line => ({ place, uuid }));
  if (lines.length === 0)
    throw new VaultError("invalid-input", "--file: the list is empty; nothing was imported", {
      hint: "the program that was to write it may have failed",
    });
  const importLine = async (line: Line, entry: Entry, before?: Promise<void>): Promise<void> => {
    await before;
    const { uuid } = line;
    line.outcome = await importOne(app, entry).catch(
      async (cause: unknown) => await withLabel(app.state, asVaultError(cause).with({ uuid })),
    );
    const { outcome } = line;
    if (outcome instanceof VaultError && concernsAll.includes(outcome.code)) throw outcome;
  };
  const underWay = new Map<string, Promise<void>>();
  const entries = entriesIn(text).map((entry, n) => [lines[n] as Line, entry] as const);
  const stop = await eachOf(entries, vaultsAtATime, async ([line, entry]) => {
    const { uuid } = line;
    const imported = importLine(line, entry, underWay.get(uuid));
    underWay.set(uuid, imported);
    await imported;
    if (underWay.get(uuid) === imported) underWay.delete(uuid);
  }).then(() => undefined, asVaultError);
  await print(app.io, lines, stop);
}

const concernsAll: readonly string[] = ["state", "interrupted", "internal"];

async function readOne(app: App, options: ImportOptions): Promise<Entry> {
  // Before a question.
  app.settings.serviceName();
  const uuid = await askVault(app, options.uuid, "import");
  const { kind: named, label } = options;
  const read = await readGiven(app.io, options);
  const { kind, given } =
    read === undefined ? await askGiven(app, uuid, named) : { kind: named, given: read };
  const pair = given.type === "pair" ? given : undefined;
  const device = (await app.service.device()) ?? pair?.device;
  // Before the state is made.
  if (pair !== undefined) chooseKind(uuid, await lookUp(app, uuid, true), kind ?? pair.kind);
  return { uuid, kind, given, device, label };
}

async function askGiven(
  app: App,
  uuid: string,
  named: Kind | undefined,
): Promise<Pick<Entry, "kind" | "given">> {
  if (!app.io.ask.isPossible)
    throw new VaultError("usage", "--credentials is missing", {
      next: [wayTo`vault import ${uuid} --credentials @FILE`],
    });
  const known = (await lookUp(app, uuid, true))?.kind;
  const kind = named ?? known ?? (await askKind(app.io.ask, "get"));
  const { given, hashedPin } = await askCredentials(app.io, kind);
  if (given.type === "recovery") return { kind, given };
  const credentials = { ...given.credentials, ...defined({ hashedPin }) };
  return { kind, given: { ...given, credentials } };
}

/** @throws `invalid-input` with the place of the first entry that is not valid */
function* entriesIn(text: string): Generator<Entry & { place: Place }> {
  const example = 'a valid line: {"uuid":"…","kind":"generic/offline","credentials":{…}}';
  const listed = z.object({ ...vaultProperties, credentials: givenCredentials });
  for (const { place, value } of parseList(text, "--file", example)) {
    const where = `--file ${placeName(place)}`;
    const found = checkGiven(listed, value, where, "nothing was imported", "place");
    const given = checkCredentials(found.credentials, `${where}: credentials`);
    const uuid = found.uuid.toLowerCase();
    yield { ...found, uuid, place, given, label: found.label ?? undefined };
  }
}

async function print(io: Io, lines: readonly Line[], stop?: VaultError): Promise<void> {
  const { redact, redactValue } = io.redactor;
  const imported = lines.flatMap(({ outcome = [] }) =>
    outcome instanceof VaultError ? [] : outcome,
  );
  const failed = lines.flatMap(({ place, uuid, outcome }) =>
    outcome instanceof VaultError ? [{ place, uuid, error: outcome }] : [],
  );
  const document: Document<"import"> = {
    imported,
    failed: failed.map(({ place, uuid, error }) => ({
      ...place,
      uuid,
      label: error.facts.label ?? null,
      error: redactValue(error.toJSON()),
    })),
  };
  const [first] = failed;
  const failure =
    stop ??
    (first &&
      new VaultError(
        "partial",
        `${failed.length} of ${lines.length} vaults could not be imported${failed.length > 1 ? ", the first" : ""}: ` +
          `${placeName(first.place)}, vault ${first.uuid}: ${first.error.message}`,
        { hint: first.error.facts.hint, next: first.error.facts.next },
      ));
  await io.output.printDone(
    document,
    (view) => [
      ...imported.map(({ uuid, generation, kind, proven, fingerprint }) => {
        const is = `${proven ? "verified" : "unverified"} (${shownFingerprint(fingerprint)})`;
        return vaultLine(view, uuid, `imported as generation ${generation} (${kind}), ${is}`);
      }),
      ...failed.map(({ place, uuid, error }) =>
        vaultLine(view, uuid, `${placeName(place)} not imported: ${redact(error.message)}`),
      ),
    ],
    failure,
  );
}

async function importOne({ io, service }: App, entry: Entry): Promise<Imported> {
  const { uuid, given, device, label } = entry;
  // A plain pair is sent nowhere, and a file may hold very many.
  if (given.type === "recovery") learnAll(io.redactor.add, given);
  checkOwner(uuid, given.uuid);
  const work = async (context: ExchangeContext): Promise<Imported> => {
    const { session } = context;
    let generation: number | undefined;
    if (given.type === "recovery") {
      await service.client();
      const outcome = await session.adopt(adoptable(given.document));
      if (label !== undefined) await session.setLabel(label);
      if (outcome === "open") {
        // Never one of this machine that waits for a decision.
        const vault = await currentRecord(context);
        const held = { do: "refuse", because: "held", candidates: [] } as const;
        if (vault.open?.state === "held") throw refusalError(vault, held, aRead, context);
        const settled = await acknowledgeOpen(context, { unread: false, saved: false });
        if (settled !== null)
          context.emit({ type: "settled", settled: settledAs(settled, "acknowledged") });
      } else if (outcome === "candidates")
        io.narrator.warn(
          `vault ${uuid}: another exchange is open, so this one was not acknowledged; its credentials are kept and tried later`,
        );
    } else {
      // Where a document names the kind, it need not stand beside it.
      const kind = chooseKind(uuid, await session.read(), entry.kind ?? given.kind);
      const credentials = bareCredentials(given.credentials);
      generation = await session.recordPair({ credentials, kind, device, label });
    }
    const record = await currentRecord(context);
    const { generations } = record;
    const recorded =
      generations.find((each) => each.generation === generation) ??
      candidates(record)[0] ??
      generations[0];
    if (recorded === undefined)
      throw new VaultError("internal", `no credentials of vault ${uuid} were recorded`);
    return {
      uuid,
      label: record.label,
      kind: record.kind,
      generation: recorded.generation,
      fingerprint: namedFingerprint(recorded.fingerprint),
      proven: recorded.proven,
    };
  };
  return await service.withVault(uuid, work, { given: true });
}
