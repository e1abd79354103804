import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { checkRecovery } from "../../exchange/recovery/adopt.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { guardStart } from "../../exchange/guard.ts";
import { checkStart } from "../../exchange/start/prepare.ts";
import type { ExchangeRequest, ExchangeResult } from "../../exchange/run.ts";
import { runExchange } from "../../exchange/run.ts";
import { labelOf, pairsOf, vaultOf } from "../../exchange/recovery/of-exchange.ts";
import type { Credentials, VaultRecord } from "../../exchange/records.ts";
import { toSettle } from "../../exchange/end/settle.ts";
import { isShared } from "../../settings/location.ts";
import type { Kind, Operation } from "../../protocol/endpoints.ts";
import { askForStart, askSettings, askVault } from "./ask.ts";
import { confirmOrFail } from "../../cli/prompts.ts";
import type { CredentialsOut } from "./credentials-out.ts";
import { withCredentialsOut } from "./credentials-out.ts";
import type { ExchangeOptions } from "./flags.ts";
import { checkPairOptions, readPairChoice } from "./options.ts";
import { createHandover } from "./handover.ts";
import { lookUp } from "./look-up.ts";

/** What planning an exchange and running it works with. */
export type ExchangeNeeds = Pick<
  App,
  | "ask"
  | "configuration"
  | "device"
  | "hold"
  | "host"
  | "narrator"
  | "output"
  | "redactor"
  | "secretOption"
  | "service"
  | "serviceName"
  | "settings"
  | "sources"
  | "stateDirectory"
  | "store"
  | "waiting"
  | "withLock"
>;

/** An exchange from the command line and a person's answers, with all checks done that need no lock. */
export interface PlannedExchange {
  uuid: string;
  kind: Kind;
  /** What the state knows. */
  record: VaultRecord | null;
  request: ExchangeRequest;
  out: CredentialsOut | undefined;
  /** Of the document that was given. */
  pairs: readonly Credentials[];
  /** The vault, where it is held already. */
  held: ExchangeContext | undefined;
}

type Options = ExchangeOptions & { uuid?: string | undefined };

/**
 * Plans an exchange, and does the work with the plan while the file of --credentials-out is locked. Until `runPlanned` nothing
 * is sent, and on this machine nothing is written.
 *
 * @throws `usage`, `invalid-input`, `no-credentials`, `busy`, `interrupted` at a question.
 */
export async function withPlan<T>(
  app: ExchangeNeeds,
  options: Options,
  operation: Operation,
  work: (planned: PlannedExchange) => Promise<T>,
): Promise<T> {
  checkPairOptions(options);
  if (options.credentialsOut === undefined)
    return await withRequest(app, options, operation, undefined, work);
  return await withCredentialsOut(
    app,
    options,
    async (out) => await withRequest(app, options, operation, out, work),
  );
}

async function withRequest<T>(
  app: ExchangeNeeds,
  options: Options,
  operation: Operation,
  out: CredentialsOut | undefined,
  work: (planned: PlannedExchange) => Promise<T>,
): Promise<T> {
  await askSettings(app);
  const uuid = await askVault(app, options.uuid, operation);
  const given = await readPairChoice(app, options);
  // Missing settings are reported before anything is written.
  const service = await app.service();
  // One round trip reads the vault, holds it and asks for the place of the start; but nobody, and no pipe, is asked for more then.
  const isHeldFirst =
    isShared(app.settings.state) &&
    operation === "get" &&
    !app.ask.isPossible &&
    options.dryRun !== true;
  const [held] = isHeldFirst
    ? await Promise.all([app.hold(uuid), service.reserveAhead({}, app.waiting.deadline)])
    : [];
  try {
    const record = held === undefined ? await lookUp(app, uuid) : await held.session.read();
    const known = record === null || record.generations.length === 0 ? null : record;
    return await work({
      ...(await completeRequest(app, options, operation, { uuid, given, record: known, out })),
      held,
    });
  } finally {
    await held?.session.release();
  }
}

/** What is known of an exchange before its other options are read. */
interface Known extends Pick<PlannedExchange, "uuid" | "record" | "out"> {
  given: Awaited<ReturnType<typeof readPairChoice>>;
}

async function completeRequest(
  app: ExchangeNeeds,
  options: Options,
  operation: Operation,
  { uuid, given, record, out }: Known,
): Promise<Omit<PlannedExchange, "held">> {
  // A start that is certain to be refused is refused before more questions.
  const isRecovery = given.document?.type === "recovery";
  if (record !== null && !isRecovery && options.dryRun !== true)
    await checkLeft(app, record, options, operation);
  const { choice, document, exact } = await askForStart(app, record, operation, given);
  const recovery = document?.type === "recovery" ? document.document : undefined;
  const named = vaultOf(document);
  if (named !== undefined) checkRecovery(uuid, { uuid: named });
  out?.check(uuid, exact);
  if (choice.generation !== undefined && document !== undefined && out?.isState !== true) {
    throw new VaultError(
      "usage",
      "--generation chooses stored credentials and excludes given ones",
      {
        uuid,
        hint: "leave one of them out; or give the same file by --credentials @FILE and --credentials-out FILE",
      },
    );
  }
  const { out: outFile, credentialsOut } = options;
  if (outFile !== undefined)
    (await import("../many/out-file.ts")).checkOut(app, { out: outFile, credentialsOut }, uuid);
  const kind = recovery?.kind ?? checkStart(uuid, record, operation, choice).kind;
  const { field } = app.output;
  if (field !== undefined) {
    const { checkFieldPath } = await import("../documents/field-paths.ts");
    checkFieldPath(field, { operation, kind, dryRun: options.dryRun === true });
  }
  if (choice.generation !== undefined && choice.force && options.dryRun !== true) {
    const question = `Send generation ${choice.generation} of vault ${uuid} anyway? Wrong credentials count toward lockout.`;
    await confirmOrFail(app.ask, options.yes === true, question);
  }
  const noAck = options.ack === false;
  const label = record?.label ?? labelOf(document);
  const handover = createHandover(app, {
    outFile,
    out,
    saveCmd: options.saveCmd,
    noAck,
    uuid,
    label,
    kind,
    given: { document, exact },
  });
  if (handover.leavesState && record === null && out?.isState !== true && options.dryRun !== true) {
    app.narrator.warn(`vault ${uuid} is new to this state; the lockout guard knows only this run`);
  }
  const request: ExchangeRequest = {
    ...choice,
    operation,
    recovery,
    // Only where the file is the state does nobody else have what it holds.
    attempts: document?.attempts && {
      ...document.attempts,
      sole: document.attempts.sole && out?.isState === true,
    },
    externalRef: options.externalRef,
    noAck,
    discardPending: options.discardPending === true,
    handover,
  };
  return { uuid, kind, record, request, out, pairs: pairsOf(document) };
}

async function checkLeft(
  app: Pick<App, "settings" | "store">,
  record: VaultRecord,
  options: ExchangeOptions,
  operation: Operation,
): Promise<void> {
  const { policy } = app.settings;
  const choice = {
    operation,
    discardPending: options.discardPending === true,
    force: options.force === true,
  };
  const now = (await app.store()).now();
  if (toSettle(record, policy, choice, now) !== "acknowledge" && !choice.force)
    guardStart(record, { policy, now });
}

/**
 * Holds the vault and runs the exchange; undefined after --dry-run, which prints.
 * @throws what `runExchange` throws
 */
export async function runPlanned(
  app: Pick<App, "hold" | "output" | "settings">,
  {
    uuid,
    request,
    out,
    pairs,
    held,
  }: Pick<PlannedExchange, "uuid" | "request" | "out" | "pairs" | "held">,
  dryRun: boolean,
): Promise<ExchangeResult | undefined> {
  const context: ExchangeContext = {
    ...(held ?? (await app.hold(uuid))),
    file: out?.isState === true ? out.path : undefined,
  };
  try {
    await out?.checkKnown(context, pairs);
    if (!dryRun) return await runExchange(context, request);
    await (await import("./dry-run.ts")).dryRun(app, context, request);
    return undefined;
  } finally {
    await context.session.release();
  }
}

/** The closing line of a success. */
export function closeExchange(
  app: Pick<App, "narrator">,
  uuid: string,
  { exchange }: ExchangeResult,
): void {
  const generation = exchange.newGeneration ?? 0;
  app.narrator.close(
    exchange.state === "held"
      ? `New credentials stored (generation ${generation}); the exchange is held. To finish it: vault ack ${uuid}`
      : `New credentials stored (generation ${generation}).`,
  );
}
