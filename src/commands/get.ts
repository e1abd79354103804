import { command, vaultsArgument } from "../cli/command.ts";
import { refuseClosedOutput } from "../cli/output.ts";
import { VaultError } from "../errors.ts";
import {
  exchangeFlags,
  outFlag,
  deliveryFlags,
  manyBy,
  manyFlags,
  runFlag,
} from "../input/flags.ts";
import { runOne } from "../runs/one.ts";

/** Reads one vault. Exit 0 means: delivered and acknowledged, or held as --no-ack asked. */
export const get = command({
  description:
    "Read a vault: start, store the new credentials durably, print the contents, acknowledge. Many vaults: vault help many-vaults.",
  arguments: { vaults: vaultsArgument },
  options: {
    ...exchangeFlags,
    ...outFlag,
    ...manyFlags,
    ...deliveryFlags,
    ...runFlag,
    "--yes": "skip the confirmation of --generation with --force",
  },
  examples: [
    "vault get $VAULT --kind credit-card/offline --credentials @pair.json",
    "vault get $VAULT --json",
    "vault get $VAULT --field vault.creditCard.number",
    "vault get $VAULT --dry-run",
    "vault get --all --out-dir cards --run 2026-11",
  ],
  async run(app, options) {
    if (options.out !== undefined && app.io.output.field !== undefined)
      throw new VaultError(
        "usage",
        "--out writes the whole document, and cannot be used with --field; nothing was sent",
        { hint: "leave --out out, and send the output to a file" },
      );
    // Elsewhere than to standard output, or not at all.
    const isElsewhere = [options.out, options.outDir, options.exec].some((it) => it !== undefined);
    if (!isElsewhere && options.dryRun !== true) refuseClosedOutput(app.io.host.stdout);
    if (manyBy(options) === undefined) return await runOne(app, options, "get");
    return await (await import("../runs/many.ts")).runMany(app, options, "get");
  },
});
