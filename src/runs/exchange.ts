import type { App } from "../app.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import type { Delivery } from "../exchange/recovery.ts";
import { runExchange } from "../exchange/run.ts";
import type { Start } from "../exchange/start/start.ts";
import { createHandover, type Outputs } from "../handover/handover.ts";
import { command, noted } from "../way.ts";
import type { Run } from "./run.ts";

/**
 * Does the exchange of one vault, which is locked, unless the run has done it before. Resolves to what it delivered, or that the run had
 * done it before, or has now settled what it had left.
 * @throws what `beginIn`, `CredentialsOut.check` and `runExchange` throw
 */
export async function exchange(
  app: App,
  context: ExchangeContext,
  start: Start,
  outputs: Outputs,
  run: Run | undefined,
): Promise<Delivery | "earlier" | "settled"> {
  const store = await app.state.store();
  const part = run && (await (await import("./run.ts")).beginIn(app, context, run, start));
  if (typeof part === "string") return part;
  await outputs.out?.check(context, start.given);
  const handover = createHandover(app, outputs, start);
  if (handover.leavesState && store.isNew)
    app.io.narrator.warn(
      `counters toward lockout are kept only in a state, and ${store.shown} is new; runs that begin with a new one each time can lock the vault: --state DIR names one that stays`,
    );
  const done = await runExchange(context, { ...start, run: part }, handover);
  const isReplaced = start.given !== undefined && done.exchange.state === "acknowledged";
  if (isReplaced && store.isNew && !handover.leavesState && run?.hasWarned !== true) {
    if (run !== undefined) run.hasWarned = true;
    app.io.narrator.warn(
      `the credentials given no longer work; the new ones are only in ${store.shown}, which this command has made`,
      [
        noted(
          command`vault export --all`,
          "prints them; --credentials-out and --save-cmd pass them on",
        ),
      ],
    );
  }
  return done;
}
