import type { App } from "../app.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import { settleInterrupted } from "../exchange/end/settle.ts";
import { runExchange } from "../exchange/run.ts";
import type { Start } from "../exchange/start/start.ts";
import { execOf } from "../handover/document-command.ts";
import type { VaultsOptions } from "../input/flags.ts";
import { learnAll } from "../input/read-start.ts";
import { checkTarget, writeOut } from "../handover/out-file.ts";
import type { Outputs } from "../handover/handover.ts";
import { createHandover, tableOf, updateDocument } from "../handover/handover.ts";
import type { Outcome } from "./outcome.ts";
import type { Report } from "./report.ts";
import type { SameRun } from "./same-run.ts";
import { checkSameRun, digestOf } from "./same-run.ts";
import type { Turn } from "./turn.ts";

/** What is done in each vault's turn: its exchange, unless the run has acknowledged it before. */
export async function exchangesOf(
  app: App,
  { outDir, exec }: VaultsOptions,
  run: SameRun,
): Promise<(start: Start, turn: Turn, report: Report) => Promise<Outcome>> {
  const { name, delivery } = run;
  const store = await app.state.store();
  const pass = exec === undefined ? undefined : execOf(app, exec, name);
  return async (start, turn, report) => {
    const { uuid, given, newVault } = start;
    const write: Outputs["write"] = async (document, delivered) => {
      if (outDir !== undefined) writeOut(app.io.host, outDir, document);
      await pass?.(document);
      if (outDir === undefined && pass === undefined)
        await report.contents(document, async (view) => await tableOf(delivered, view));
    };
    const outputs = { write, stop: app.io.host.killed };
    if (outDir !== undefined) checkTarget(app.io.host, outDir, uuid);
    if (given !== undefined) learnAll(turn.learn, given);
    if (newVault !== undefined)
      turn.learn("content" in newVault ? newVault.content : newVault.creditCard.number);
    return await turn.withVault(async (context) => {
      // Only now: before, another process may have had it.
      const [begun] = run.isNamed ? await store.run(app.settings.serviceName(), name, uuid) : [];
      if (begun !== undefined) checkSameRun(run, begun, start);
      if (begun?.state === "acknowledged") return { ok: true, earlier: true };
      if (begun?.state === "ending" && (await isSettled(context))) return { ok: true };
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
