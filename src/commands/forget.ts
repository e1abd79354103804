import { command, vaultArgument } from "../cli/command.ts";
import { vaultLine } from "../cli/output.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import type { Document } from "../documents/schemas.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import { checkForget } from "../exchange/refusals.ts";
import { askVault } from "../input/ask.ts";

/** Removes a vault's credentials, labels and exchanges; counters and fingerprints outlive it. */
export const forget = command({
  description: "Remove a vault's credentials from the state. The counters toward lockout are kept.",
  arguments: { uuid: vaultArgument },
  options: {
    "--discard-pending": "even if an exchange is open or in doubt",
    "--yes": "do not ask",
  },
  examples: [
    "vault export $VAULT > copy.json && vault forget $VAULT",
    "vault forget $VAULT --json",
  ],
  async run(app, options) {
    const uuid = await askVault(app, options.uuid, "forget");
    const discardPending = options.discardPending === true;
    // The vault is not locked during the question, so it is checked again afterwards.
    const found = await (await app.state.store()).find(uuid);
    if (found.length < 2) checkForget(uuid, found[0], discardPending || options.yes === true);
    const question = `Remove the credentials of vault ${uuid} from this machine? Without a copy of them, the vault is lost.`;
    await confirmOrFail(app.io.ask, options.yes === true, question);
    const work = async ({ session }: ExchangeContext): Promise<string | null> => {
      const record = await session.read();
      checkForget(uuid, record, discardPending);
      await session.forget();
      return record?.label ?? null;
    };
    const label = await app.service.withVault(uuid, work, { local: true });
    const document: Document<"forget"> = { forgotten: [{ uuid, label }] };
    const done = "forgotten; the counters toward lockout are kept";
    const did = { what: `vault ${uuid} was forgotten`, uuid, hint: "nothing is left to do" };
    await app.io.output.printDone(document, (view) => [vaultLine(view, uuid, done)], did);
  },
});
