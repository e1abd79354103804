import * as z from "zod/mini";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { RawInput } from "../../cli/act.ts";
import { checkField } from "../../cli/output.ts";
import { exchangeOptions } from "../exchange/options.ts";
import { parseInput, uuid } from "../../cli/options.ts";
import { closeExchange, fieldRoots, runPlanned, withPlan } from "../exchange/plan.ts";

const schema = z.object({ uuid: z.optional(uuid), ...exchangeOptions });
export type GetOptions = z.infer<typeof schema>;

export const parseGet = (input: RawInput): GetOptions => parseInput(schema, input, ["uuid"]);

/** Reads one vault. Exit 0 means: delivered and acknowledged, or held as --no-ack asked. */
export async function runGet(app: App, input: RawInput): Promise<number> {
  refuseClosedOutput(app);
  const options = parseGet(input);
  checkField(app.output.field, fieldRoots(options.dryRun === true));
  await withPlan(app, options, "get", async (planned) => {
    const result = await runPlanned(app, planned, options.dryRun === true);
    if (result !== undefined) closeExchange(app, planned.uuid, result);
  });
  return 0;
}

/** Contents that nobody can receive would count as delivered. */
function refuseClosedOutput({ host }: App): void {
  if (!host.stdout.isClosed) return;
  throw new VaultError("usage", "standard output is closed, and the contents would be lost: nothing was sent", {
    hint: "run it again with an output, like > FILE (> /dev/null, opened for writing only, discards the contents)",
  });
}
