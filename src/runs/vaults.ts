import type { App } from "../app.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import { viewOn, type MakeView } from "../cli/output.ts";
import { summarize, type VaultRecord } from "../exchange/records.ts";
import type { Delivery } from "../exchange/recovery.ts";
import { checkStart, type Start } from "../exchange/start/start.ts";
import type { CredentialsOut } from "../handover/credentials-out.ts";
import { updateDocument, type RunOptions } from "../handover/handover.ts";
import type { GivenContents } from "../input/contents.ts";
import { isMany, mayHold } from "../input/flags.ts";
import { lookUp, readStart } from "../input/read-start.ts";
import { findEndpoint, type Operation } from "../protocol/endpoints.ts";
import { isUuid } from "../protocol/limits.ts";
import { command } from "../way.ts";
import { exchange } from "./exchange.ts";

/**
 * Reads or updates the vaults that a command line names. What is asked for becomes a list of starts; `exchange` does each, with the vault
 * locked; a reporter prints what comes of them. One vault differs by its questions and its reporter, and the file of --credentials-out is
 * locked meanwhile. A program receives what is read, in place of stdout. Resolves to the exit code.
 * @throws `usage`, `invalid-input`, `no-credentials`, `busy`, `interrupted` at a question; of one vault what `runExchange` throws; of
 * many what has stopped them, or `partial`
 */
export async function runVaults(
  app: App,
  options: RunOptions,
  operation: Operation,
): Promise<number> {
  if (options.program === undefined && isMany(options))
    return await (await import("./many.ts")).runMany(app, options, operation);
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
  if (credentialsOut === undefined) await work();
  else {
    const { withCredentialsOut } = await import("../handover/credentials-out.ts");
    await withCredentialsOut(app, credentialsOut, options.dryRun === true, work);
  }
  return 0;
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
  const checked = { ...start, kind, label: record?.label ?? null };
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
