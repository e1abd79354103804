import { setFlagsFromString } from "node:v8";
import type { App } from "../../app.ts";
import { confirmOrFail } from "../../cli/prompts.ts";
import { VaultNames } from "../../cli/vault-name.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { askSettings } from "../exchange/ask.ts";
import type { ExchangeNeeds } from "../exchange/plan.ts";
import { checkNothingOfOne, formOf } from "./check.ts";
import type { Entry, Outcome } from "./entry.ts";
import type { ManyExchangeOptions } from "./exchange.ts";
import { exchangesOf } from "./exchange.ts";
import { readList } from "./list.ts";
import { missingIn, prepareOutDir } from "./out-file.ts";
import type { Plan } from "./plan.ts";
import { planOf } from "./plan.ts";
import { printPlan } from "./print-plan.ts";
import { createReport } from "./report.ts";
import type { SameRun } from "./same-run.ts";
import { checkSameRun, deliveryOf, newRun } from "./same-run.ts";
import { takeAll } from "./take-all.ts";
import type { TurnNeeds } from "./turn.ts";

export type ManyNeeds = ExchangeNeeds & TurnNeeds & Pick<App, "flags" | "profile">;

/**
 * Reads or updates many vaults. Everything is checked before anything is sent.
 * @throws `usage`, `invalid-input`; after the summary what has stopped all of them, or `partial` where some failed or were skipped
 */
export async function runMany(
  app: ManyNeeds,
  options: ManyExchangeOptions,
  operation: Operation,
): Promise<number> {
  checkNothingOfOne(options, operation);
  const form = formOf(app, options, operation);
  await askSettings(app);
  // Missing settings are reported before a list is read.
  await app.service();
  const isNamed = options.run !== undefined;
  const name = options.run ?? newRun(operation, app.host);
  const { outDir } = options;
  const run: SameRun = {
    name,
    operation,
    delivery: deliveryOf(app.host, operation, options),
    missing: (uuid) => (outDir === undefined ? null : missingIn(app, outDir, uuid)),
  };
  const plan = await inLittleMemory(async () => await planned(app, options, run));
  const total = plan.todo.length + plan.earlier.length + plan.skipped.length;
  if (options.dryRun === true) {
    const calls = plan.todo.length * (options.ack === false ? 1 : 2);
    const seconds = app.settings.rate === 0 ? 0 : Math.ceil(calls / app.settings.rate);
    const skipped = plan.skipped.map(({ entry: { uuid, label }, reason }) => ({
      uuid,
      label,
      reason,
    }));
    await printPlan(app, { vaults: plan.todo.length, calls, seconds, skipped }, form);
    return skipped.length === 0 ? 0 : 16;
  }
  if (operation === "update" && options.yes !== true) await confirmUpdates(app, plan.todo.length);
  if (outDir !== undefined) prepareOutDir(app, outDir);
  const report = createReport(app, { operation, total, form });
  const work = await exchangesOf(app, options, { ...run, isNamed, report });
  const { concurrency, maxFailures } = options;
  const take = async (): Promise<void> =>
    await takeAll(app, plan.todo, {
      work,
      report,
      name,
      next: restOf(name),
      before: knownOf(plan),
      concurrency,
      maxFailures,
    });
  // Without a rate limit, as for a test, time is worth more.
  await (app.settings.rate === 0 ? take() : inLittleMemory(take));
  return 0;
}

/** Garbage that waits for its collection takes more than a list of 100,000 vaults. Code compiled at the end is of use without this, too. */
async function inLittleMemory<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString("--optimize-for-size");
  try {
    return await work();
  } finally {
    setFlagsFromString("--no-optimize-for-size");
  }
}

const restOf = (name: string): string =>
  `the same command line with --run ${name} does the rest, and sends nothing for what is done`;

/** The outcomes that are known before anything is sent. */
function* knownOf({ earlier, skipped }: Plan): Iterable<[Entry, Outcome]> {
  for (const entry of earlier) yield [entry, { ok: true, earlier: true }];
  for (const { entry, reason } of skipped) yield [entry, { ok: false, skipped: reason }];
}

/** Reads the list, and what is left to do of it in a run that may have begun before. What the state knows of all is forgotten then. */
async function planned(app: ManyNeeds, options: ManyExchangeOptions, run: SameRun): Promise<Plan> {
  const { name, operation } = run;
  const [store, service] = [await app.store(), app.serviceName()];
  const known = new VaultNames(await store.summaries(service));
  const defaults = { kind: options.kind, device: await app.device() };
  const entries = await readList(app, { ...options, defaults }, operation, known);
  const begun = new Map(
    (options.run === undefined ? [] : await store.run(service, name)).map((one) => [one.uuid, one]),
  );
  if (begun.size > 0) {
    const listed = new Map(entries.map((entry) => [entry.uuid.toLowerCase(), entry]));
    for (const one of begun.values()) checkSameRun(run, one, listed.get(one.uuid));
  }
  return planOf(entries, known, begun, {
    operation,
    discardPending: options.discardPending === true,
    policy: app.settings.policy,
    takesLimited: options.outDir !== undefined || options.exec !== undefined,
    now: store.now(),
  });
}

/** @throws `canceled`, `interrupted`; `usage` where nobody can be asked about a live profile */
async function confirmUpdates(
  app: Pick<App, "ask" | "profile" | "settings">,
  count: number,
): Promise<void> {
  const { settings, profile, ask } = app;
  if (count === 0 || (!ask.isPossible && !settings.live)) return;
  const mark = settings.live
    ? `Production profile ${profile.name} (${settings.baseUrl ?? "no base URL"}): `
    : "";
  await confirmOrFail(ask, false, `${mark}Send new contents to ${count} vaults?`);
}
