import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { GetOptions } from "./descriptor.ts";
import type { ExchangeNeeds } from "../exchange/plan.ts";
import { closeExchange, runPlanned, withPlan } from "../exchange/plan.ts";

/** Reads one vault. Exit 0 means: delivered and acknowledged, or held as --no-ack asked. */
export async function runGet(app: ExchangeNeeds, options: GetOptions): Promise<number> {
  refuseClosedOutput(app);
  await withPlan(app, options, "get", async (planned) => {
    const result = await runPlanned(app, planned, options.dryRun === true);
    if (result !== undefined) closeExchange(app, planned.uuid, result);
  });
  return 0;
}

/** Contents that nobody can receive would count as delivered. */
function refuseClosedOutput({ host }: Pick<App, "host">): void {
  if (!host.stdout.isClosed) return;
  throw new VaultError("usage", "standard output is closed, and the contents would be lost: nothing was sent", {
    hint: "run it again with an output, like > FILE (> /dev/null, opened for writing only, discards the contents)",
  });
}
