import type { App } from "../app.ts";
import { command, vaultsArgument } from "../cli/command.ts";
import { VaultError } from "../errors.ts";
import type { ExchangeResult } from "../exchange/run.ts";
import type { Contents } from "./exchange/contents.ts";
import { contentsFlags, exchangeFields, exchangeFlags } from "./exchange/flags.ts";
import { isMany, manyFlags, runFlag } from "./many/flags.ts";
import type { ManyNeeds } from "./many/run.ts";
import type { PlannedExchange } from "./exchange/plan.ts";

type Needs = ManyNeeds;

/** Updates one vault. Exit 0 means: acknowledged, so the update took effect; or held as --no-ack asked. */
export const update = command(
  {
    name: "update",
    summary: "replace the contents of a vault, or of many",
    description:
      "Replace the contents of an offline vault: start, store the new credentials durably, acknowledge, print a receipt. " +
      "On a terminal, show the new contents, masked, and ask before sending them. Many vaults: vault help many-vaults.",
    arguments: { vaults: vaultsArgument },
    options: {
      ...contentsFlags,
      ...exchangeFlags,
      ...manyFlags,
      ...runFlag,
      yes: { flag: "--yes", help: "do not ask" },
    },
    examples: [
      "vault update $VAULT --card @card.json",
      "vault update $VAULT --card-number @number --card-name Ada --expiry 04/2031",
      "vault update $VAULT --card @card.json --dry-run",
      "vault update --from cards.ndjson --run 2026-11",
    ],
    fields: exchangeFields,
  },
  async (app: Needs, { vaults, ...given }) => {
    if (isMany({ vaults, ...given }))
      return await (await import("./many/run.ts")).runMany(app, { vaults, ...given }, "update");
    const options = { ...given, uuid: vaults[0] };
    const [
      { checkContentsOptions, completeContents, readContents },
      { closeExchange, runPlanned, withPlan },
    ] = await Promise.all([import("./exchange/contents.ts"), import("./exchange/plan.ts")]);
    const contentsGiven = await readContents(app, options);
    await withPlan(app, options, "update", async (planned) => {
      checkContentsOptions(options, planned.kind);
      const contents = await completeContents(app, planned.kind, contentsGiven);
      const dryRun = options.dryRun === true;
      if (!dryRun && options.yes !== true) await confirmUpdate(app, planned, contents);
      const result = await runPlanned(
        app,
        { ...planned, request: { ...planned.request, newVault: contents } },
        dryRun,
      );
      if (result === undefined) return;
      await printReceipt(app, planned.uuid, result, contents);
      closeExchange(app, planned.uuid, result);
    });
    return 0;
  },
);

async function confirmUpdate(
  app: Pick<App, "ask" | "host" | "profile" | "settings">,
  { uuid, record }: PlannedExchange,
  contents: Contents,
): Promise<void> {
  const label = record?.label ?? null;
  const question = `Send these new contents to vault ${uuid}${label === null ? "" : ` (${label})`}?`;
  const { settings, profile } = app;
  const mark = settings.live
    ? `Production profile ${profile.name} (${settings.baseUrl ?? "no base URL"}): `
    : "";
  // An update with a live profile needs --yes where nobody can be asked.
  if (!app.ask.isPossible) {
    if (settings.live)
      await (await import("../cli/prompts.ts")).confirmOrFail(app.ask, false, `${mark}${question}`);
    return;
  }
  const { contentsTable } = await import("../cli/vault-view.ts");
  await app.host.stderr.writeColored(
    await contentsTable(contents, { facts: app.host.stderr, now: app.host.now(), reveal: false }),
  );
  if (await app.ask.confirm(`${mark}${question}`)) return;
  throw new VaultError("canceled", "canceled; nothing was sent", { uuid, retry: "safe" });
}

async function printReceipt(
  app: Pick<App, "output">,
  uuid: string,
  result: ExchangeResult,
  contents: Contents,
): Promise<void> {
  const { delivery, exchange } = result;
  const [{ receiptTable }, { summarize }, { updateDocument }] = await Promise.all([
    import("../cli/vault-view.ts"),
    import("../exchange/context.ts"),
    import("./exchange/delivered.ts"),
  ]);
  const hint = exchange.state === "held" ? `vault ack ${uuid}` : `vault status ${uuid}`;
  const done = {
    what: `the update is ${exchange.state}`,
    uuid,
    exchange: summarize(exchange),
    hint,
  };
  await app.output.printDone(
    updateDocument(result),
    async (view) => await receiptTable(delivery, contents, exchange, view),
    done,
  );
}
