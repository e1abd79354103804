import type { Basics } from "../parts/settings.ts";
import type { App } from "../app.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import { VaultNames } from "../cli/vault-name.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import { summarize } from "../exchange/context.ts";
import { settleInterrupted } from "../exchange/end/acknowledge.ts";
import { runExchange } from "../exchange/run.ts";
import type { Circumstances } from "../exchange/next-action.ts";
import { beforeStart } from "../exchange/next-action.ts";
import type { VaultSummary } from "../exchange/records.ts";
import { timeOf } from "../exchange/ulid.ts";
import type { Start } from "../exchange/start/start.ts";
import type { Operation } from "../protocol/endpoints.ts";
import { askSettings, productionMark } from "../input/ask.ts";
import { commonOf, learnAll } from "../input/read-start.ts";
import { execOf } from "../handover/document-command.ts";
import type { Outputs } from "../handover/handover.ts";
import {
  createHandover,
  passedDocument,
  tableOf,
  updateDocument,
  warnOfReplaced,
} from "../handover/handover.ts";
import { checkTarget, missingIn, prepareOutDir, writeOut } from "../handover/out-file.ts";
import { readStarts } from "../input/list.ts";
import { counted } from "../terminal/count.ts";
import { when } from "../terminal/time.ts";
import type { Outcome, SkipReason } from "./outcome.ts";
import type { Report } from "./report.ts";
import { runAll } from "./run-all.ts";
import type { SameRun } from "./same-run.ts";
import { checkSameRun, deliveryOf, digestOf, isDone, newRun } from "./same-run.ts";
import type { Turn } from "./turns.ts";
import type { ExchangeSummary } from "../errors.ts";
import type { Way } from "../way.ts";
import { command, withWords } from "../way.ts";
import { VaultError } from "../errors.ts";
import type { VaultsOptions, ManyOptions } from "../input/flags.ts";

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
  const name = options.run ?? newRun(operation, app.io.host);
  const { outDir } = options;
  const run: SameRun = {
    name,
    isNamed: options.run !== undefined,
    operation,
    delivery: deliveryOf(app.io.host, operation, options),
    missing: (uuid) => (outDir === undefined ? null : missingIn(app.io.host, outDir, uuid)),
  };
  const list = await sortedList(app, options, run);
  const form = formOf(app, options, operation);
  const { todo, skipped } = list;
  const total = todo.length + list.earlier.length + skipped.length;
  if (options.dryRun === true) {
    await (await import("./dry-run.ts")).dryRunOfMany(app, todo, skipped, form);
    return skipped.length === 0 ? 0 : 16;
  }
  if (todo.length === 0 && skipped.length === 0) warnOfNothingLeft(app, list, run);
  if (operation === "update" && options.yes !== true) await confirmUpdates(app, todo.length);
  if (outDir !== undefined) prepareOutDir(app, outDir);
  const exchange = await exchangesOf(app, options, run);
  let isReplaced = false;
  const work: typeof exchange = async (start, turn, report) => {
    const outcome = await exchange(start, turn, report);
    isReplaced ||= outcome.ok && outcome.earlier !== true && start.given !== undefined;
    return outcome;
  };
  const { concurrency, maxFailures } = options;
  try {
    await runAll(app, todo, {
      work,
      operation,
      total,
      form,
      name,
      rest: restOf(app.io.line, run),
      before: knownOf(list),
      concurrency,
      maxFailures,
    });
  } finally {
    if (isReplaced && options.ack !== false)
      warnOfReplaced(app.io, await app.state.store(), "in --from", command`vault export --all`);
  }
  return 0;
}

/** The command line that continues the run. */
const restOf = (line: Way, { name, isNamed }: SameRun): Way => ({
  ...(isNamed ? line : withWords(line, "--run", name)),
  note: "does the rest, and sends nothing for what is done",
});

/** Says that a name was used up, as by the same cron job a day before: who wants another run would take the exit code for one. */
function warnOfNothingLeft({ io }: App, { earlier, earlierAt }: SortedList, run: SameRun): void {
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
async function sortedList(app: App, options: VaultsOptions, run: SameRun): Promise<SortedList> {
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
    for (const one of begun.values()) checkSameRun(run, one, listed.get(one.uuid));
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

/** What is done in each vault's turn: its exchange, unless the run has acknowledged it before. */
async function exchangesOf(
  app: App,
  options: VaultsOptions,
  run: SameRun,
): Promise<(start: Start, turn: Turn, report: Report) => Promise<Outcome>> {
  const { name, delivery } = run;
  const { outDir, exec, withCredentials } = options;
  const store = await app.state.store();
  const pass = exec === undefined ? undefined : execOf(app, exec, name);
  return async (start, turn, report) => {
    const { uuid, given, newVault } = start;
    const write: Outputs["write"] = async (document, delivered) => {
      const passed = passedDocument(document, options);
      if (outDir !== undefined) writeOut(app.io.host, outDir, passed);
      await pass?.(passed);
      if (outDir === undefined && pass === undefined)
        await report.contents(document, async (view) => await tableOf(delivered, view));
    };
    const line = restOf(app.io.line, run);
    const outputs = { write, withCredentials, line, stop: app.io.host.killed };
    if (outDir !== undefined) checkTarget(app.io.host, outDir, uuid);
    if (given !== undefined) learnAll(turn.learn, given);
    if (newVault !== undefined)
      turn.learn("content" in newVault ? newVault.content : newVault.creditCard.number);
    return await turn.withVault(async (context) => {
      // Only now: before, another process may have had it.
      const [begun] = run.isNamed ? await store.run(app.settings.serviceName(), name, uuid) : [];
      if (begun !== undefined) checkSameRun(run, begun, start);
      if (begun !== undefined && isDone(begun)) return { ok: true, earlier: true };
      if (begun?.state === "ending" && begun.delivered && (await isSettled(context)))
        return { ok: true };
      const inRun = { ...start, run: { name, digest: digestOf(start), delivery } };
      const delivered = await runExchange(context, inRun, createHandover(app, outputs, inRun));
      if (start.operation === "update") await report.receipt(updateDocument(delivered));
      return { ok: true };
    });
  };
}

/** Sends the end call that an earlier command of the run has left; whether nothing remains to be done then. */
async function isSettled(context: ExchangeContext): Promise<boolean> {
  const record = await context.session.read();
  if (record?.open?.state !== "ending") return false;
  const [settled] = await settleInterrupted(context, record.open);
  return settled?.outcome === "acknowledged" || settled?.outcome === "applied";
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
