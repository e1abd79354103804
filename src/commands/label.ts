import { vaultLine } from "../cli/output.ts";
import { command, vaultArgument } from "../cli/command.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import { noCredentials } from "../exchange/records.ts";
import type { Document } from "../documents/schemas.ts";
import * as values from "../cli/values.ts";
import { vaultNamed } from "../cli/vault-name.ts";

export const label = command({
  description:
    "Give a vault a label, kept in the state and never sent to the service. Commands take it in place of the UUID (import: only the UUID).",
  arguments: {
    vault: { ...vaultArgument, term: "<vault>" },
    text: { term: "<text>", help: "its new label", parse: values.label },
  },
  examples: ["vault label $VAULT 'spare card'", "vault label $VAULT checkout-7 --json"],
  async run(app, { vault, text }) {
    const uuid = await vaultNamed(app, vault);
    const work = async ({ session }: ExchangeContext): Promise<void> => {
      if (!(await session.read())?.generations.length) throw noCredentials(uuid);
      await session.setLabel(text);
    };
    await app.service.withVault(uuid, work, { local: true });
    const document: Document<"label"> = { uuid, label: text };
    await app.io.output.printDone(document, (view) => [vaultLine(view, uuid, text)]);
  },
});
