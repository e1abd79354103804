import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { allows, judge } from "../../exchange/guard.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { noCredentials } from "../../exchange/start/prepare.ts";
import type { GuardOptions } from "./descriptor.ts";
import { askVault } from "../exchange/ask.ts";
import { confirmOrFail } from "../../cli/prompts.ts";

type Needs = Pick<App, "ask" | "hold" | "output" | "serviceName" | "settings" | "store">;

/** Shows the counters; with --reset, zeroes those of one vault, or with --unanswered what is only possibly failed. */
export async function runGuard(app: Needs, options: GuardOptions): Promise<number> {
  if (options.unanswered === true && options.reset !== true) {
    throw new VaultError("usage", "--unanswered says what --reset clears: give both", { hint: "vault guard <uuid> --reset --unanswered" });
  }
  if (options.reset === true) await reset(app, options);
  const records = await (await app.store()).list();
  const wanted = options.uuid?.toLowerCase();
  const chosen = wanted === undefined ? records : records.filter((record) => record.uuid.toLowerCase() === wanted);
  if (options.uuid !== undefined && chosen.length === 0 && options.reset !== true) throw noCredentials(options.uuid);
  const vaults = chosen.map((record) => describe(record, app));
  await app.output.print({ vaults }, async (view) => await (await import("../status/view.ts")).guardList(vaults, view));
  return 0;
}

function describe(record: VaultRecord, app: Pick<App, "settings">) {
  const { policy } = app.settings;
  const verdict = judge(record, policy);
  return {
    uuid: record.uuid,
    label: record.label,
    unackedStarts: record.unackedStarts,
    failedAttempts: record.failedAttempts,
    possiblyFailed: record.possiblyFailed,
    limits: { ...policy },
    allows: allows(verdict),
    refuses: allows(verdict)
      ? null
      : verdict.failedWouldLock
        ? `any start: it could be failed attempt number ${policy.failed}`
        : `any start: it could be unacknowledged start number ${policy.unacked}`,
  };
}

async function reset(app: Needs, options: GuardOptions): Promise<void> {
  const uuid = await askVault(app, options.uuid, "guard --reset");
  // The vault is not held while a person thinks.
  const isKnown = (await (await app.store()).list()).some((record) => record.uuid.toLowerCase() === uuid.toLowerCase());
  if (!isKnown) throw noCredentials(uuid);
  const only = options.unanswered === true ? "unanswered" : "all";
  const question =
    only === "all"
      ? `Reset the counters of vault ${uuid}? Only do this after an administrator has unlocked the vault.`
      : `Clear the possibly failed attempts of vault ${uuid}? Only do this if the audit log shows no failed attempt.`;
  await confirmOrFail(app.ask, options.yes === true, question);
  const context = await app.hold(uuid, { local: true });
  try {
    if ((await context.session.read()) === null) throw noCredentials(uuid);
    await context.session.resetCounters(only);
  } finally {
    await context.session.release();
  }
}
