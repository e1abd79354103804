import * as z from "zod/mini";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import { summarise } from "../../exchange/context.ts";
import type { ExchangeResult } from "../../exchange/run.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { isCreditCard } from "../../protocol/endpoints.ts";
import type { RawInput } from "../../cli/act.ts";
import { askCard, askContent } from "../exchange/ask-card.ts";
import type { Contents, GivenContents } from "../exchange/card-options.ts";
import { checkContentsOptions, completeContents, contentsOptions, readContents } from "../exchange/card-options.ts";
import { checkField, serialiseDone, writeDone } from "../../cli/document.ts";
import { exchangeOptions } from "../exchange/options.ts";
import { flag, parseInput, uuid } from "../../cli/options.ts";
import { confirmLive, liveMark } from "../../cli/live.ts";
import type { PlannedExchange } from "../exchange/plan.ts";
import { closeExchange, fieldRoots, runPlanned, withPlan } from "../exchange/plan.ts";

const schema = z.object({ uuid: z.optional(uuid), ...exchangeOptions, ...contentsOptions, yes: flag });
export type UpdateOptions = z.infer<typeof schema>;

export const parseUpdate = (input: RawInput): UpdateOptions => parseInput(schema, input, ["uuid"]);

/** Updates one vault. Exit 0 means: acknowledged, so the update took effect; or held as --no-ack asked. */
export async function runUpdate(deps: Deps, input: RawInput): Promise<number> {
  const options = parseUpdate(input);
  checkField(deps.output.field, fieldRoots(options.dryRun === true));
  const given = await readContents(deps, options);
  await withPlan(deps, options, "update", async (planned) => {
    checkContentsOptions(options, planned.kind);
    const contents = await allContents(deps, planned.kind, given);
    const dryRun = options.dryRun === true;
    if (!dryRun && options.yes !== true) await confirmUpdate(deps, planned, contents);
    const result = await runPlanned(deps, { ...planned, request: { ...planned.request, newVault: contents } }, dryRun);
    if (result === undefined) return;
    await printReceipt(deps, planned.uuid, result, contents);
    closeExchange(deps, planned.uuid, result);
  });
  return 0;
}

async function allContents(deps: Deps, kind: Kind, given: GivenContents): Promise<Contents> {
  if (!deps.mayAsk) return completeContents(kind, given);
  if (isCreditCard(kind)) return { creditCard: await askCard(deps, given.card) };
  return { content: given.content ?? (await askContent(deps)) };
}

async function confirmUpdate(deps: Deps, { uuid, record }: PlannedExchange, contents: Contents): Promise<void> {
  const label = record?.label ?? null;
  const question = `Send these new contents to vault ${uuid}${label === null ? "" : ` (${label})`}?`;
  if (!deps.mayAsk) return await confirmLive(deps, question, false);
  const [{ contentsTable }, { confirm }] = await Promise.all([import("../../cli/vault-view.ts"), import("../../terminal/prompts.ts")]);
  await deps.host.stderr.writeColored(await contentsTable(contents, { facts: deps.host.stderr, now: deps.host.now(), reveal: false }));
  if (await confirm(deps.host, `${liveMark(deps)}${question}`)) return;
  throw new VaultError("interrupted", "not confirmed: nothing was sent", { vault: uuid, retry: "safe" });
}

async function printReceipt(deps: Deps, uuid: string, { delivery, exchange }: ExchangeResult, contents: Contents): Promise<void> {
  const { vault, kind, settled } = delivery;
  const { state, acknowledgedAt } = exchange;
  const document = { vault, kind, exchange: { ...delivery.exchange, state, acknowledgedAt }, settled };
  const { receiptTable } = await import("../../cli/vault-view.ts");
  const view = { facts: deps.host.stdout, now: deps.host.now(), reveal: deps.output.reveal };
  const text = serialiseDone(document, deps) ?? (await receiptTable(delivery, contents, exchange, view));
  const hint = state === "held" ? `vault ack ${uuid} finishes it` : `nothing is left to do: vault status ${uuid} shows it`;
  await writeDone(deps, text, `the update is ${state}`, { vault: uuid, exchange: summarise(exchange), hint });
}
