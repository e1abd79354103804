import type { Deps } from "../deps.ts";
import { checkRecovery } from "../exchange/adopt.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import { checkStart } from "../exchange/prepare.ts";
import type { ExchangeRequest, ExchangeResult } from "../exchange/run.ts";
import { runExchange } from "../exchange/run.ts";
import type { VaultRecord } from "../exchange/records.ts";
import type { Kind, Operation } from "../interface/endpoints.ts";
import { askForStart, askSettings, askVault } from "./ask.ts";
import { checkCredentialsFile } from "./credentials-file.ts";
import type { ExchangeOptions } from "./exchange-options.ts";
import { readPairChoice } from "./exchange-options.ts";
import { createHandover } from "./handover.ts";
import { lookUp } from "./look-up.ts";

/** An exchange as the command line, and the answers of a person, have it: all that can be checked before it is held is. */
export interface PlannedExchange {
  uuid: string;
  /** Undefined where only the hold can tell: the vault is known under another base URL. */
  kind: Kind | undefined;
  /** What the state knows, at another base URL nothing. */
  record: VaultRecord | null;
  request: ExchangeRequest;
}

/** Nothing is written or sent. Raises `usage`, `invalid-input`, `no-credentials`, `interrupted` at a question. */
export async function planExchange(
  deps: Deps,
  options: ExchangeOptions & { uuid?: string | undefined },
  operation: Operation,
): Promise<PlannedExchange> {
  if (options.credentialsOut !== undefined) await checkCredentialsFile(options.credentialsOut);
  await askSettings(deps);
  const uuid = await askVault(deps, options.uuid, operation);
  const given = await readPairChoice(deps, options);
  // What is missing is said before anything is written.
  await deps.service();
  const record = await lookUp(deps, uuid);
  const { choice, recovery } = await askForStart(deps, record, operation, given);
  let kind = choice.kind ?? recovery?.kind ?? record?.kind;
  if (recovery !== undefined) checkRecovery(uuid, recovery);
  else if (record !== undefined) ({ kind } = checkStart(uuid, record, operation, choice));
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
  return { uuid, kind, record: record ?? null, request };
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

/** The closing line of a success. */
export function closeExchange(deps: Deps, uuid: string, { exchange }: ExchangeResult): void {
  const generation = exchange.newGeneration ?? 0;
  deps.narrator.close(
    exchange.state === "held"
      ? `The new credentials are stored as generation ${generation}; the exchange is held: vault ack ${uuid} finishes it.`
      : `The new credentials are stored: generation ${generation} is the current one.`,
  );
}
