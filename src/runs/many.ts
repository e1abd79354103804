import type { App } from "../app.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import type { Named } from "../cli/vault-name.ts";
import { VaultNames } from "../cli/vault-name.ts";
import type { ExchangeSummary } from "../errors.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { summarize } from "../exchange/context.ts";
import type { Circumstances } from "../exchange/next-action.ts";
import { beforeStart } from "../exchange/next-action.ts";
import type { VaultSummary } from "../exchange/records.ts";
import type { Start } from "../exchange/start/start.ts";
import { timeOf } from "../exchange/ulid.ts";
import { execOf } from "../handover/document-command.ts";
import type { Outputs } from "../handover/handover.ts";
import { passedDocument, tableOf, updateDocument } from "../handover/handover.ts";
import { checkTarget, prepareOutDir, writeOut } from "../handover/out-file.ts";
import { askSettings, productionMark } from "../input/ask.ts";
import type { ManyOptions, VaultsOptions } from "../input/flags.ts";
import { readStarts } from "../input/list.ts";
import { commonOf, learnAll } from "../input/read-start.ts";
import type { Host } from "../host.ts";
import type { Remote } from "../parts/service.ts";
import type { Basics } from "../parts/settings.ts";
import type { Operation } from "../protocol/endpoints.ts";
import { count, counted, grouped } from "../terminal/count.ts";
import { when } from "../terminal/time.ts";
import type { Way } from "../way.ts";
import { command, withWords } from "../way.ts";
import type { Outcome, SkipReason } from "./report.ts";
import type { Report, ReportOptions } from "./report.ts";
import { createReport } from "./report.ts";
import type { Taken, Turn, Turns } from "./turns.ts";
import { takeTurns } from "./turns.ts";
import type { Run } from "./run.ts";
import { checkSameRun, exchange, isDone, runOf, warnOfReplaced } from "./run.ts";

/**
 * Reads or updates many vaults. Everything is checked before anything is sent.
 * @throws `usage`, `invalid-input`; after the summary what has stopped all of them, or `partial` where some failed or were skipped
 */
export async function runMany(
  app: App,
  options: VaultsOptions,
  operation: Operation,
): Promise<number> {
  checkNothingOfOne(options, operation);
  await askSettings(app);
  // Missing settings are reported before a list is read.
  await app.service.client();
  const run = runOf(app, options, operation);
  const list = await sortedList(app, options, run);
  const form = formOf(app, options, operation);
  const { todo, earlier, skipped } = list;
  if (options.dryRun === true) {
    await (await import("./dry-run.ts")).dryRunOfMany(app, todo, skipped, form);
    return skipped.length === 0 ? 0 : 16;
  }
  if (todo.length === 0 && skipped.length === 0) warnOfNothingLeft(app, list, run);
  if (operation === "update" && options.yes !== true) await confirmUpdates(app, todo.length);
  if (options.outDir !== undefined) prepareOutDir(app, options.outDir);
  let isReplaced = false;
  const pass = options.exec === undefined ? undefined : execOf(app, options.exec, run.name);
  try {
    await runAll(app, todo, {
      work: async (start, turn, report) => {
        const outcome = await exchangeInTurn(app, options, run, { start, turn, report, pass });
        isReplaced ||= outcome.ok && outcome.earlier !== true && start.given !== undefined;
        return outcome;
      },
      operation,
      total: todo.length + earlier.length + skipped.length,
      form,
      name: run.name,
      rest: restOf(app.io.line, run),
      before: knownOf(list),
      concurrency: options.concurrency,
      maxFailures: options.maxFailures,
    });
  } finally {
    if (isReplaced && options.ack !== false)
      await warnOfReplaced(app, "in --from", command`vault export --all`);
  }
  return 0;
}

/** The command line that continues the run. */
const restOf = (line: Way, { name, isNamed }: Run): Way => ({
  ...(isNamed ? line : withWords(line, "--run", name)),
  note: "does the rest, and sends nothing for what is done",
});

/** Says that a name was used up, as by the same cron job a day before: who wants another run would take the exit code for one. */
function warnOfNothingLeft({ io }: App, { earlier, earlierAt }: SortedList, run: Run): void {
  const anew = io.line.argv.flatMap((word, index, words) =>
    words[index - 1] === "--run" ? "NAME" : word.startsWith("--run=") ? ["--run", "NAME"] : word,
  );
  const all = earlier.length === 1 ? "its vault" : `all ${counted(earlier.length, "vault")}`;
  io.narrator.warn(
    `run ${run.name} has done ${all} before, the last ${when(earlierAt, io.host.now())}; nothing was sent`,
    [{ argv: anew, fill: ["NAME"], note: "begins anew: a name stands for one run" }],
  );
}

/** A list, by what is left to do of it. */
interface SortedList {
  todo: Start[];
  /** Acknowledged in the same run before. */
  earlier: Start[];
  /** When the last of them was begun. */
  earlierAt: number;
  skipped: { start: Start; reason: SkipReason; exchange?: ExchangeSummary }[];
}

/** The outcomes that are known before anything is sent. */
function* knownOf({ earlier, skipped }: SortedList): Iterable<[Start, Outcome]> {
  for (const start of earlier) yield [start, { ok: true, earlier: true }];
  for (const { start, reason, ...held } of skipped)
    yield [start, { ok: false, skipped: reason, ...held }];
}

/** Reads the list, and what is left to do of it in a run that may have begun before. What the state knows of all is forgotten then. */
async function sortedList(app: App, options: VaultsOptions, run: Run): Promise<SortedList> {
  const { name, operation } = run;
  const [store, service] = [await app.state.store(), app.settings.serviceName()];
  const known = new VaultNames(await store.summaries(service));
  const forAll = {
    operation,
    kind: options.kind,
    device: await app.service.device(),
    ...commonOf(options),
    takesTime: options.exec !== undefined,
  };
  const starts = await readStarts(app.io, options, forAll, known);
  const begun = new Map(
    (run.isNamed ? await store.run(service, name) : []).map((one) => [one.uuid, one]),
  );
  if (begun.size > 0) {
    const listed = new Map(starts.map((start) => [start.uuid.toLowerCase(), start]));
    for (const one of begun.values()) checkSameRun(app, run, one, listed.get(one.uuid));
  }
  const takesLimited = options.outDir !== undefined || options.exec !== undefined;
  const list: SortedList = { todo: [], earlier: [], earlierAt: 0, skipped: [] };
  for (const start of starts) {
    const before = begun.get(start.uuid.toLowerCase());
    if (before !== undefined && isDone(before)) {
      list.earlier.push(start);
      list.earlierAt = Math.max(list.earlierAt, timeOf(before.id));
      continue;
    }
    const vault = known.vault(start.uuid);
    const reason =
      vault &&
      whySkipped(vault, start, takesLimited, { policy: app.settings.policy, clock: store });
    if (reason === null || reason === undefined) list.todo.push(start);
    else {
      const held = reason === "held" ? (vault?.open ?? null) : null;
      list.skipped.push({ start, reason, ...(held && { exchange: summarize(held) }) });
    }
  }
  return list;
}

/** `takesLimited`: the contents of limited vaults reach somebody who keeps them. */
function whySkipped(
  vault: VaultSummary,
  start: Start,
  takesLimited: boolean,
  circumstances: Circumstances,
): SkipReason | null {
  if (vault.lastError === "locked" || vault.lastError === "gone") return "locked";
  const first = beforeStart(vault, start, circumstances);
  if (first?.do === "refuse") return first.because === "held" ? "held" : "guard";
  return start.operation === "get" && vault.limited && !takesLimited ? "limited" : null;
}

/** The exchange of one vault, in its turn. */
async function exchangeInTurn(
  app: App,
  options: VaultsOptions,
  run: Run,
  {
    start,
    turn,
    report,
    pass,
  }: { start: Start; turn: Turn; report: Report; pass: ReturnType<typeof execOf> | undefined },
): Promise<Outcome> {
  const { host, line } = app.io;
  const { outDir, withCredentials } = options;
  const { uuid, given, newVault } = start;
  const write: Outputs["write"] = async (document, delivery) => {
    const passed = passedDocument(document, options);
    if (outDir !== undefined) writeOut(host, outDir, passed);
    await pass?.(passed);
    if (outDir === undefined && pass === undefined)
      await report.contents(document, async (view) => await tableOf(delivery, view));
  };
  if (outDir !== undefined) checkTarget(host, outDir, uuid);
  if (given !== undefined) learnAll(turn.learn, given);
  if (newVault !== undefined)
    turn.learn("content" in newVault ? newVault.content : newVault.creditCard.number);
  const outputs = { write, withCredentials, line: restOf(line, run), stop: host.killed };
  return await turn.withVault(async (context) => {
    const done = await exchange(app, context, start, outputs, run);
    if (done === "earlier") return { ok: true, earlier: true };
    if (done !== "settled" && run.operation === "update")
      await report.receipt(updateDocument(done));
    return { ok: true };
  });
}

/** @throws `canceled`, `interrupted`; `usage` where nobody can be asked about a live profile */
async function confirmUpdates({ io, settings }: Basics, count: number): Promise<void> {
  const { ask } = io;
  if (count === 0 || (!ask.isPossible && !settings.live)) return;
  await confirmOrFail(
    ask,
    false,
    `${productionMark(settings)}Send new contents to ${count} vaults?`,
  );
}

/** Flags that say something about one vault. */
const ofOne = {
  credentials: "--credentials",
  encryptedData: "--encrypted-data",
  payload: "--payload",
  hashedPin: "--hashed-pin",
  credentialsOut: "--credentials-out",
  saveCmd: "--save-cmd",
  generation: "--generation",
  force: "--force",
  out: "--out",
  card: "--card",
  cardNumber: "--card-number",
  cardName: "--card-name",
  expiry: "--expiry",
  content: "--content",
} as const;

/**
 * Refuses flags that say something about one vault, and updates whose contents do not stand in a list.
 * @throws `usage`
 */
function checkNothingOfOne(options: VaultsOptions, operation: Operation): void {
  const [given] = Object.entries(ofOne).filter(
    ([name]) => (options as Record<string, unknown>)[name] !== undefined,
  );
  if (given !== undefined) {
    throw new VaultError("usage", `${given[1]} is for one vault only`, {
      hint: "put it into the line of that vault in --from",
      next: [command`vault help many-vaults`],
    });
  }
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
  options: ManyOptions & { dryRun?: boolean | undefined },
  operation: Operation,
): "ndjson" | "rows" {
  const usage = (message: string, hint: string): VaultError =>
    new VaultError("usage", `${message}; nothing was sent`, { hint });
  if (options.dryRun === true) return output.format === "table" ? "rows" : "ndjson";
  if (output.field !== undefined)
    throw usage(
      "--field prints one value, and there are many vaults",
      "use -o ndjson, and a tool such as jq",
    );
  if (flags["output"] === "json")
    throw usage("--json prints one document, and there are many vaults", "use -o ndjson");
  const isForProgram = [options.from, options.all, options.exec, options.outDir].some(
    (given) => given !== undefined,
  );
  if (output.format !== "table" || (isForProgram && !host.stdout.isTTY)) return "ndjson";
  const reachesNobody =
    operation === "get" &&
    options.outDir === undefined &&
    options.exec === undefined &&
    !output.reveal;
  if (reachesNobody)
    throw usage(
      "the table masks the contents, so nobody would receive them",
      "use -o ndjson, --out-dir, --exec or --reveal",
    );
  return "rows";
}

interface All<Vault extends Named>
  extends ReportOptions, Pick<Turns<Vault>, "concurrency" | "maxFailures"> {
  /** Does the exchange of one vault, whose contents the report prints. What it throws is its outcome. */
  work: (vault: Vault, turn: Turn, report: Report) => Promise<Outcome>;
  /** Of the run. */
  name: string;
  /** Outcomes that are known already. */
  before: Iterable<readonly [Named, Outcome]>;
}

/**
 * Takes many vaults, and reports the outcome of each, then the summary.
 * @throws what has stopped them; `partial` where some failed or were skipped
 */
export async function runAll<Vault extends Named>(
  app: Remote,
  todo: readonly Vault[],
  all: All<Vault>,
): Promise<void> {
  const { host, narrator } = app.io;
  const { work, name, rest, before, concurrency, maxFailures } = all;
  const report = createReport(app, all);
  const beganAt = host.elapsed();
  const onSignal = (): void =>
    narrator.note(
      "Finishing the vaults under way; no other is started. Ctrl-C again ends at once.",
    );
  let failure: VaultError | undefined;
  host.interrupted.addEventListener("abort", onSignal, { once: true });
  try {
    await tellAll(report, before);
    const taken = await takeTurns(app, todo, {
      work: async (vault, turn) => await work(vault, turn, report),
      tell: async (vault, outcome) => await report.outcome(vault, outcome),
      concurrency,
      maxFailures,
    });
    failure = endOf(host, report, all, taken);
    await tellAll(report, stopped(taken.left));
    await report.end({
      run: name,
      seconds: Math.round(host.elapsed() - beganAt) / 1000,
      calls: taken.calls,
      next: failure?.facts.next ?? [],
    });
  } catch (error) {
    failure ??= outputFailed(name, rest, error);
  } finally {
    host.interrupted.removeEventListener("abort", onSignal);
    report.close();
  }
  if (failure !== undefined) throw failure;
}

/** Lines that are written together: a file is synced once for them. */
const together = 1000;

async function tellAll(
  report: Pick<Report, "outcome">,
  outcomes: Iterable<readonly [Named, Outcome]>,
): Promise<void> {
  let told: Promise<void>[] = [];
  for (const [vault, outcome] of outcomes) {
    told.push(report.outcome(vault, outcome));
    if (told.length < together) continue;
    await Promise.all(told);
    told = [];
  }
  await Promise.all(told);
}

function* stopped(left: readonly Named[]): Iterable<[Named, Outcome]> {
  for (const vault of left) yield [vault, { ok: false, skipped: "stopped" }];
}

/** What the command ends with. The summary has the counts and the causes. */
function endOf(
  host: Pick<Host, "interrupted">,
  report: Pick<Report, "causes" | "tally">,
  { name, rest }: Pick<All<Named>, "name" | "rest">,
  { stop }: Pick<Taken<Named>, "stop">,
): VaultError | undefined {
  const { total, done, failed } = report.tally;
  if (done === total) return undefined;
  if (host.interrupted.aborted)
    return new VaultError("interrupted", `run ${name} was interrupted`, {
      retry: "safe",
      next: [rest],
    });
  if (stop instanceof VaultError) {
    const { code, message, facts, retry } = stop;
    const ways = facts.next ?? [];
    // Where the same line may be run again, it is the harmless way.
    const next = retry === "safe" ? [rest, ...ways] : [...ways, rest];
    return new VaultError(code, message, { ...facts, next });
  }
  if (stop instanceof Error) return outputFailed(name, rest, stop);
  const why = stop === null ? "" : ` (stopped after ${count(failed, "failure")})`;
  const left = `run ${name} left ${grouped(total - done)} of ${counted(total, "vault")} undone${why}: ${report.causes.inShort()}`;
  const { count: staying, hint, next } = report.causes.staying();
  if (done + staying === total) {
    return new VaultError("partial", `${left}; the same command line would not change that`, {
      retry: "after-fix",
      hint,
      next,
    });
  }
  return new VaultError("partial", left, { hint, next: [rest, ...next] });
}

/** The output has failed: nobody gets what else would be read. */
function outputFailed(name: string, rest: Way, error: unknown): VaultError {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof VaultError || code === undefined) return asVaultError(error);
  const why = code === "EPIPE" ? "it was closed" : code === "ENOSPC" ? "the disk is full" : code;
  return new VaultError(
    "partial",
    `run ${name} was stopped, because the output could not be written: ${why}`,
    {
      hint: "what was not delivered is held, and was not acknowledged",
      next: [rest],
      cause: error,
    },
  );
}
