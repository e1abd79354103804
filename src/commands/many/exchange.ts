import type { App } from "../../app.ts";
import { vaultTable } from "../../cli/vault-view.ts";
import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { settleInterrupted } from "../../exchange/end/settle.ts";
import { withErrorFacts } from "../../exchange/error-facts.ts";
import type { Delivery, Handover } from "../../exchange/handover.ts";
import { HandoverFailure } from "../../exchange/handover.ts";
import { deviceOf } from "../../exchange/recovery/of-exchange.ts";
import type { ExchangeRequest } from "../../exchange/run.ts";
import { runExchange } from "../../exchange/run.ts";
import type { ContentsOptions, ExchangeOptions } from "../exchange/flags.ts";
import { getDocument, updateDocument } from "../exchange/delivered.ts";
import { learnAll } from "../exchange/options.ts";
import type { Entry, Outcome } from "./entry.ts";
import { prepareExec, runForVault } from "./exec.ts";
import type { ManyOptions } from "./flags.ts";
import { checkTarget, writeOut } from "./out-file.ts";
import type { Report } from "./report.ts";
import type { SameRun } from "./same-run.ts";
import { checkSameRun, digestOf } from "./same-run.ts";
import type { Turn } from "./turn.ts";

export type ManyExchangeOptions = ManyOptions & ExchangeOptions & ContentsOptions;

interface Run extends SameRun {
  /** Whether the name was given, so that it may have begun before, or be shared. */
  isNamed: boolean;
  report: Report;
}

type Needs = Pick<App, "device" | "host" | "redactor" | "serviceName" | "settings" | "store">;

/** What is done in each vault's turn: its exchange, unless the run has acknowledged it before. */
export async function exchangesOf(
  app: Needs,
  options: ManyExchangeOptions,
  run: Run,
): Promise<(entry: Entry, turn: Turn) => Promise<Outcome>> {
  const { operation } = run;
  const [store, device] = await Promise.all([app.store(), app.device()]);
  const deliver = deliverer(app, options, run);
  return async (entry, turn) => {
    const { uuid, given } = entry;
    if (options.outDir !== undefined) checkTarget(app, options.outDir, uuid);
    if (given !== undefined) learnAll({ redactor: { add: turn.learn } }, given);
    if (entry.contents !== undefined)
      turn.learn(
        "content" in entry.contents ? entry.contents.content : entry.contents.creditCard.number,
      );
    const context = await turn.hold();
    try {
      // Only now: before, another process may have had it.
      const [begun] = run.isNamed ? await store.run(app.serviceName(), run.name, uuid) : [];
      if (begun !== undefined) checkSameRun(run, begun, entry);
      if (begun?.state === "acknowledged") return { ok: true, earlier: true };
      if (begun?.state === "ending" && (await isSettled(context))) return { ok: true };
      const handover: Handover = {
        leavesState: false,
        takesTime: options.exec !== undefined,
        recordAttempts: async () => Promise.resolve(),
        confirm: async () => Promise.resolve(),
        deliver: async (delivery) => {
          if (operation === "get") await deliver(delivery);
        },
      };
      const pair = given?.type === "pair" ? given : undefined;
      const request: ExchangeRequest = {
        operation,
        kind: entry.kind ?? pair?.kind ?? options.kind,
        given: pair?.credentials,
        hashedPin: pair?.credentials.hashedPin,
        recovery: given?.type === "recovery" ? given.document : undefined,
        attempts: given?.attempts,
        device: entry.device ?? deviceOf(given) ?? device,
        force: false,
        externalRef: entry.externalRef ?? options.externalRef,
        newVault: entry.contents,
        noAck: options.ack === false,
        discardPending: options.discardPending === true,
        run: { name: run.name, digest: digestOf(entry), delivery: run.delivery },
        handover,
      };
      const result = await runExchange(context, request);
      if (operation === "update") await run.report.receipt(updateDocument(result));
      return { ok: true };
    } finally {
      await context.session.release();
    }
  };
}

/** Sends the end call that an earlier command of the run has left; whether nothing remains to be done then. */
async function isSettled(context: ExchangeContext): Promise<boolean> {
  return await withErrorFacts(context, async (watched) => {
    const record = await watched.session.read();
    if (record?.open?.state !== "ending") return false;
    const [settled] = await settleInterrupted(watched, record, "acknowledge");
    return settled?.outcome === "acknowledged" || settled?.outcome === "applied";
  });
}

/** Where the contents go, whole, before the end call: a file, a command, or stdout. */
function deliverer(
  app: Needs,
  { outDir, exec }: ManyExchangeOptions,
  { name, report }: Run,
): (delivery: Delivery) => Promise<void> {
  const { host } = app;
  const child = exec === undefined ? undefined : prepareExec(app, exec, name);
  return async (delivery) => {
    const document = getDocument(delivery);
    try {
      if (outDir !== undefined) writeOut(app, outDir, document);
      if (child !== undefined) await runForVault(child, document);
      if (outDir === undefined && child === undefined)
        await report.contents(document, async (view) => await vaultTable(delivery, view));
    } catch (error) {
      if (host.killed.aborted)
        throw new VaultError("interrupted", "interrupted while delivering the contents", {
          cause: error,
        });
      if (error instanceof HandoverFailure) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      const why =
        code === "EPIPE"
          ? "the output was closed"
          : code === "ENOSPC"
            ? "the disk is full"
            : message;
      throw new HandoverFailure("delivery", `the contents could not be delivered: ${why}`, {
        delivered: false,
        saveOwed: false,
      });
    }
  };
}
