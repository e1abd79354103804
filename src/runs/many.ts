import type { App } from "../app.ts";
import { VaultNames } from "../cli/vault-name.ts";
import type { SkipReason } from "../documents/exchange.ts";
import { VaultError, type ErrorKind } from "../errors.ts";
import { beforeStart, nextAction, type Circumstances } from "../exchange/next-action.ts";
import { refusalError, waysOn } from "../exchange/refusals.ts";
import type { Named, VaultRecord } from "../exchange/records.ts";
import type { Start } from "../exchange/start/start.ts";
import { tableOf, updateDocument, type Outputs } from "../handover/handover.ts";
import { checkOut, prepareOut } from "../handover/pass-on.ts";
import { confirmUpdate } from "../input/ask.ts";
import { firstGiven, flagsOfOne, manyBy, type VaultsOptions } from "../input/flags.ts";
import { readList, startOf } from "../input/list.ts";
import { learnAll, readForAll } from "../input/read-start.ts";
import type { Remote } from "../parts/service.ts";
import type { Basics } from "../parts/basics.ts";
import { isOnline, type Operation } from "../protocol/endpoints.ts";
import { count } from "../terminal/count.ts";
import { command, noted, withFlags, type Way } from "../way.ts";
import { Report, type Outcome, type ReportOptions } from "./report.ts";
import { takeTurns, type Turns } from "./turns.ts";
import { exchange } from "./one.ts";
import { checkSameRun, isDone, runOf, warnOfNothingLeft, type Run } from "./run.ts";

/**
 * Reads or updates many vaults. Everything is checked before anything is sent.
 * @throws `usage`, `invalid-input`; after the summary what has stopped all of them, or `partial` if some failed or were skipped
 */
export async function runMany(
  app: App,
  options: VaultsOptions,
  operation: Operation,
): Promise<number> {
  checkNothingOfOne(options, operation);
  await app.service.client();
  const run = runOf(app, options, operation);
  const { todo, known } = await sortList(app, options, run);
  const skipped = known.flatMap(([{ uuid, label }, outcome]) =>
    outcome.ok || outcome.skipped === undefined ? [] : [{ uuid, label, reason: outcome.skipped }],
  );
  if (options.dryRun === true) {
    await (await import("./dry-run.ts")).dryRunOfMany(app, todo, skipped);
    return skipped.length === 0 ? 0 : 16;
  }
  const form = formOf(app, options, operation);
  if (todo.length === 0 && skipped.length === 0) warnOfNothingLeft(app, run.name, known.length);
  if (operation === "update" && options.yes !== true && todo.length > 0)
    await confirmUpdate(app, `new contents to ${count(todo.length, "vault")}`);
  prepareOut(app, options);
  const work: Turns<Start>["work"] = async (start, turn, report) => {
    const { host } = app.io;
    const { uuid, given, newVault } = start;
    checkOut(host, options, uuid);
    if (given !== undefined) learnAll(turn.learn, given);
    if (newVault !== undefined)
      turn.learn("content" in newVault ? newVault.content : newVault.creditCard.number);
    const outputs: Outputs = {
      options,
      run: run.name,
      print: async (document, delivery) =>
        await report.exchange("contents", document, async (view) => await tableOf(delivery, view)),
      line: run.rest,
      stop: host.killed,
    };
    return await turn.withVault(async (context) => {
      const done = await exchange(app, context, start, outputs, run);
      if (done === "earlier") return { ok: true, earlier: true };
      if (done !== "settled" && operation === "update")
        await report.exchange("receipt", updateDocument(done));
      return { ok: true };
    });
  };
  await runAll(app, todo, { ...run, work, form, options }, known);
  return 0;
}

/**
 * Reads the list and sorts it: what is left to do in a run that may have begun before, and outcomes that are known before anything is sent.
 * What the state knows of all is forgotten then.
 */
async function sortList(app: App, options: VaultsOptions, run: Run) {
  const [store, service] = [await app.state.store(), app.settings.serviceName()];
  const vaults = new VaultNames(await store.known(service));
  const forAll = await readForAll(app.service, run.operation, options);
  const starts = await readList(app.io, options, run.operation, vaults, (line, vault) =>
    startOf(forAll, line, vault),
  );
  const earlier = run.isNamed ? await store.run(service, run.name) : [];
  for (const one of earlier) checkSameRun(app, run, one);
  const begun = new Map(earlier.map((one) => [one.uuid, one]));
  const circumstances = { policy: app.settings.policy, clock: store };
  const isKept = options.outDir !== undefined || options.exec !== undefined;
  const todo: Start[] = [];
  const known: [Start, Outcome][] = [];
  for (const start of starts) {
    const before = begun.get(start.uuid.toLowerCase());
    if (before !== undefined) checkSameRun(app, run, before, start);
    const vault = vaults.vault(start.uuid);
    const skipped = vault && whySkipped(vault, start, isKept, circumstances, run.rest);
    if (before !== undefined && isDone(before)) known.push([start, { ok: true, earlier: true }]);
    else if (skipped === undefined) todo.push(start);
    else known.push([start, skipped]);
  }
  return { todo, known };
}

/** The outcome of a vault for which nothing is sent. `isKept`: the contents of limited vaults reach somebody who keeps them. */
function whySkipped(
  vault: VaultRecord,
  start: Start,
  isKept: boolean,
  circumstances: Circumstances,
  rest: Way,
): Outcome | undefined {
  const skip = (
    skipped: SkipReason,
    code: ErrorKind,
    message: string,
    next = waysOn(vault, circumstances),
  ): Outcome => ({ ok: false, skipped, error: new VaultError(code, message, { next }) });
  if (["locked", "gone"].includes(vault.lastError?.code ?? ""))
    return skip("locked", "locked", "the vault is locked, or gone");
  const { kind, given, device, operation } = start;
  // Of what is not stored, its turn decides.
  const isAsStored = given === undefined && kind === vault.kind && !(isOnline(kind) && device);
  const first = (isAsStored ? nextAction : beforeStart)(vault, start, circumstances);
  if (first?.do === "refuse") {
    const wish = { ...start, again: withFlags(rest, "--discard-pending") };
    const { code, message, facts } = refusalError(vault, first, wish, circumstances);
    if (first.because === "held") return skip("held", code, message, facts.next);
    if (code === "guard") return skip("guard", code, message, facts.next);
  }
  if (operation !== "get" || !vault.limited || isKept) return undefined;
  const keeps = "another run with --out-dir or --exec keeps what limited vaults deliver";
  return skip("limited", "usage", "the number of its reads is limited", [
    noted(command`vault help many-vaults`, keeps),
  ]);
}

/**
 * Refuses flags that say something about one vault, and updates whose contents do not stand in a list.
 * @throws `usage`
 */
function checkNothingOfOne(options: VaultsOptions, operation: Operation): void {
  const flag = firstGiven(flagsOfOne(), options);
  if (flag !== undefined)
    throw new VaultError("usage", `${flag} is for one vault only, not with ${manyBy(options)}`, {
      hint: "leave one of them out; the lines of --from take kind, credentials, device and externalRef",
      next: [command`vault help many-vaults`],
    });
  if (operation === "get" || options.from !== undefined) return;
  throw new VaultError("usage", "--from is missing: the contents of many vaults come from a list", {
    hint: 'the list has lines such as {"uuid":"…","card":{…}}',
    next: [command`vault update --from FILE`],
  });
}

/**
 * How a command with many vaults prints: lines for a program, or rows for a person.
 * @throws `usage` for an output that cannot have many
 */
function formOf(
  { io: { host, output }, settings: { flags } }: Basics,
  options: VaultsOptions,
  operation: Operation,
): "ndjson" | "rows" {
  const refuse = (message: string, hint: string): never => {
    throw new VaultError("usage", `${message}; nothing was sent`, { hint });
  };
  const { from, all, exec, outDir } = options;
  if (output.field !== undefined)
    refuse("--field prints one value, and there are many vaults", "use -o ndjson, and jq");
  if (flags["output"] === "json")
    refuse("--json prints one document, but a run prints a line for each event", "use -o ndjson");
  const isPassed = outDir !== undefined || exec !== undefined;
  const isForProgram = isPassed || from !== undefined || all !== undefined;
  if (output.format !== "table" || (isForProgram && !host.stdout.isTTY)) return "ndjson";
  if (operation === "get" && !isPassed && !output.reveal)
    refuse(
      "the table masks the contents, so nobody would receive them",
      "use -o ndjson, --out-dir, --exec or --reveal",
    );
  return "rows";
}

/**
 * Takes many vaults, and reports the outcomes that are known before, that of each, then the summary.
 * @throws what has stopped them; `partial` if some failed or were skipped
 */
export async function runAll<Vault extends Named>(
  app: Remote,
  todo: readonly Vault[],
  all: Omit<ReportOptions, "total"> & Turns<Vault>,
  before: readonly (readonly [Named, Outcome])[] = [],
): Promise<void> {
  const { host, narrator } = app.io;
  const report = new Report(app, { ...all, total: todo.length + before.length });
  const onSignal = (): void =>
    narrator.note(
      "Finishing the vaults under way; no other is started. Press Ctrl-C again to stop now.",
    );
  let failure: VaultError | undefined;
  host.interrupted.addEventListener("abort", onSignal, { once: true });
  try {
    await report.outcomes(before);
    failure = report.failureOf(await takeTurns(app, todo, report, all));
    await report.end(failure?.facts.next ?? []);
  } catch (error) {
    failure ??= report.outputFailed(error);
  } finally {
    host.interrupted.removeEventListener("abort", onSignal);
    report.close();
  }
  if (failure !== undefined) throw failure;
}
