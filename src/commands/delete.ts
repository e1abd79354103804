import { command, vaultArgument } from "../cli/command.ts";
import { vaultLine } from "../cli/output.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import type { Document } from "../documents/schemas.ts";
import { deleteVault } from "../exchange/run.ts";
import { noCredentials } from "../exchange/records.ts";
import { throwIfRefused } from "../exchange/refusals.ts";
import { askVault } from "../input/ask.ts";
import { exchangeFlags, extended, externalRefFlag } from "../input/flags.ts";
import { lookUp } from "../input/read-start.ts";

/** Deletes a vault at the service; exit 0 means that it is gone, and its credentials here too. */
const deleteCommand = command({
  description:
    "Delete a vault at the service, permanently, and then its credentials here. Needs the valid credentials in the state: " +
    `wrong ones count toward lockout, so the guard checks it like a start. ${extended}`,
  arguments: { uuid: vaultArgument },
  options: {
    ...externalRefFlag,
    "--discard-pending": "even if an exchange is held",
    "--force": exchangeFlags["--force"],
    "--yes": "do not ask",
  },
  examples: ["vault delete $VAULT", "vault delete $VAULT --external-ref 'closed account 2291'"],
  async run(app, options) {
    await app.service.client();
    const target = await askVault(app, options.uuid, "delete");
    const request = {
      externalRef: options.externalRef,
      force: options.force === true,
      discardPending: options.discardPending === true,
      device: await app.service.device(),
    };
    const record = await lookUp(app, target);
    if (record === null) throw noCredentials(target);
    const circumstances = { policy: app.settings.policy, clock: await app.state.store() };
    throwIfRefused(record, { ...request, operation: "delete" }, circumstances);
    const { label } = record;
    const name = label === null ? target : `${target} (${label})`;
    const question = `Delete vault ${name} at the service, permanently?`;
    await confirmOrFail(app.io.ask, options.yes === true, question);
    const { kind, externalRef } = await app.service.withVault(
      target,
      async (context) => await deleteVault(context, request),
    );
    const document: Document<"delete"> = { deleted: [{ uuid: target, label, kind, externalRef }] };
    const words = "deleted at the service; its credentials were removed from this machine";
    const done = {
      what: `vault ${target} was deleted`,
      uuid: target,
      hint: "nothing is left to do",
    };
    await app.io.output.printDone(document, (view) => [vaultLine(view, target, words)], done);
  },
});

export { deleteCommand as delete };
