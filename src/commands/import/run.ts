import { vaultLine } from "../../cli/output.ts";
import type { Io } from "../../parts/io.ts";
import type { SettingsPart } from "../../parts/settings.ts";
import type { StatePart } from "../../parts/state.ts";
import type { ServicePart } from "../../parts/service.ts";
import type { ValueSources } from "../../settings/given.ts";
import type { App } from "../../app.ts";
import { readSecret } from "../../settings/given.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import { acknowledgeOpen } from "../../exchange/acknowledge.ts";
import { settledAs } from "../../exchange/states.ts";
import { adoptRecovery, checkRecovery } from "../../exchange/recovery/exchange.ts";
import { aRead, candidates } from "../../exchange/next-action.ts";
import { refusalError } from "../../exchange/refusals.ts";
import { chooseKind } from "../../exchange/start/start.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { currentRecord } from "../../exchange/context.ts";
import {
  bareCredentials,
  deviceOf,
  parseCredentials,
  vaultOf,
} from "../../exchange/recovery/document.ts";
import { namedFingerprint, shownFingerprint } from "../../terminal/secrets.ts";
import { withLabel } from "../../cli/vault-name.ts";
import type { Imported, ImportDocument } from "../../documents/state.ts";
import { eachOf, vaultsAtATime } from "../../at-a-time.ts";
import type { ImportOptions } from "./descriptor.ts";
import { askBaseUrl, askKind, askPair, askVault } from "../../input/ask.ts";
import type { Place } from "../../protocol/json.ts";
import { placeName } from "../../protocol/json.ts";
import type { Entry } from "./file.ts";
import { kindOf, readImportFile } from "./file.ts";
import { checkLabels, lookUp } from "../../input/read-start.ts";
import { placed } from "../../input/list.ts";
import { learnAll } from "../../input/read-start.ts";
import { defined } from "../../defined.ts";
import { command } from "../../way.ts";

interface Result {
  imported: Imported[];
  failed: { place: Place; uuid: string; label: string | null; error: VaultError }[];
}

/** Records pairs as unproven generations. With --file: exit 16 where some of them could not be. */
export async function runImport(app: App, options: ImportOptions): Promise<number> {
  if (options.file !== undefined) return await importFile(app, options.file, options);
  const entry = await readOne(app, options);
  await checkEntry(app, entry);
  await checkLabels(app.state, [entry]);
  await print(app.io, { imported: [await importOne(app, entry)], failed: [] });
  return 0;
}

/** Every entry is checked before the first is recorded. */
async function importFile(app: App, file: string, options: ImportOptions): Promise<number> {
  if (options.uuid !== undefined)
    throw new VaultError("usage", "--file cannot be used with a vault", {
      next: [command`vault import --file vaults.ndjson`],
    });
  const entries = await readImportFile(app.io.sources, file);
  if (entries.length === 0)
    throw new VaultError("invalid-input", "--file: the list is empty; nothing was imported", {
      hint: "the program that was to write it may have failed",
    });
  for (const { place, entry } of entries) await checkPlaced(app, place, entry);
  await checkLabels(
    app.state,
    entries.map(({ entry }) => entry),
  );
  const result = await importAll(app, entries);
  const failure = failureOf(result, entries.length);
  await print(app.io, result).catch((error: unknown) => {
    throw failure ?? error;
  });
  if (failure !== undefined) throw failure;
  return 0;
}

/** Many vaults at a time; recovery documents, which are sent, one after the other at last. Lines of one vault stay in their order. */
async function importAll(app: App, entries: readonly Placed[]): Promise<Result> {
  const imported = new Map<Placed, Imported>();
  const failed = new Map<Placed, VaultError>();
  const importLines = async (lines: readonly Placed[]): Promise<void> => {
    for (const line of lines) {
      const { uuid } = line.entry;
      try {
        imported.set(line, await importOne(app, line.entry));
      } catch (cause) {
        const error = await withLabel(app.state, asVaultError(cause).with({ uuid }));
        failed.set(line, error);
        if (concernsAll(error)) throw error;
      }
    }
  };
  const vaults = [...Map.groupBy(entries, ({ entry }) => entry.uuid.toLowerCase()).values()];
  const isSent = (lines: readonly Placed[]): boolean =>
    lines.some(({ entry }) => entry.given.type === "recovery");
  try {
    await eachOf(
      vaults.filter((lines) => !isSent(lines)),
      vaultsAtATime,
      importLines,
    );
    await eachOf(vaults.filter(isSent), 1, importLines);
  } catch (error) {
    // It is among the others.
    if (![...failed.values()].some((each) => each === error)) throw error;
  }
  return {
    imported: entries.flatMap((line) => imported.get(line) ?? []),
    failed: entries.flatMap((line) => {
      const error = failed.get(line);
      const { uuid } = line.entry;
      return error === undefined
        ? []
        : [{ place: line.place, uuid, label: error.facts.label ?? null, error }];
    }),
  };
}

interface Placed {
  place: Place;
  entry: Entry;
}

/** Whether it would fail for the other entries, too. */
const concernsAll = ({ code }: VaultError): boolean =>
  ["usage", "state", "interrupted", "internal"].includes(code);

function failureOf(result: Result, entries: number): VaultError | undefined {
  const [first, ...others] = result.failed;
  if (first === undefined) return undefined;
  const last = result.failed.find(({ error }) => concernsAll(error));
  if (last !== undefined) return placed(`--file ${placeName(last.place)}`, last.error);
  const { place, uuid, error } = first;
  const told = `${others.length > 0 ? ", the first" : ""}: ${placeName(place)}, vault ${uuid}: ${error.message}`;
  const { hint, next } = error.facts;
  return new VaultError(
    "partial",
    `${result.failed.length} of ${entries} vaults could not be imported${told}`,
    defined({ hint, next }),
  );
}

async function print(io: Io, { imported, failed }: Result): Promise<void> {
  const errors = failed.map(({ place, error, ...vault }) => ({
    ...place,
    ...vault,
    error: io.redactor.redactValue(error.toJSON()),
  }));
  const document: ImportDocument = { imported, failed: errors };
  const lines = [
    ...imported.map(({ uuid, generation, kind, proven, fingerprint }) => ({
      uuid,
      words: `imported as generation ${generation} (${kind}), ${proven ? "verified" : "unverified"} (${shownFingerprint(fingerprint)})`,
    })),
    ...failed.map(({ place, uuid, error }) => ({
      uuid,
      words: `${placeName(place)} not imported: ${io.redactor.redact(error.message)}`,
    })),
  ];
  await io.output.sayDone(document, (view) =>
    lines.map(({ uuid, words }) => vaultLine(view, uuid, words)),
  );
}

async function readOne(app: App, options: ImportOptions): Promise<Entry> {
  await askBaseUrl(app);
  const uuid = await askVault(app, options.uuid, "import");
  const { kind, given } =
    options.credentials === undefined
      ? await askGiven(app, uuid, options)
      : await readGiven(app.io.sources, options);
  const device = (await app.service.device()) ?? deviceOf(given);
  return { uuid, kind, given, device, label: options.label };
}

async function readGiven(
  sources: ValueSources,
  { kind, credentials = "" }: ImportOptions,
): Promise<Pick<Entry, "kind" | "given">> {
  const given = parseCredentials(
    await readSecret(credentials, "--credentials", sources),
    "--credentials",
  );
  return { kind: kind ?? kindOf(given), given };
}

async function askGiven(
  app: App,
  uuid: string,
  { kind }: ImportOptions,
): Promise<Pick<Entry, "kind" | "given">> {
  if (!app.io.ask.isPossible)
    throw new VaultError("usage", "--credentials is missing", {
      next: [command`vault import ${uuid} --credentials @FILE`],
    });
  const known = (await lookUp(app, uuid, true))?.kind;
  const chosen = kind ?? known ?? (await askKind(app.io.ask, "get"));
  const { given, hashedPin } = await askPair(app.io, chosen);
  if (given.type === "recovery") return { kind: chosen, given };
  const credentials = { ...given.credentials, ...defined({ hashedPin }) };
  return { kind: chosen, given: { ...given, credentials } };
}

/** What is missing or does not fit, before anything is written. */
async function checkEntry(
  { settings, state }: { settings: SettingsPart; state: StatePart },
  entry: Entry,
): Promise<void> {
  const known = await lookUp({ settings, state }, entry.uuid, true);
  if (entry.given.type === "pair") chooseKind(entry.uuid, known, entry.kind);
  const named = vaultOf(entry.given);
  if (named !== undefined) checkRecovery(entry.uuid, { uuid: named });
}

/** The same of an entry of --file. */
async function checkPlaced(
  { settings, state }: { settings: SettingsPart; state: StatePart },
  place: Place,
  entry: Entry,
): Promise<void> {
  try {
    await checkEntry({ settings, state }, entry);
  } catch (error) {
    throw error instanceof VaultError ? placed(`--file ${placeName(place)}`, error) : error;
  }
}

async function importOne(
  { io, service }: { io: Io; service: ServicePart },
  entry: Entry,
): Promise<Imported> {
  // A plain pair is sent nowhere, and a file may hold very many.
  if (entry.given.type === "recovery") learnAll(io.redactor.add, entry.given);
  const work = async (context: ExchangeContext): Promise<Imported> => {
    let generation: number | undefined;
    if (entry.given.type === "recovery") {
      await service.client();
      const outcome = await adoptRecovery(context, entry.given.document);
      if (outcome === "open") await settleRecovery(context);
      else if (outcome === "candidates")
        io.narrator.warn(
          `vault ${entry.uuid}: another exchange is open, so this one was not acknowledged; its credentials are kept and tried later`,
        );
      if (entry.label !== undefined) await context.session.setLabel(entry.label);
    } else {
      generation = await recordPair(context, entry, entry.given.credentials);
    }
    const record = await currentRecord(context);
    const { label, kind, generations } = record;
    const recorded =
      generations.find((each) => each.generation === generation) ??
      candidates(record)[0] ??
      generations[0];
    if (recorded === undefined)
      throw new VaultError("internal", `no credentials of vault ${entry.uuid} were recorded`);
    const { proven } = recorded;
    const fingerprint = namedFingerprint(recorded.fingerprint);
    return {
      uuid: entry.uuid,
      label,
      kind,
      generation: recorded.generation,
      fingerprint,
      proven,
    };
  };
  return await service.withVault(entry.uuid, work, { given: true });
}

/** Settles an adopted exchange, but never one of this machine that waits for a decision. */
async function settleRecovery(context: ExchangeContext): Promise<void> {
  const vault = await currentRecord(context);
  if (vault.open?.state === "held")
    throw refusalError(vault, { do: "refuse", because: "held", candidates: [] }, aRead, context);
  const settled = await acknowledgeOpen(context, { unread: false, saved: false });
  if (settled !== null)
    context.emit({ type: "settled", settled: settledAs(settled, "acknowledged") });
}

async function recordPair(
  context: ExchangeContext,
  entry: Entry,
  credentials: Parameters<typeof bareCredentials>[0],
): Promise<number> {
  const kind = chooseKind(entry.uuid, await context.session.read(), entry.kind);
  return await context.session.recordPair({
    credentials: bareCredentials(credentials),
    kind,
    device: entry.device,
    label: entry.label,
  });
}
