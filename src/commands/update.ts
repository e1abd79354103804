import { command, vaultsArgument } from "../cli/command.ts";
import { contentsFlags, exchangeFlags, manyBy, manyFlags, runFlag } from "../input/flags.ts";
import { runOne } from "../runs/one.ts";

/** Updates one vault. Exit 0 means: acknowledged, so the update took effect; or held as --no-ack asked. */
export const update = command({
  description:
    "Replace the contents of an offline vault: start, store the new credentials durably, acknowledge, print a receipt. " +
    "On a terminal, ask before sending them. Many vaults: vault help many-vaults.",
  arguments: { vaults: vaultsArgument },
  options: { ...contentsFlags, ...exchangeFlags, ...manyFlags, ...runFlag, "--yes": "do not ask" },
  examples: [
    "vault update $VAULT --card @card.json",
    "vault update $VAULT --card-number @number --card-name Ada --expiry 04/2031",
    "vault update $VAULT --card @card.json --dry-run",
    "vault update --from cards.ndjson --run new-cards",
  ],
  async run(app, options) {
    if (manyBy(options) === undefined) return await runOne(app, options, "update");
    return await (await import("../runs/many.ts")).runMany(app, options, "update");
  },
});
