import type { App } from "../../app.ts";
import { vaultLine } from "../../cli/output.ts";
import type { Named } from "../../exchange/records.ts";
import { VaultNames, withLabel } from "../../cli/vault-name.ts";
import type { View } from "../../cli/vault-view.ts";
import type { AckDocument, Acknowledged } from "../../documents/exchange.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { AckChoice } from "../../exchange/acknowledge.ts";
import { acknowledgeOpen } from "../../exchange/acknowledge.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { summarize } from "../../exchange/context.ts";
import type { ExchangeRecord, VaultRecord } from "../../exchange/records.ts";
import { noCredentials } from "../../exchange/start/start.ts";
import { saveRecovery } from "../../handover/shell.ts";
import { askSettings, askVault } from "../../input/ask.ts";
import { isMany } from "../../input/flags.ts";
import { readNames } from "../../input/list.ts";
import type { Io } from "../../parts/io.ts";
import type { Local } from "../../parts/state.ts";
import { runAll } from "../../runs/many.ts";
import type { Outcome } from "../../runs/report.ts";
import { newRun } from "../../runs/run.ts";
import { when } from "../../terminal/time.ts";
import { bySince, stateWords } from "../../terminal/who.ts";
import { command } from "../../way.ts";
import type { AckOptions } from "../ack.ts";
import { acknowledgedOne, checkOwn } from "./past.ts";
import type { ForeignToken } from "./token.ts";
import { acknowledgeForeign } from "./token.ts";

interface Result {
  acknowledged: Acknowledged[];
  failed: (Named & { error: VaultError })[];
  /** Of one vault of which nothing is pending. */
  last?: ExchangeRecord | undefined;
  failure?: VaultError;
}

/** Acknowledges exchanges. Exit 0 means all of them. */
export async function runAck(app: App, options: AckOptions): Promise<number> {
  const { vaults, token, exchange } = options;
  if ((token ?? exchange) !== undefined && vaults.length !== 1)
    throw new VaultError("usage", "--token and --exchange require one vault", {
      next: [command`vault ack --help`],
    });
  await askSettings(app);
  await app.service.client();
  const result = isMany(options)
    ? await acknowledgeMany(app, options)
    : await acknowledgeOne(app, options);
  if (result === null) return 0;
  await print(app.io, result).catch((error: unknown) => {
    throw result.failure ?? error;
  });
  if (result.failure !== undefined) throw result.failure;
  return 0;
}

/** Acknowledges many at a time. Returns null where each outcome was told at once, and throws then as `runAll`. */
async function acknowledgeMany(app: App, options: AckOptions): Promise<Result | null> {
  const { format, field } = app.io.output;
  const { isTTY } = app.io.host.stdout;
  const here = await (await app.state.store()).summaries(app.settings.serviceName());
  const known = options.all ? here.filter(isPending) : here;
  const entries = await readNames(app.io, options, new VaultNames(known));
  const result: Result = { acknowledged: [], failed: [] };
  const isDocument =
    format === "json" || field !== undefined || (isTTY && format === "table" && !entries.length);
  const isLines = format === "ndjson" || (!isTTY && options.vaults.length === 0);
  const done = runAll(app, entries, {
    operation: "ack",
    total: entries.length,
    form: isDocument ? "document" : isLines ? "ndjson" : "rows",
    name: newRun("ack", app.io.host),
    rest: { ...app.io.line, note: "does the rest" },
    before: [],
    work: async ({ uuid }: Named, turn): Promise<Outcome> => {
      result.acknowledged.push(...(await turn.withVault(await acknowledging(app, uuid, options))));
      return { ok: true };
    },
    tell: ({ uuid, label }, outcome) => {
      if ("error" in outcome)
        result.failed.push({ uuid, label, error: outcome.error.with({ uuid, label }) });
    },
    concurrency: options.concurrency,
    maxFailures: options.maxFailures,
  });
  if (!isDocument) {
    await done;
    return null;
  }
  await done.catch((error: unknown) => {
    const [only] = result.failed;
    result.failure = entries.length === 1 && only ? only.error : asVaultError(error);
  });
  return result;
}

const isPending = ({ open }: Pick<VaultRecord, "open">): boolean => open !== null;

/** Acknowledges one vault, which a person may choose among those with something pending. */
async function acknowledgeOne(app: App, options: AckOptions): Promise<Result> {
  const [given] = options.vaults;
  const isNone =
    given === undefined &&
    app.io.ask.isPossible &&
    !(await (await app.state.store()).list()).some(isPending);
  if (isNone) return { acknowledged: [], failed: [] };
  const uuid = await askVault(app, given, "ack", isPending);
  const result: Result = { acknowledged: [], failed: [] };
  try {
    const work = await acknowledging(app, uuid, options, (last) => (result.last = last));
    result.acknowledged = await app.service.withVault(uuid, work);
  } catch (cause) {
    const failure = asVaultError(cause);
    if (["interrupted", "usage", "invalid-input"].includes(failure.code)) throw failure;
    const error = await withLabel(app.state, failure.with({ uuid }));
    result.failure = error;
    result.failed = [{ uuid, label: error.facts.label ?? null, error }];
  }
  return result;
}

/** Acknowledges what is open of a locked vault, if anything is; else `tell` is told what came last, if that ended otherwise. */
async function acknowledging(
  { io, settings, state }: Local,
  uuid: string,
  { exchange: wanted, unread = false, saved = false, saveCmd, ...options }: AckOptions,
  tell: (last: ExchangeRecord) => void = () => undefined,
): Promise<(context: ExchangeContext) => Promise<Acknowledged[]>> {
  const store = await state.store();
  const foreign = await foreignToken(io, options);
  const now = io.output.format === "table" ? io.host.now() : null;
  const save: AckChoice["save"] =
    saveCmd === undefined
      ? undefined
      : async (document, before) => await saveRecovery({ io, settings }, saveCmd, document, before);
  return async (context) => {
    const { session } = context;
    const record = await session.read();
    const open = record?.open?.id;
    // That of an exchange of this machine is recorded.
    if (foreign !== undefined && (!open || (await session.token(open)) !== foreign.token)) {
      const label = record?.label ?? null;
      return [asAcknowledged({ uuid, label }, await acknowledgeForeign(context, foreign), false)];
    }
    if (record === null || record.generations.length === 0) throw noCredentials(uuid);
    const past = { ...context, store, reader: { self: io.host.actor, now } };
    if (wanted !== undefined && record.open?.id !== wanted)
      return [asAcknowledged(record, await acknowledgedOne(past, record, wanted), true)];
    const exchange = await acknowledgeOpen(context, { unread, saved, save });
    if (record.open === null) await checkOwn(past, record);
    if (exchange === null) {
      if (record.last !== null) tell(record.last);
      return [];
    }
    const { operation, acknowledgedAt } = exchange;
    const acknowledged = { ...summarize(exchange), operation, acknowledgedAt };
    return [asAcknowledged(record, acknowledged, record.open === null)];
  };
}

/** The token of --token, which another machine may have obtained. */
async function foreignToken(
  io: Io,
  { token: given, kind, operation }: Pick<AckOptions, "kind" | "operation" | "token">,
): Promise<ForeignToken | undefined> {
  if (given === undefined || kind === undefined || operation === undefined) return undefined;
  return { kind, operation, token: await io.secretOption(given, "--token") };
}

const asAcknowledged = (
  { uuid, label }: Named,
  exchange: Acknowledged["exchange"],
  isEarlier: boolean,
): Acknowledged => ({
  uuid,
  label,
  operation: exchange.operation,
  ...(isEarlier && { earlier: true }),
  exchange,
});

async function print(io: Io, { acknowledged, failed, last }: Result): Promise<void> {
  const document: AckDocument = {
    acknowledged,
    ...(last && { last: summarize(last) }),
    failed: failed.map((one) => ({ ...one, error: io.redactor.redactValue(one.error.toJSON()) })),
  };
  await io.output.printDone(document, (view) =>
    failed.length > 0 ? [] : describe(acknowledged, last, view).map(io.redactor.redact),
  );
}

function describe(acknowledged: Acknowledged[], last: Result["last"], view: View): string[] {
  if (acknowledged.length === 0) {
    const ended =
      last && `; the last ${last.operation}${bySince(last, view, " of")} is ${stateOf(last.state)}`;
    return [`Nothing is pending${ended ?? ""}.`];
  }
  return acknowledged.map(({ uuid, operation, earlier, exchange }) => {
    const { generation, acknowledgedAt, by, startedAt } = exchange;
    const who = startedAt === null ? "" : bySince({ by, startedAt }, view, " of");
    const pair = generation === null ? "" : ` (generation ${generation})`;
    const at = acknowledgedAt === null ? "" : ` at ${when(acknowledgedAt, view.now)}`;
    const words =
      earlier === true
        ? `nothing is pending; the last ${operation}${who} was acknowledged${at}${pair}`
        : `${operation}${who} acknowledged${pair}`;
    return vaultLine(view, uuid, words);
  });
}

const stateOf = (state: string): string => stateWords[state] ?? state;
