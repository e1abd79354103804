import * as z from "zod/mini";
import type { Deps } from "../deps.ts";
import { checkRecovery } from "../exchange/adopt.ts";
import { checkStart } from "../exchange/prepare.ts";
import type { ExchangeRequest } from "../exchange/run.ts";
import { runExchange } from "../exchange/run.ts";
import type { RawInput } from "./act.ts";
import { checkCredentialsFile } from "./credentials-file.ts";
import { checkField } from "./document.ts";
import { exchangeOptions, readPairChoice } from "./exchange-options.ts";
import { createHandover } from "./handover.ts";
import { lookUp } from "./look-up.ts";
import { parseInput, uuid } from "./options.ts";

const schema = z.object({ uuid, ...exchangeOptions });
export type GetOptions = z.infer<typeof schema>;

export const parseGet = (input: RawInput): GetOptions => parseInput(schema, input, ["uuid"]);

/** Reads one vault. Exit 0 means: delivered and acknowledged, or held as --no-ack asked. */
export async function runGet(deps: Deps, input: RawInput): Promise<number> {
  const options = parseGet(input);
  checkField(deps.output.field, ["vault", "kind", "exchange", "settled"]);
  if (options.credentialsOut !== undefined) await checkCredentialsFile(options.credentialsOut);
  const { choice, recovery } = await readPairChoice(deps, options);
  // What is missing is said before anything is written.
  await deps.service();
  const record = await lookUp(deps, options.uuid);
  if (recovery !== undefined) checkRecovery(options.uuid, recovery);
  else if (record !== undefined) checkStart(options.uuid, record, "get", choice);
  const noAck = !options.ack;
  const request: ExchangeRequest = {
    ...choice,
    operation: "get",
    recovery,
    externalRef: options.externalRef,
    noAck,
    discardPending: options.discardPending === true,
    handover: createHandover(deps, { credentialsOut: options.credentialsOut, saveCmd: options.saveCmd, noAck }),
  };
  const context = await deps.hold(options.uuid);
  try {
    if (options.dryRun === true) return await (await import("./dry-run.ts")).dryRun(deps, context, request);
    const { exchange } = await runExchange(context, request);
    const generation = exchange.newGeneration ?? 0;
    deps.narrator.close(
      exchange.state === "held"
        ? `The new credentials are stored as generation ${generation}; the exchange is held: vault ack ${options.uuid} finishes it.`
        : `The new credentials are stored: generation ${generation} is the current one.`,
    );
    return 0;
  } finally {
    await context.session.release();
  }
}
