import type { Local } from "../../parts/state.ts";
import type { App } from "../../app.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { serviceDetails, whatCame } from "../../exchange/dispositions.ts";
import { refusedSingle, sendSingle } from "../../exchange/single/call.ts";
import type { SingleCall } from "../../exchange/ports.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { kindList } from "../../protocol/endpoints.ts";
import type { InfoSuccess } from "../../protocol/extended-answers.ts";
import { isOtherVault, readInfo } from "../../protocol/extended-answers.ts";
import type { InfoDocument } from "../../documents/exchange.ts";
import type { InfoOptions } from "../info.ts";
import { askSettings, askVault } from "../../input/ask.ts";
import { lookUp } from "../../input/read-start.ts";
import { defined } from "../../defined.ts";

/** Sends no credentials of the vault; of what is known here it changes the dates only. */
export async function runInfo(app: App, options: InfoOptions): Promise<number> {
  await askSettings(app);
  const target = await askVault(app, options.uuid, "info");
  await app.service.client();
  const record = await lookUp(app, target);
  const asked = kindOf(target, record, options.kind);
  const info = await fetchInfo(app, target, asked);
  for (const message of info.warnings) app.io.narrator.warn(message);
  if (record !== null) await noteDates(app, target, info);
  const vault = { uuid: target, label: record?.label ?? null, kind: asked };
  const document: InfoDocument = { ...vault, info: info.info };
  await app.io.output.print(
    document,
    async (view) => await (await import("../../cli/vault-view.ts")).infoTable(vault, info, view),
  );
  return 0;
}

function kindOf(target: string, record: VaultRecord | null, given: Kind | undefined): Kind {
  const recorded =
    record !== null && record.generations.some((g) => g.proven) ? record.kind : undefined;
  if (recorded !== undefined && given !== undefined && recorded !== given) {
    throw new VaultError(
      "invalid-input",
      `--kind: vault ${target} is known as ${recorded}, not ${given}`,
      { hint: "leave --kind out" },
    );
  }
  const chosen = given ?? record?.kind;
  if (chosen !== undefined) return chosen;
  throw new VaultError("usage", `--kind is needed: vault ${target} is not known here`, {
    uuid: target,
    hint: `use --kind ${kindList}`,
  });
}

async function fetchInfo(app: App, target: string, asked: Kind): Promise<InfoSuccess> {
  const context = await app.service.single();
  const call: SingleCall = { step: "info", kind: asked, uuid: target };
  const reply = await sendSingle(context, call, 2);
  if (reply.type === "no-answer") {
    if (app.io.host.interrupted.aborted)
      throw new VaultError("interrupted", "interrupted; nothing was changed", { retry: "safe" });
    throw new VaultError(reply.tooLarge ? "service" : "network", whatCame(reply), {
      uuid: target,
      retry: "safe",
      hint: "run it again (it does not count toward lockout)",
      ...defined({ service: reply.answer && serviceDetails(reply.answer) }),
    });
  }
  const info = reply.type === "answer" ? readInfo(reply.answer) : undefined;
  if (info === undefined || reply.type !== "answer") throw refusedSingle(reply, call);
  if (isOtherVault(reply.answer, target)) {
    throw new VaultError(
      "service",
      "the service responded about another vault; nothing was recorded",
      {
        uuid: target,
        hint: "check --base-url, and for a proxy or firewall in between; --debug shows the response",
        service: serviceDetails(reply.answer),
      },
    );
  }
  return info;
}

/** Where another process holds the vault its own exchange will bring newer dates: this does not wait for it. */
async function noteDates(
  { io, settings, state }: Local,
  target: string,
  dates: InfoSuccess,
): Promise<void> {
  const store = await state.store();
  try {
    const session = await store.lock(settings.serviceName(), target, {
      deadline: 0,
      signal: io.host.interrupted,
    });
    try {
      const { expiryDate, autoLockDate, dateCreated, lastModified } = dates;
      await session.noteDates({ expiryDate, autoLockDate, dateCreated, lastModified });
    } finally {
      await session.release();
    }
  } catch (error) {
    const { code, message } = asVaultError(error);
    if (code !== "busy") io.narrator.warn(`the dates could not be recorded: ${message}`);
  }
}
