import type { Basics } from "../parts/settings.ts";
import type { App } from "../app.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import { VaultError } from "../errors.ts";
import { summarize } from "../exchange/context.ts";
import type { Delivery } from "../exchange/delivery.ts";
import type { VaultRecord } from "../exchange/records.ts";
import { checkRecovery } from "../exchange/recovery/exchange.ts";
import { labelOf, pairsOf, vaultOf } from "../exchange/recovery/document.ts";
import { runExchange } from "../exchange/run.ts";
import { beforeStart } from "../exchange/next-action.ts";
import { refusalError } from "../exchange/refusals.ts";
import type { VaultContents, Start, Unchecked } from "../exchange/start/start.ts";
import { checkAsked } from "../exchange/start/start.ts";
import type { Operation } from "../protocol/endpoints.ts";
import { findEndpoint, isCreditCard } from "../protocol/endpoints.ts";
import { askForStart, askSettings, askVault, productionMark } from "../input/ask.ts";
import type { GivenContents } from "../input/contents.ts";
import type { CredentialsOut } from "../handover/credentials-out.ts";
import { withCredentialsOut } from "../handover/credentials-out.ts";
import type { VaultsOptions } from "../input/flags.ts";
import { isMany } from "../input/flags.ts";
import { checkPairOptions, readStart } from "../input/read-start.ts";
import { lookUp } from "../input/look-up.ts";
import type { Outputs } from "../handover/handover.ts";
import {
  createHandover,
  passedDocument,
  updateDocument,
  warnOfCounters,
  warnOfReplaced,
} from "../handover/handover.ts";
import type { Program } from "../handover/program.ts";
import { command } from "../way.ts";

/**
 * Reads or updates what a command line names: many vaults in a run, or one, while the file of --credentials-out is locked. A program
 * receives what is read, in place of stdout. Resolves to the exit code.
 * @throws `usage`, `invalid-input`, `no-credentials`, `busy`, `interrupted` at a question, and what `runExchange` throws
 */
export async function runVaults(
  app: App,
  options: VaultsOptions,
  operation: Operation,
  program?: Program,
): Promise<number> {
  if (isMany(options)) return await (await import("./many.ts")).runMany(app, options, operation);
  const contents =
    operation === "update"
      ? await (await import("../input/contents.ts")).readContents(app.io, options)
      : undefined;
  checkPairOptions(options);
  await withCredentialsOut(app, options, async (out) => {
    await askSettings(app);
    const fits = ({ kind }: VaultRecord): boolean =>
      findEndpoint(kind, operation, "start") !== undefined &&
      (contents === undefined || mayHold(kind, contents));
    const uuid = await askVault(app, options.vaults[0], operation, fits);
    const asked = await readStart(app, uuid, operation, options);
    if (program !== undefined) asked.takesTime = true;
    const { out: outFile, saveCmd, dryRun, withCredentials } = options;
    const complete = async (record: VaultRecord | null): Promise<Start> =>
      await completeStart(app, options, asked, record, { out, contents, program });
    // Missing settings are reported before anything is written.
    const service = await app.service.client();
    // With a shared state one round trip reads the vault, locks it and asks for the place of the start, before it is completed; but
    // nobody, and no pipe, is asked for more then.
    const store = await app.state.store();
    const isLockedFirst =
      operation === "get" && !app.io.ask.isPossible && dryRun !== true && store.isShared;
    const completed = isLockedFirst ? undefined : await complete(await lookUp(app, uuid));
    const reserved = isLockedFirst
      ? service.reserveAhead({}, app.io.waiting.deadline)
      : Promise.resolve();
    const done = await app.service.withVault(uuid, async (context) => {
      await reserved;
      const start = completed ?? (await complete(await context.session.read()));
      await out?.checkKnown(context, pairsOf(start.given));
      if (dryRun === true) {
        await (await import("./dry-run.ts")).dryRun(app, context, start);
        return undefined;
      }
      const write = outFile === undefined ? undefined : await fileWriter(app, outFile, options);
      const stop = app.io.host.interrupted;
      const outputs = { write, out, saveCmd, program, withCredentials, stop };
      const handover = createHandover(app, outputs, start);
      if (handover.leavesState) warnOfCounters(app.io, store);
      const delivery = await runExchange(context, start, handover);
      const isReplaced = start.given !== undefined && delivery.exchange.state === "acknowledged";
      if (isReplaced && !handover.leavesState)
        warnOfReplaced(app.io, store, `for vault ${uuid}`, command`vault export ${uuid}`);
      return { start, delivery };
    });
    if (done !== undefined && program === undefined) await tell(app, done.start, done.delivery);
  });
  return 0;
}

/** Whether a vault of this kind can hold what was given of its contents. */
const mayHold = (kind: VaultRecord["kind"], { card, content }: GivenContents): boolean =>
  isCreditCard(kind) ? content === undefined : Object.keys(card).length === 0;

/** What --out receives. */
async function fileWriter(
  { io: { host } }: Basics,
  path: string,
  options: VaultsOptions,
): Promise<Outputs["write"]> {
  const { writeOutFile } = await import("../handover/out-file.ts");
  return async (document) =>
    Promise.resolve(writeOutFile(host, path, passedDocument(document, options)));
}

/** Asks for what the command line lacks, and checks all that needs no lock. */
async function completeStart(
  app: App,
  options: VaultsOptions,
  asked: Unchecked,
  known: VaultRecord | null,
  {
    out,
    contents,
    program,
  }: {
    out: CredentialsOut | undefined;
    contents: GivenContents | undefined;
    program: Program | undefined;
  },
): Promise<Start> {
  const { uuid, operation } = asked;
  const isDryRun = options.dryRun === true;
  const record = known === null || known.generations.length === 0 ? null : known;
  // A start that is certain to be refused is refused before a person is asked.
  if (record !== null && app.io.ask.isPossible && asked.given?.type !== "recovery" && !isDryRun) {
    const circumstances = { policy: app.settings.policy, clock: await app.state.store() };
    const first = beforeStart(record, asked, circumstances);
    if (first?.do === "refuse") throw refusalError(record, first, asked, circumstances);
  }
  const start = await askForStart(app.io, record, asked);
  const { given, generation, force } = start;
  const named = vaultOf(given);
  if (named !== undefined) checkRecovery(uuid, { uuid: named });
  out?.check(uuid, given?.exact);
  if (options.out !== undefined)
    (await import("../handover/out-file.ts")).checkOut(app, options, options.out, uuid);
  const kind = checkAsked(record, start);
  const { field } = app.io.output;
  if (field !== undefined || (program?.fields.size ?? 0) > 0) {
    const { checkFieldPath } = await import("../documents/field-paths.ts");
    if (field !== undefined)
      checkFieldPath(field, { flag: "--field", operation, kind, dryRun: isDryRun });
    for (const [name, passed] of program?.fields ?? [])
      checkFieldPath(passed, { flag: `--env ${name}:`, operation, kind, dryRun: false });
  }
  if (generation !== undefined && force && !isDryRun) {
    const question = `Send generation ${generation} of vault ${uuid} anyway? Wrong credentials count toward lockout.`;
    await confirmOrFail(app.io.ask, options.yes === true, question);
  }
  const checked = { ...start, kind, label: record?.label ?? labelOf(given) };
  if (contents === undefined) return checked;
  const { checkContentsOptions, completeContents } = await import("../input/contents.ts");
  checkContentsOptions(options, kind);
  const newVault = await completeContents(app.io, kind, contents);
  if (!isDryRun && options.yes !== true) await confirmUpdate(app, checked, newVault);
  return { ...checked, newVault };
}

/** Tells the outcome: the receipt of an update, and the closing line. */
async function tell(app: App, start: Start, delivery: Delivery): Promise<void> {
  const { uuid, newVault } = start;
  const { exchange } = delivery;
  const isHeld = exchange.state === "held";
  if (newVault !== undefined) {
    const { receiptTable } = await import("../cli/vault-view.ts");
    const done = {
      what: `the update is ${exchange.state}`,
      uuid,
      exchange: summarize(exchange),
      next: [isHeld ? command`vault ack ${uuid}` : command`vault status ${uuid}`],
    };
    await app.io.output.printDone(
      updateDocument(delivery),
      async (view) => await receiptTable(delivery, newVault, view),
      done,
    );
  }
  const stored = `New credentials stored (generation ${exchange.newGeneration ?? 0})`;
  app.io.narrator.note(
    isHeld ? `${stored}; the exchange is held.` : `${stored}.`,
    isHeld ? [command`vault ack ${uuid}`] : [],
  );
}

async function confirmUpdate(
  { io, settings }: Basics,
  { uuid, label }: Start,
  contents: VaultContents,
): Promise<void> {
  const { ask, host } = io;
  const question = `${productionMark(settings)}Send these new contents to vault ${label === null ? uuid : `"${label}"`}?`;
  // An update with a live profile needs --yes where nobody can be asked.
  if (!ask.isPossible) {
    if (settings.live) await confirmOrFail(ask, false, question);
    return;
  }
  const { contentsTable } = await import("../cli/vault-view.ts");
  await host.stderr.writeColored(
    await contentsTable(contents, {
      facts: host.stderr,
      now: host.now(),
      reveal: false,
      self: host.actor,
    }),
  );
  if (await ask.confirm(question)) return;
  throw new VaultError("canceled", "canceled; nothing was sent", { uuid, retry: "safe" });
}
