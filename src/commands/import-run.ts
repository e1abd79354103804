import * as z from "zod/mini";
import type { Deps } from "../deps.ts";
import { readSecret } from "../config/secret-value.ts";
import { VaultError } from "../errors.ts";
import { acknowledgeLeft } from "../exchange/acknowledge.ts";
import { adoptRecovery, checkRecovery } from "../exchange/adopt.ts";
import { candidates } from "../exchange/candidates.ts";
import { chooseKind } from "../exchange/choose-pair.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import { currentRecord } from "../exchange/context.ts";
import { heldError, settledAs } from "../exchange/settle.ts";
import { pairOnly, vaultOf } from "../exchange/recovery-of.ts";
import type { GivenCredentials } from "../exchange/recovery.ts";
import { parseCredentials } from "../exchange/recovery.ts";
import type { Kind } from "../interface/endpoints.ts";
import { device, type Device } from "../interface/fields.ts";
import { parseJson } from "../interface/json.ts";
import { validate } from "../interface/validate.ts";
import type { RawInput } from "./act.ts";
import { askBaseUrl, askKind, askPair, askVault } from "./ask.ts";
import { checkField, serialiseDone } from "./document.ts";
import { lookUp } from "./look-up.ts";
import { flag, kind, parseInput, text, uuid } from "./options.ts";
import { learnAll } from "./exchange-options.ts";

const schema = z.object({
  uuid: z.optional(uuid),
  kind: z.optional(kind),
  credentials: z.optional(text),
  label: z.optional(text),
  rebind: flag,
  file: z.optional(text),
});
export type ImportOptions = z.infer<typeof schema>;

export const parseImport = (input: RawInput): ImportOptions => parseInput(schema, input, ["uuid"]);

const line = z.object({
  uuid,
  kind: z.optional(kind),
  credentials: z.looseObject({}, { error: 'must be an object, like {"encryptedData":"…","payload":"…"}' }),
  device: z.optional(device),
  label: z.optional(text),
});

/** One vault to import, checked as far as it can be without the state. */
interface Entry {
  uuid: string;
  kind: Kind | undefined;
  given: GivenCredentials | undefined;
  device: Device | undefined;
  label: string | undefined;
  rebind: boolean;
}

interface Imported {
  uuid: string;
  kind: Kind;
  generation: number;
  label: string | null;
}

/** Records pairs as unproven generations. With --file, every line is checked before the first is recorded. */
export async function runImport(deps: Deps, input: RawInput): Promise<number> {
  const options = parseImport(input);
  checkField(deps.output.field, ["imported"]);
  const entries = options.file === undefined ? [await readOne(deps, options)] : await readFile(deps, options.file, options);
  for (const entry of entries) await checkEntry(deps, entry);
  const imported: Imported[] = [];
  try {
    for (const entry of entries) imported.push(await importOne(deps, entry));
  } catch (error) {
    // What went before is recorded, and is said.
    if (imported.length > 0) await print(deps, imported);
    throw error;
  }
  await print(deps, imported);
  return 0;
}

async function print(deps: Deps, imported: Imported[]): Promise<void> {
  const document = serialiseDone({ imported }, deps);
  const lines = imported.map((one) => `${one.uuid}  imported as generation ${one.generation} (${one.kind})\n`);
  await deps.host.stdout.write(document ?? lines.join(""));
}

async function readOne(deps: Deps, options: ImportOptions): Promise<Entry> {
  await askBaseUrl(deps);
  const uuid = await askVault(deps, options.uuid, "import");
  const { kind, given } = options.credentials === undefined ? await askGiven(deps, uuid, options) : await readGiven(deps, options);
  return { uuid, kind, given, device: await deps.device(), label: options.label, rebind: options.rebind === true };
}

async function readGiven(deps: Deps, { kind, credentials = "" }: ImportOptions): Promise<Pick<Entry, "kind" | "given">> {
  const given = parseCredentials(await readSecret(credentials, "--credentials", deps.sources), "--credentials");
  return { kind: kind ?? kindOf(given), given };
}

async function askGiven(deps: Deps, uuid: string, { kind, rebind }: ImportOptions): Promise<Pick<Entry, "kind" | "given">> {
  if (rebind === true) return { kind, given: undefined };
  if (!deps.mayAsk) throw new VaultError("usage", "--credentials is missing", { hint: `vault import ${uuid} --credentials @FILE` });
  const known = (await lookUp(deps, uuid))?.kind;
  const chosen = kind ?? known ?? (await askKind(deps, "get"));
  const { choice, document } = await askPair(deps, { force: true }, chosen);
  if (document?.type === "pair") return { kind: chosen, given: { ...document, credentials: choice.given ?? document.credentials } };
  return { kind: chosen, given: document };
}

async function readFile(deps: Deps, path: string, options: ImportOptions): Promise<Entry[]> {
  const extra = (["uuid", "kind", "credentials", "label"] as const).find((name) => options[name] !== undefined);
  if (extra !== undefined)
    throw new VaultError("usage", `--file brings its own ${extra}: leave it out`, { hint: "vault import --file vaults.ndjson" });
  const content = path === "-" ? await deps.sources.readStdin("--file") : await readNamed(deps, path);
  if (content.trimStart().startsWith("[")) {
    const list = readJson(content, "--file") as unknown[];
    return list.map((value, index) => readEntry(value, `--file item ${index + 1}`, options));
  }
  return content.split("\n").flatMap((row, index) => {
    const where = `--file line ${index + 1}`;
    return row.trim() === "" ? [] : [readEntry(readJson(row, where), where, options)];
  });
}

async function readNamed(deps: Deps, path: string): Promise<string> {
  try {
    return await deps.sources.readFile(path);
  } catch (cause) {
    throw new VaultError(
      "invalid-input",
      `--file: cannot read the file ${path} (${(cause as NodeJS.ErrnoException).code ?? "unreadable"})`,
      {
        hint: "vault import --file vaults.ndjson, or --file - for standard input",
        cause,
      },
    );
  }
}

function readJson(text: string, where: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new VaultError("invalid-input", `${where}: not valid JSON`, {
      hint: 'a right line: {"uuid":"…","kind":"generic/offline","credentials":{…}}',
    });
  }
}

function readEntry(value: unknown, where: string, options: ImportOptions): Entry {
  const checked = validate(line, value);
  if (!checked.ok) {
    const [first] = checked.violations;
    throw new VaultError("invalid-input", `${where}: ${first?.path ?? ""} ${first?.rule ?? ""}`, { hint: "nothing was imported" });
  }
  const given = parseCredentials(JSON.stringify(checked.value.credentials), `${where}: credentials`);
  const { uuid, kind = kindOf(given), device, label } = checked.value;
  return { uuid, kind, given, device, label, rebind: options.rebind === true };
}

const kindOf = (given: GivenCredentials): Kind | undefined => (given.type === "pair" ? given.kind : undefined);

/** What is missing or does not fit, before anything is written. */
async function checkEntry(deps: Deps, entry: Entry): Promise<void> {
  const known = await lookUp(deps, entry.uuid, entry.rebind);
  if (entry.given?.type === "pair") chooseKind(entry.uuid, known, entry.kind);
  const named = vaultOf(entry.given);
  if (named !== undefined) checkRecovery(entry.uuid, { uuid: named });
}

async function importOne(deps: Deps, entry: Entry): Promise<Imported> {
  // A plain pair is sent nowhere, and a file may hold very many.
  if (entry.given?.type === "recovery") learnAll(deps, entry.given);
  const context = await deps.hold(entry.uuid, { rebind: entry.rebind });
  try {
    let generation: number | undefined;
    if (entry.given?.type === "recovery") {
      await deps.service();
      const outcome = await adoptRecovery(context, entry.given.document);
      if (outcome === "open") await settleRecovery(context);
      else if (outcome === "candidates")
        deps.narrator.warn(
          `vault ${entry.uuid}: another exchange is open, so this one was not acknowledged: its credentials are kept and tried later`,
        );
    } else if (entry.given !== undefined) {
      generation = await recordPair(context, entry, entry.given.credentials);
    }
    if (entry.label !== undefined) await context.session.setLabel(entry.label);
    const record = await context.session.read();
    if (record === null)
      throw new VaultError("no-credentials", `vault ${entry.uuid} is not known under another base URL`, { vault: entry.uuid });
    generation ??= (candidates(record)[0] ?? record.generations[0])?.generation ?? 0;
    return { uuid: entry.uuid, kind: record.kind, generation, label: record.label };
  } finally {
    await context.session.release();
  }
}

/** What was taken over is settled; an exchange of this machine that waits for a decision is not decided by this. */
async function settleRecovery(context: ExchangeContext): Promise<void> {
  const { open } = await currentRecord(context);
  if (open === null) return;
  if (open.state === "held") throw heldError(context.session.uuid, open);
  const settled = await acknowledgeLeft(context, { unread: false, saved: false });
  if (settled !== null) context.tell({ type: "settled", settled: settledAs(settled, "acknowledged") });
}

async function recordPair(context: ExchangeContext, entry: Entry, credentials: Parameters<typeof pairOnly>[0]): Promise<number> {
  const kind = chooseKind(entry.uuid, await context.session.read(), entry.kind);
  return await context.session.record({ credentials: pairOnly(credentials), kind, device: entry.device });
}
