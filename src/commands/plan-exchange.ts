import type { Deps } from "../deps.ts";
import { checkRecovery } from "../exchange/adopt.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import { guardStart } from "../exchange/guard.ts";
import { checkStart } from "../exchange/prepare.ts";
import type { ExchangeRequest, ExchangeResult } from "../exchange/run.ts";
import { runExchange } from "../exchange/run.ts";
import type { VaultRecord } from "../exchange/records.ts";
import { toSettle } from "../exchange/settle.ts";
import type { Kind, Operation } from "../interface/endpoints.ts";
import { askForStart, askSettings, askVault } from "./ask.ts";
import { confirmOrFail } from "./confirm.ts";
import { checkCredentialsFile } from "./credentials-file.ts";
import type { ExchangeOptions } from "./exchange-options.ts";
import { checkPairOptions, readPairChoice } from "./exchange-options.ts";
import { createHandover } from "./handover.ts";
import { lookUp } from "./look-up.ts";

/** An exchange as the command line, and the answers of a person, have it: all that can be checked before it is held is. */
export interface PlannedExchange {
  uuid: string;
  kind: Kind;
  /** What the state knows. */
  record: VaultRecord | null;
  request: ExchangeRequest;
}

/** Nothing is written or sent. Raises `usage`, `invalid-input`, `no-credentials`, `interrupted` at a question. */
export async function planExchange(
  deps: Deps,
  options: ExchangeOptions & { uuid?: string | undefined },
  operation: Operation,
): Promise<PlannedExchange> {
  checkPairOptions(options);
  if (options.credentialsOut !== undefined) await checkCredentialsFile(deps, options.credentialsOut);
  await askSettings(deps);
  const uuid = await askVault(deps, options.uuid, operation);
  const given = await readPairChoice(deps, options);
  // What is missing is said before anything is written.
  await deps.service();
  const record = await lookUp(deps, uuid);
  // What is certain to be refused is refused before a person is asked for more.
  if (record !== null && given.recovery === undefined && options.dryRun !== true) checkLeft(deps, record, options, operation);
  const { choice, recovery } = await askForStart(deps, record, operation, given);
  if (recovery !== undefined) checkRecovery(uuid, recovery);
  const kind = recovery?.kind ?? checkStart(uuid, record, operation, choice).kind;
  if (choice.generation !== undefined && choice.force && options.dryRun !== true) {
    const question = `Send generation ${choice.generation} of vault ${uuid}, whatever is known of it? A wrong one counts toward lockout.`;
    await confirmOrFail(deps, options.yes === true, question);
  }
  const noAck = !options.ack;
  const request: ExchangeRequest = {
    ...choice,
    operation,
    recovery,
    externalRef: options.externalRef,
    noAck,
    discardPending: options.discardPending === true,
    handover: createHandover(deps, { credentialsOut: options.credentialsOut, saveCmd: options.saveCmd, noAck }),
  };
  return { uuid, kind, record, request };
}

function checkLeft(deps: Deps, record: VaultRecord, options: ExchangeOptions, operation: Operation): void {
  const { policy } = deps.settings;
  const choice = { operation, discardPending: options.discardPending === true, force: options.force === true };
  if (toSettle(record, policy, choice) === "by the start" && !choice.force) guardStart(record, policy);
}

/** Holds the vault and runs the exchange; undefined after --dry-run, which prints. Raises what `runExchange` raises. */
export async function runPlanned(
  deps: Deps,
  { uuid, request }: Pick<PlannedExchange, "uuid" | "request">,
  dryRun: boolean,
): Promise<ExchangeResult | undefined> {
  const context: ExchangeContext = await deps.hold(uuid);
  try {
    if (!dryRun) return await runExchange(context, request);
    await (await import("./dry-run.ts")).dryRun(deps, context, request);
    return undefined;
  } finally {
    await context.session.release();
  }
}

/** What `--field` may begin with: of the document, or of the one that --dry-run prints. */
export const fieldRoots = (dryRun: boolean): string[] =>
  dryRun ? ["dryRun", "uuid", "kind", "operation", "settlesFirst", "request", "counts", "guard"] : ["vault", "kind", "exchange", "settled"];

/** The closing line of a success. */
export function closeExchange(deps: Deps, uuid: string, { exchange }: ExchangeResult): void {
  const generation = exchange.newGeneration ?? 0;
  deps.narrator.close(
    exchange.state === "held"
      ? `The new credentials are stored as generation ${generation}; the exchange is held: vault ack ${uuid} finishes it.`
      : `The new credentials are stored: generation ${generation} is the current one.`,
  );
}
