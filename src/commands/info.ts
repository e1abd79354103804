import { command, vaultArgument } from "../cli/command.ts";
import { extended } from "../input/flags.ts";
import { kinds } from "../protocol/endpoints.ts";
import { vaultTable } from "../cli/vault-view.ts";
import { VaultError } from "../errors.ts";
import { serviceDetails } from "../exchange/dispositions.ts";
import { refusedSingle, sendSingle } from "../exchange/single.ts";
import type { SingleCall } from "../exchange/ports.ts";
import { chooseKind } from "../exchange/start/start.ts";
import { isOtherVault, readInfo } from "../protocol/answers.ts";
import type { Document } from "../documents/schemas.ts";
import { askVault } from "../input/ask.ts";
import { lookUp } from "../input/read-start.ts";

/** Sends no credentials of the vault, and changes nothing of what is known here. */
export const info = command({
  description: `Ask the service for a vault's dates, metadata and reads left. Needs no credentials and does not count toward lockout. ${extended}`,
  arguments: { uuid: vaultArgument },
  options: {
    "--kind <kind>": { help: "required for a vault that is not known here", choices: kinds },
  },
  examples: ["vault info $VAULT", "vault info $VAULT --field info.autoLockDate"],
  async run(app, options) {
    await app.service.client();
    const target = await askVault(app, options.uuid, "info");
    const record = await lookUp(app, target);
    const asked = chooseKind(target, record, options.kind);
    const context = await app.service.single();
    const call: SingleCall = { step: "info", kind: asked, uuid: target };
    const reply = await sendSingle(context, call);
    const info = reply.type === "answer" ? readInfo(reply.answer) : undefined;
    if (info === undefined || reply.type !== "answer") throw refusedSingle(context, reply, call);
    if (isOtherVault(reply.answer, target))
      throw new VaultError("service", "the service responded about another vault", {
        uuid: target,
        hint: "check --base-url, and for a proxy or firewall in between; --debug shows the response",
        service: serviceDetails(reply.answer),
      });
    const vault = { uuid: target, label: record?.label ?? null, kind: asked };
    const document: Document<"info"> = { ...vault, info: info.info };
    const { usesRemaining, metadata } = info;
    const shown = { ...vault, usesRemaining, dates: info, metadata };
    await app.io.output.print(document, (view) => vaultTable(shown, view));
  },
});
