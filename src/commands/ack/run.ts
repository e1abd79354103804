import type { Io } from "../../parts/io.ts";
import type { SettingsPart } from "../../parts/settings.ts";
import type { Local, StatePart } from "../../parts/state.ts";
import type { App } from "../../app.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import { acknowledgeOpen } from "../../exchange/acknowledge.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { summarize } from "../../exchange/context.ts";
import type { ExchangeRecord, VaultRecord } from "../../exchange/records.ts";
import { noCredentials, otherService } from "../../exchange/start/start.ts";
import { vaultLine } from "../../cli/output.ts";
import type { View } from "../../cli/vault-view.ts";
import { when } from "../../terminal/time.ts";
import { bySince, stateWords } from "../../terminal/who.ts";
import { acknowledgedOne, checkOwn } from "./past.ts";
import type { ForeignToken } from "./token.ts";
import { acknowledgeToken } from "./token.ts";
import { VaultNames, withLabel } from "../../cli/vault-name.ts";
import type { AckDocument, Acknowledged } from "../../documents/exchange.ts";
import type { AckOptions } from "./descriptor.ts";
import { askSettings, askVault } from "../../input/ask.ts";
import { saveRecovery } from "../../handover/handover.ts";
import type { Named } from "../../cli/vault-name.ts";
import type { Outcome } from "../../runs/report.ts";
import { isMany } from "../../input/flags.ts";
import { readNames } from "../../input/list.ts";
import { newRun } from "../../runs/run.ts";
import { runAll } from "../../runs/many.ts";
import type { Turn } from "../../runs/turns.ts";
import { takeTurns } from "../../runs/turns.ts";
import { command } from "../../way.ts";

type Failed = Named & { error: VaultError };

interface Result {
  acknowledged: Acknowledged[];
  failed: Failed[];
  /** Of one vault of which nothing is pending. */
  last?: ExchangeRecord | undefined;
}

/** Acknowledges exchanges. Exit 0 means all of them; one failure alone has its own code, any other 16. */
export async function runAck(app: App, given: AckOptions): Promise<number> {
  const options = await askWhich(app, given);
  const foreign = checkCombination(options);
  await askSettings(app);
  await app.service.client();
  const [uuid] = options.vaults;
  const result =
    foreign !== undefined
      ? { acknowledged: [await acknowledgeToken(app, foreign)], failed: [] }
      : uuid !== undefined && !isMany(options)
        ? await acknowledgeOne(app, uuid, options)
        : await acknowledgeMany(app, options);
  if (result === null) return 0;
  const failure = failureOf(result);
  await print(app.io, result).catch((error: unknown) => {
    throw failure ?? error;
  });
  if (failure !== undefined) throw failure;
  return 0;
}

function failureOf({ acknowledged, failed }: Result): VaultError | undefined {
  const [failure, ...others] = failed;
  if (failure === undefined) return undefined;
  if (others.length === 0 && acknowledged.length === 0) return failure.error;
  return new VaultError(
    "partial",
    `${failed.length} of ${failed.length + acknowledged.length} exchanges could not be acknowledged; the first: ${failure.error.message}`,
    {
      next: [command`vault status --pending`],
    },
  );
}

/** On a terminal, asks for a pending exchange if the command line names none; all, if nothing is pending. */
async function askWhich({ io, settings, state }: Local, options: AckOptions): Promise<AckOptions> {
  const { vaults, token, kind, operation } = options;
  const isAsked =
    vaults.length === 0 &&
    !isMany(options) &&
    [token, kind, operation].every((given) => given === undefined);
  if (!isAsked || !io.ask.isPossible) return options;
  const pending = (record: VaultRecord): boolean => record.open !== null;
  const isAny = (await (await state.store()).list()).some(pending);
  return isAny
    ? { ...options, vaults: [await askVault({ io, settings, state }, undefined, "ack", pending)] }
    : { ...options, all: true };
}

/** Refuses options that do not fit together. Returns the token of another machine, if one is given. */
function checkCombination(options: AckOptions): ForeignToken | undefined {
  const usage = (message: string): VaultError =>
    new VaultError("usage", message, {
      next: [command`vault ack VAULT`, command`vault ack --all`],
    });
  const [uuid] = options.vaults;
  if (uuid === undefined && options.all !== true && options.from === undefined)
    throw usage("a vault is missing (its UUID or label), or --all");
  if (uuid !== undefined && options.all === true) throw usage("--all cannot be used with a vault");
  const { token, kind, operation, exchange } = options;
  if (exchange !== undefined && (uuid === undefined || isMany(options) || token !== undefined))
    throw usage("--exchange requires one vault, and no --token");
  if (token === undefined) {
    if (kind === undefined && operation === undefined) return undefined;
    throw usage("--kind and --operation require --token");
  }
  if (kind === undefined || operation === undefined || uuid === undefined || isMany(options)) {
    throw new VaultError("usage", "--token requires a vault, --kind and --operation", {
      next: [command`vault ack VAULT --token @FILE --kind credit-card/offline --operation get`],
    });
  }
  return { uuid, kind, operation, token };
}

/** Whether each outcome is an event: there is no document of all. */
const isEvents = ({ host, output: { format, field } }: Io, options: AckOptions): boolean =>
  isMany(options) &&
  field === undefined &&
  (format === "ndjson" ||
    (format === "table" && !host.stdout.isTTY && options.vaults.length === 0));

/** Acknowledges many at a time. Returns null where it tells each outcome at once, and throws as `runAll`. */
async function acknowledgeMany(app: App, options: AckOptions): Promise<Result | null> {
  const { here, failed } =
    options.all === true ? await pendingVaults(app) : { here: options.vaults, failed: [] };
  const known = new VaultNames(
    await (await app.state.store()).summaries(app.settings.serviceName()),
  );
  const entries = await readNames(app.io, { vaults: here, from: options.from }, known);
  const acknowledged: Acknowledged[] = [];
  const work = async ({ uuid }: Named, turn: Turn): Promise<Outcome> => {
    const work = await acknowledging(app, uuid, options);
    acknowledged.push(...(await turn.withVault(work)));
    return { ok: true };
  };
  const { concurrency, maxFailures } = options;
  if (!isEvents(app.io, options)) {
    const tell = async ({ uuid, label }: Named, outcome: Outcome): Promise<void> => {
      if ("error" in outcome)
        failed.push({ uuid, label, error: outcome.error.with({ uuid, label }) });
      return Promise.resolve();
    };
    const { stop } = await takeTurns(app, entries, { work, tell, concurrency, maxFailures });
    if (app.io.host.interrupted.aborted)
      throw new VaultError("interrupted", "interrupted", {
        retry: "safe",
        next: [app.io.line],
      });
    if (stop instanceof Error) throw stop;
    return { acknowledged, failed };
  }
  const before = failed.map(({ error, ...vault }): [Named, Outcome] => [
    vault,
    { ok: false, error },
  ]);
  const name = newRun("ack", app.io.host);
  const total = before.length + entries.length;
  await runAll(app, entries, {
    operation: "ack",
    total,
    form: "ndjson",
    name,
    rest: { ...app.io.line, note: "does the rest" },
    before,
    work,
    concurrency,
    maxFailures,
  });
  return null;
}

/** The vaults of this service with an open exchange; those of other services cannot be acknowledged here, and have failed. */
async function pendingVaults({
  settings,
  state,
}: {
  settings: SettingsPart;
  state: StatePart;
}): Promise<{ here: string[]; failed: Failed[] }> {
  const name = settings.serviceName();
  const pending = (await (await state.store()).list()).filter((record) => record.open !== null);
  const here = pending.filter(({ service }) => service === name);
  const elsewhere = pending.filter(({ service }) => service !== name);
  const failed = elsewhere.map(({ uuid, label, service }) => ({
    uuid,
    label,
    error: otherService(uuid, name, service).with({ label }),
  }));
  return { here: here.map(({ uuid }) => uuid), failed };
}

async function acknowledgeOne(app: App, uuid: string, options: AckOptions): Promise<Result> {
  try {
    let last: ExchangeRecord | undefined;
    const work = await acknowledging(app, uuid, options, (exchange) => (last = exchange));
    return { acknowledged: await app.service.withVault(uuid, work), failed: [], last };
  } catch (cause) {
    const failure = asVaultError(cause);
    if (["interrupted", "usage", "invalid-input"].includes(failure.code)) throw failure;
    const error = await withLabel(app.state, failure.with({ uuid }));
    return { acknowledged: [], failed: [{ uuid, label: error.facts.label ?? null, error }] };
  }
}

/** Acknowledges what is open of a locked vault, if anything is; else `tell` is told what came last, if that ended otherwise. */
async function acknowledging(
  { io, settings, state }: Local,
  uuid: string,
  { exchange: wanted, unread, saved, saveCmd }: AckOptions,
  tell: (last: ExchangeRecord) => void = () => undefined,
): Promise<(context: ExchangeContext) => Promise<Acknowledged[]>> {
  const store = await state.store();
  const now = io.output.format === "table" ? io.host.now() : null;
  return async (context) => {
    const record = await context.session.read();
    if (record === null || record.generations.length === 0) throw noCredentials(uuid);
    const past = { ...context, store, reader: { self: io.host.actor, now } };
    if (wanted !== undefined && record.open?.id !== wanted) {
      const exchange = await acknowledgedOne(past, record, wanted);
      return [asAcknowledged({ ...record, open: null }, exchange)];
    }
    const exchange = await acknowledgeOpen(context, {
      unread: unread === true,
      saved: saved === true,
      ...(saveCmd === undefined
        ? {}
        : {
            save: async (document, given) =>
              await saveRecovery({ io, settings }, saveCmd, document, given),
          }),
    });
    if (record.open === null) await checkOwn(past, record);
    if (exchange !== null) {
      const { operation, acknowledgedAt } = exchange;
      return [asAcknowledged(record, { ...summarize(exchange), operation, acknowledgedAt })];
    }
    if (record.last !== null) tell(record.last);
    return [];
  };
}

const asAcknowledged = (
  { uuid, label, open }: VaultRecord,
  exchange: Acknowledged["exchange"],
): Acknowledged => ({
  uuid,
  label,
  operation: exchange.operation,
  ...(open === null ? { earlier: true } : {}),
  exchange,
});

async function print(io: Io, result: Result): Promise<void> {
  const { acknowledged, failed, last } = result;
  const document: AckDocument = {
    acknowledged,
    ...(last === undefined ? {} : { last: summarize(last) }),
    failed: failed.map((one) => ({ ...one, error: io.redactor.redactValue(one.error.toJSON()) })),
  };
  await io.output.sayDone(document, (view) =>
    describe(result, view).map((line) => io.redactor.redact(line)),
  );
}

function describe({ acknowledged, failed, last }: Result, view: View): string[] {
  const lines = acknowledged.map(({ uuid, operation, earlier, exchange }) => {
    const { generation, acknowledgedAt, by, startedAt } = exchange;
    const who = startedAt === null ? "" : bySince({ by, startedAt }, view, " of");
    const pair = typeof generation === "number" ? ` (generation ${generation})` : "";
    const at = acknowledgedAt === null ? "" : ` at ${when(acknowledgedAt, view.now)}`;
    const words =
      earlier === true
        ? `nothing is pending; the last ${operation}${who} was acknowledged${at}${pair}`
        : `${operation}${who} acknowledged${pair}`;
    return vaultLine(view, uuid, words);
  });
  if (lines.length === 0 && failed.length === 0) {
    const ended =
      last === undefined
        ? ""
        : `; the last ${last.operation}${bySince(last, view, " of")} is ${stateWords[last.state] ?? last.state}`;
    lines.push(`Nothing is pending${ended}.`);
  }
  if (failed.length > 1 || acknowledged.length > 0)
    lines.push(
      ...failed.map(({ uuid, error }) => vaultLine(view, uuid, `failed: ${error.message}`)),
    );
  return lines;
}
