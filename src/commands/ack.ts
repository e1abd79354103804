import {
  command,
  optionName,
  type Flags,
  type OptionValues,
  vaultsArgument,
} from "../cli/command.ts";
import { kinds, operations, type Operation } from "../protocol/endpoints.ts";
import { actorWords, isSameUser, type Actor } from "../actor.ts";
import type { App } from "../app.ts";
import { vaultLine } from "../cli/output.ts";
import { VaultNames, withLabel } from "../cli/vault-name.ts";
import type { View } from "../cli/vault-view.ts";
import type { AckDocument, Acknowledged } from "../documents/exchange.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { acknowledgeOpen, type AckChoice } from "../exchange/end.ts";
import type { ExchangeContext, EndCall, Send, Store } from "../exchange/ports.ts";
import type { Named, ExchangeRecord, PastExchange, VaultRecord } from "../exchange/records.ts";
import { noCredentials, summarize } from "../exchange/records.ts";
import { meaningOf, refusal, serviceDetails, wording } from "../exchange/dispositions.ts";
import { refusedSingle, sendSingle } from "../exchange/single.ts";
import { againOf, waysOn } from "../exchange/refusals.ts";
import { saveRecovery } from "../handover/pass-on.ts";
import { askVault } from "../input/ask.ts";
import { manyBy, manyFlags } from "../input/flags.ts";
import { nameOf, readList } from "../input/list.ts";
import type { Io } from "../parts/basics.ts";
import type { Local } from "../parts/state.ts";
import { isSuccess } from "../protocol/answers.ts";
import { runAll } from "../runs/many.ts";
import type { Outcome } from "../runs/report.ts";
import { newRun } from "../runs/run.ts";
import { when } from "../terminal/time.ts";
import { bySince, stateWords, type Reader } from "../terminal/narrator.ts";
import { command as wayTo } from "../way.ts";

const ofMany = Object.keys(manyFlags).map(optionName);

interface Result {
  acknowledged: Acknowledged[];
  failed: (Named & { error: VaultError })[];
  /** Of one vault of which nothing is pending, if that ended otherwise. */
  last?: ExchangeRecord | null;
  /** Each outcome of many was told at once. */
  isTold?: boolean;
}

const flags = {
  "--exchange <id>": {
    help: "this exchange and no other: exit 6 if it was discarded or has expired",
    conflicts: [...ofMany, "token"],
  },
  "--unread": "also acknowledge reads that may not have been delivered (uses up a read)",
  "--save-cmd <command>":
    "first pass the recovery document to a shell command, after a --save-cmd that failed",
  "--saved": "the new credentials are saved elsewhere, after a --save-cmd that failed",
  "--token <secret>": {
    help: "a token from another machine, with --kind and --operation: @FILE, -, env:NAME",
    conflicts: ofMany,
    requires: ["kind", "operation"],
  },
  "--kind <kind>": { help: "with --token: kind of the vault", choices: kinds, requires: ["token"] },
  "--operation <operation>": {
    help: "with --token: get or update",
    choices: operations,
    requires: ["token"],
  },
  ...manyFlags,
  "--all": { ...manyFlags["--all"], help: "every pending exchange" },
} as const satisfies Flags;

type AckOptions = OptionValues<typeof flags> & { vaults: readonly string[] };

/** Acknowledges exchanges. Exit 0 means all of them. What was done is told also if something failed. */
export const ack = command({
  description:
    "Acknowledge the pending or held exchange of a vault. Acknowledging twice is no error; with nothing pending, exit 6 says that your last exchange was not acknowledged. Many vaults: vault help many-vaults.",
  arguments: { vaults: vaultsArgument },
  options: flags,
  examples: ["vault ack $VAULT", "vault ack --all", "vault ack $VAULT --json"],
  async run(app, options) {
    const { vaults, token, exchange } = options;
    const ofOne = token === undefined ? exchange && "--exchange" : "--token";
    if (ofOne !== undefined && vaults.length !== 1)
      throw new VaultError("usage", `${ofOne} requires one vault`, {
        next: [wayTo`vault ack --help`],
      });
    const result: Result = { acknowledged: [], failed: [] };
    const acknowledge = manyBy(options) === undefined ? acknowledgeOne : acknowledgeMany;
    const failure = await acknowledge(app, options, result).then(() => undefined, asVaultError);
    const isAnything =
      failure === undefined || result.acknowledged.length + result.failed.length > 0;
    if (result.isTold !== true && isAnything) await print(app.io, result, failure);
    if (failure !== undefined) throw failure;
  },
});

/** Acknowledges many at a time. @throws as `runAll`; of one alone, and in one document, its error */
async function acknowledgeMany(app: App, options: AckOptions, result: Result): Promise<void> {
  const { format, field } = app.io.output;
  const { isTTY } = app.io.host.stdout;
  const store = await app.state.store();
  // Those of other services fail, and are told.
  const pending = options.all === true ? (await store.list()).filter(isPending) : undefined;
  if (pending?.length !== 0) await app.service.client();
  const known = pending ?? (await store.known(app.settings.serviceName()));
  const names = new VaultNames<VaultRecord>(known);
  const entries = await readList(app.io, options, "ack", names, nameOf);
  const isDocument =
    format === "json" || field !== undefined || (isTTY && format === "table" && !entries.length);
  const isLines = format === "ndjson" || (!isTTY && options.vaults.length === 0);
  result.isTold = !isDocument;
  await runAll(app, entries, {
    operation: "ack",
    form: isDocument ? "document" : isLines ? "ndjson" : "rows",
    name: newRun("ack", app.io.host),
    rest: { ...app.io.line, note: "does the rest" },
    options,
    work: async ({ uuid }: Named, turn): Promise<Outcome> => {
      await turn.withVault(await acknowledging(app, uuid, options, result));
      return { ok: true };
    },
    tell: ({ uuid, label }, outcome) => {
      if (!outcome.ok)
        result.failed.push({ uuid, label, error: outcome.error.with({ uuid, label }) });
    },
  }).catch((error: unknown) => {
    const [only] = result.failed;
    throw isDocument && entries.length === 1 && only !== undefined ? only.error : error;
  });
}

const isPending = ({ open }: Pick<VaultRecord, "open">): boolean => open !== null;

async function acknowledgeOne(app: App, options: AckOptions, result: Result): Promise<void> {
  const [given] = options.vaults;
  const isAsked = given === undefined && app.io.ask.isPossible;
  if (isAsked && !(await (await app.state.store()).list()).some(isPending)) return;
  await app.service.client();
  const uuid = await askVault(app, given, "ack", isPending);
  const work = await acknowledging(app, uuid, options, result);
  result.last = await app.service.withVault(uuid, work).catch(async (cause: unknown) => {
    const failure = asVaultError(cause);
    if (["interrupted", "usage", "invalid-input"].includes(failure.code)) throw failure;
    const error = await withLabel(app.state, failure.with({ uuid }));
    result.failed.push({ uuid, label: error.facts.label ?? null, error });
    throw error;
  });
}

/** Acknowledges what is open of a locked vault. Resolves to what came last if nothing is, and that ended otherwise. */
async function acknowledging(
  { io, settings, state }: Local,
  uuid: string,
  { exchange: wanted, unread = false, saved = false, saveCmd, token, kind, operation }: AckOptions,
  result: Result,
): Promise<(context: ExchangeContext) => Promise<ExchangeRecord | null>> {
  const store = await state.store();
  // What --token ends may be of another machine.
  let foreign: EndCall | undefined;
  if (token !== undefined && kind !== undefined && operation !== undefined) {
    const secret = await io.secretOption(token, "--token");
    foreign = { step: "end", uuid, kind, operation, token: secret };
  }
  const now = io.output.format === "table" ? io.host.now() : null;
  const reader = { self: io.host.actor, now };
  const save: AckChoice["save"] =
    saveCmd === undefined
      ? undefined
      : async (document, before) => await saveRecovery({ io, settings }, saveCmd, document, before);
  return async (context) => {
    const { session } = context;
    const record = await session.read();
    const add = (exchange: Acknowledged["exchange"], isEarlier = false): null => {
      const { operation } = exchange;
      const { label } = record ?? { label: null };
      const earlier = isEarlier && ({ earlier: true } as const);
      result.acknowledged.push({ uuid: session.uuid, label, operation, ...earlier, exchange });
      return null;
    };
    const open = record?.open?.id;
    // That of an exchange of this machine is recorded.
    if (foreign !== undefined && (!open || (await session.token(open)) !== foreign.token))
      return add(await acknowledgeForeign(context, foreign));
    if (record === null || record.generations.length === 0) throw noCredentials(uuid);
    const past = async (id?: string) => await pastExchange(context, store, reader, record, id);
    if (wanted !== undefined && open !== wanted) {
      const found = await past(wanted);
      if (found === undefined)
        throw new VaultError(
          "invalid-input",
          `--exchange: vault ${record.uuid} has no exchange "${wanted}"`,
          { uuid: record.uuid, next: [wayTo`vault status ${record.uuid} --history`] },
        );
      // A delete is never acknowledged.
      const operation = found.exchange.operation as Operation;
      return add({ ...found.exchange, operation, acknowledgedAt: found.changedAt }, true);
    }
    const exchange = await acknowledgeOpen(context, { unread, saved, save });
    if (record.open === null) await past();
    if (exchange === null) return record.last;
    const { operation, acknowledgedAt } = exchange;
    return add({ ...summarize(exchange), operation, acknowledgedAt }, record.open === null);
  };
}

/**
 * Sends the acknowledgement of an exchange that this machine did not start, until it is answered or no time is left. Its credentials
 * are not here, so nothing is recorded.
 * @throws `in-doubt` for a token that is refused after an end call that may have been accepted
 */
async function acknowledgeForeign(
  context: ExchangeContext,
  call: EndCall,
): Promise<Acknowledged["exchange"]> {
  const { uuid, operation } = call;
  let unanswered = 0;
  const send: Send = async (sent, signal) => {
    const reply = await context.service.call(sent, signal);
    const { is, end, cause, answer } = meaningOf(reply, call);
    if (reply.type === "not-sent" || end !== "nothing" || is === "missing") return reply;
    unanswered += 1;
    return reply.type === "answer" ? { type: "no-answer", cause, answer } : reply;
  };
  const reply = await sendSingle({ ...context, service: { ...context.service, call: send } }, call);
  if (reply.type !== "answer") throw refusedSingle(context, reply, call);
  const { answer } = reply;
  if (isSuccess(answer))
    return {
      id: null,
      operation,
      state: "acknowledged",
      externalRef: null,
      startedAt: null,
      tokenExpiry: null,
      generation: null,
      by: null,
      acknowledgedAt: new Date(context.clock.now()).toISOString(),
    };
  const said = meaningOf(reply, call);
  if (said.end !== "refused") throw refusal(said, uuid);
  // It may also have been used by a call of another run, whose answer was lost.
  const before = unanswered > 0 ? ", but an end call before went unanswered" : "";
  throw new VaultError(
    unanswered > 0 ? "in-doubt" : "service",
    `the service did not accept the token (${wording(answer)})${before}`,
    {
      uuid,
      service: serviceDetails(answer),
      hint: "the old credentials are valid if it expired, the new ones if it was used before: keep both",
    },
  );
}

/**
 * The exchange of this id; or, with nothing pending, the last that this user on this machine began, if it may have failed.
 * @throws `rejected` if it was not acknowledged, with who ended it; without an id, only if it has ended
 */
async function pastExchange(
  context: ExchangeContext,
  store: Pick<Store, "past">,
  { self, now }: Reader,
  record: VaultRecord,
  id?: string,
): Promise<PastExchange | undefined> {
  const { service, uuid, kind, exchanges } = record;
  const isOwn = ({ by }: { by: Actor | null }): boolean => by !== null && isSameUser(by, self);
  const newest = exchanges.find(isOwn);
  // The journal takes longer.
  if (id === undefined && newest !== undefined && !hasFailed(newest)) return undefined;
  // Starts that were never sent are not among them.
  const all = await store.past(service, uuid, id);
  const found = id === undefined ? all.find(({ exchange }) => isOwn(exchange)) : all[0];
  if (found === undefined) return undefined;
  const { exchange, changedAt, changedBy } = found;
  const { operation, state } = exchange;
  if (state === "acknowledged" || (id === undefined && !hasFailed(exchange))) return found;
  const who = changedBy === null ? "" : ` by ${actorWords(changedBy)}`;
  const effect = operation === "update" && hasFailed(exchange) ? "; it did not take effect" : "";
  const what = `${stateWords[state] ?? state}${who} at ${when(changedAt, now)}${effect}`;
  throw new VaultError("rejected", `the ${operation} was not acknowledged: ${what}`, {
    uuid,
    exchange,
    by: changedBy ?? undefined,
    retry: "after-status",
    next: state === "rejected" ? waysOn(record, context) : [againOf(uuid, { operation, kind })],
  });
}

const hasFailed = ({ state }: { state: string }): boolean =>
  ["expired", "discarded", "rejected"].includes(state);

async function print(
  io: Io,
  { acknowledged, failed, last }: Result,
  failure: VaultError | undefined,
): Promise<void> {
  const { redact, redactValue } = io.redactor;
  const document: AckDocument = {
    acknowledged,
    ...(last && { last: summarize(last) }),
    failed: failed.map((one) => ({ ...one, error: redactValue(one.error.toJSON()) })),
  };
  await io.output.printDone(
    document,
    (view) => {
      if (failed.length > 0) return [];
      if (acknowledged.length > 0) return acknowledged.map((one) => redact(lineOf(one, view)));
      if (!last) return ["Nothing is pending."];
      const whose = bySince(last, view, " of");
      const state = stateWords[last.state] ?? last.state;
      return [redact(`Nothing is pending; the last ${last.operation}${whose} is ${state}.`)];
    },
    failure,
  );
}

function lineOf({ uuid, operation, earlier, exchange }: Acknowledged, view: View): string {
  const { generation, acknowledgedAt, by, startedAt } = exchange;
  const who = startedAt === null ? "" : bySince({ by, startedAt }, view, " of");
  const pair = generation === null ? "" : ` (generation ${generation})`;
  const at = acknowledgedAt === null ? "" : ` at ${when(acknowledgedAt, view.now)}`;
  const words =
    earlier === true
      ? `nothing is pending; the last ${operation}${who} was acknowledged${at}${pair}`
      : `${operation}${who} acknowledged${pair}`;
  return vaultLine(view, uuid, words);
}
