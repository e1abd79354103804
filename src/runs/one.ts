import type { App } from "../app.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import { viewOn, type MakeView } from "../cli/output.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import { summarize, type VaultRecord } from "../exchange/records.ts";
import type { Delivery } from "../exchange/recovery.ts";
import { runExchange } from "../exchange/run.ts";
import { checkStart, type Start } from "../exchange/start/start.ts";
import type { CredentialsOut } from "../handover/credentials-out.ts";
import {
  createHandover,
  updateDocument,
  type Outputs,
  type RunOptions,
} from "../handover/handover.ts";
import type { GivenContents } from "../input/contents.ts";
import { mayHold } from "../input/flags.ts";
import { lookUp, readStart } from "../input/read-start.ts";
import { findEndpoint, type Operation } from "../protocol/endpoints.ts";
import { isUuid } from "../protocol/limits.ts";
import { command, noted, withFlags } from "../way.ts";
import type { Run } from "./run.ts";

/**
 * Reads or updates one vault: a list of one, which differs by its questions and its reporter; the file of --credentials-out is locked
 * meanwhile. A program receives what is read, in place of stdout.
 * @throws `usage`, `invalid-input`, `no-credentials`, `busy`, `interrupted` at a question, and what `runExchange` throws
 */
export async function runOne(app: App, options: RunOptions, operation: Operation): Promise<void> {
  const { credentialsOut } = options;
  const update = operation === "update" ? await import("../input/contents.ts") : undefined;
  const contents = await update?.readContents(app.io, options);
  const work = async (out?: CredentialsOut): Promise<void> => {
    await app.service.client();
    const fits = ({ kind }: VaultRecord): boolean =>
      findEndpoint(kind, operation, "start") !== undefined && mayHold(kind, options);
    const [given = ""] = options.vaults;
    const uuid = isUuid(given)
      ? given
      : await (await import("../input/ask.ts")).askVault(app, options.vaults[0], operation, fits);
    const asked = await readStart(app, uuid, operation, options);
    const start = await completeStart(app, options, asked, contents);
    if (options.dryRun === true) {
      const { dryRun } = await import("./dry-run.ts");
      return await app.service.withVault(uuid, async (context) => {
        await out?.check(context, start.given);
        await dryRun(app, context, start);
      });
    }
    const outputs = { options, run: "", out, stop: app.io.host.interrupted };
    const named = options.run === undefined ? undefined : await import("./run.ts");
    const run = named?.runOf(app, options, operation);
    const done = await app.service.withVault(
      uuid,
      async (context) => await exchange(app, context, start, outputs, run),
    );
    if (done === "earlier") named?.warnOfNothingLeft(app, options.run ?? "", 1);
    else if (done !== "settled" && options.program === undefined) await report(app, start, done);
  };
  if (credentialsOut === undefined) return await work();
  const { withCredentialsOut } = await import("../handover/credentials-out.ts");
  await withCredentialsOut(app, credentialsOut, options.dryRun === true, work);
}

/** Asks for what the command line lacks, and checks all that needs no lock. */
async function completeStart(
  app: App,
  options: RunOptions,
  asked: Start,
  contents: GivenContents | undefined,
): Promise<Start> {
  const { io } = app;
  const { uuid, operation } = asked;
  const isDryRun = options.dryRun === true;
  const record = await lookUp(app, uuid);
  const start = io.ask.isPossible
    ? await (await import("../input/ask.ts")).askForStart(io, record, asked)
    : asked;
  const { generation, force } = start;
  if ((options.out ?? options.outDir) !== undefined) {
    const { checkOut, prepareOut } = await import("../handover/pass-on.ts");
    prepareOut(app, options);
    checkOut(io.host, options, uuid);
  }
  const kind = checkStart(record, start);
  const variables = [...(options.program?.fields ?? [])];
  const fields = new Map(variables.map(([name, path]) => [`--env ${name}:`, path]));
  if (io.output.field !== undefined) fields.set("--field", io.output.field);
  for (const [flag, path] of fields) {
    const { checkFieldPath } = await import("../documents/field-paths.ts");
    checkFieldPath(path, { flag, operation, kind, dryRun: isDryRun && flag === "--field" });
  }
  if (generation !== undefined && force && !isDryRun) {
    const question = `Send generation ${generation} of vault ${uuid} anyway? Wrong credentials count toward lockout.`;
    await confirmOrFail(io.ask, options.yes === true, question);
  }
  const again = options.program && !isDryRun && { again: withFlags(io.line, "--discard-pending") };
  const checked = { ...start, kind, label: record?.label ?? null, ...again };
  if (contents === undefined) return checked;
  const { checkContentsOptions, completeContents } = await import("../input/contents.ts");
  checkContentsOptions(options, kind);
  const newVault = await completeContents(io, kind, contents);
  if (isDryRun || options.yes === true) return { ...checked, newVault };
  if (io.ask.isPossible) {
    const { vaultTable } = await import("../cli/vault-view.ts");
    const { stderr } = io.host;
    const plain = { isTTY: stderr.isTTY, columns: stderr.columns, color: false };
    await stderr.write(vaultTable({ contents: newVault }, await viewOn(plain, io.host, false)));
  }
  const { confirmUpdate } = await import("../input/ask.ts");
  const name = checked.label === null ? uuid : `"${checked.label}"`;
  await confirmUpdate(app, `these new contents to vault ${name}`);
  return { ...checked, newVault };
}

/** Reports one vault, whose contents were printed by its delivery: the receipt of an update, and the closing line. */
async function report({ io }: App, { uuid, newVault }: Start, delivery: Delivery): Promise<void> {
  const { exchange } = delivery;
  const isHeld = exchange.state === "held";
  const next = [isHeld ? command`vault ack ${uuid}` : command`vault status ${uuid}`];
  if (newVault !== undefined) {
    const table: MakeView = async (view) => {
      const { delivered, vaultTable } = await import("../cli/vault-view.ts");
      // The start's response has the date of the update before.
      const dates = { ...delivery.vault, lastModified: undefined };
      const shown = { ...delivered(delivery), contents: newVault, update: exchange, dates };
      return vaultTable(shown, view);
    };
    await io.output.printDone(updateDocument(delivery), table, {
      what: `the update is ${exchange.state}`,
      uuid,
      exchange: summarize(exchange),
      next,
    });
  }
  const stored = `New credentials stored (generation ${exchange.newGeneration})`;
  io.narrator.note(isHeld ? `${stored}; the exchange is held.` : `${stored}.`, isHeld ? next : []);
}

/**
 * Does the exchange of one vault, which is locked, unless the run has done it before. Resolves to what it delivered, or that the run had
 * done it before, or has now settled what it had left.
 * @throws what `beginIn`, `CredentialsOut.check` and `runExchange` throw
 */
export async function exchange(
  app: App,
  context: ExchangeContext,
  start: Start,
  outputs: Outputs,
  run: Run | undefined,
): Promise<Delivery | "earlier" | "settled"> {
  const store = await app.state.store();
  const part = run && (await (await import("./run.ts")).beginIn(app, context, run, start));
  if (typeof part === "string") return part;
  await outputs.out?.check(context, start.given);
  const handover = createHandover(app, outputs, start);
  if (handover.leavesState && store.isNew)
    app.io.narrator.warn(
      `counters toward lockout are kept only in a state, and ${store.shown} is new; runs that begin with a new one each time can lock the vault: --state DIR names one that stays`,
    );
  const done = await runExchange(context, { ...start, run: part }, handover);
  const isReplaced = start.given !== undefined && done.exchange.state === "acknowledged";
  if (isReplaced && store.isNew && !handover.leavesState && run?.hasWarned !== true) {
    if (run !== undefined) run.hasWarned = true;
    app.io.narrator.warn(
      `the credentials given no longer work; the new ones are only in ${store.shown}, which this command has made`,
      [
        noted(
          command`vault export --all`,
          "prints them; --credentials-out and --save-cmd pass them on",
        ),
      ],
    );
  }
  return done;
}
