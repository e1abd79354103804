import * as z from "zod/mini";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import { allows, judge } from "../../exchange/guard.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { noCredentials } from "../../exchange/prepare.ts";
import type { RawInput } from "../../cli/act.ts";
import { askVault } from "../exchange/ask.ts";
import { confirmOrFail } from "../../cli/confirm.ts";
import { checkField, serialise } from "../../cli/document.ts";
import { flag, parseInput, uuid } from "../../cli/options.ts";

const schema = z.object({ uuid: z.optional(uuid), reset: flag, unanswered: flag, yes: flag });
export type GuardOptions = z.infer<typeof schema>;

export const parseGuard = (input: RawInput): GuardOptions => parseInput(schema, input, ["uuid"]);

/** Shows the counters; with --reset, zeroes those of one vault, or with --unanswered what is only possibly failed. */
export async function runGuard(deps: Deps, input: RawInput): Promise<number> {
  const options = parseGuard(input);
  checkField(deps.output.field, ["vaults"]);
  if (options.unanswered === true && options.reset !== true) {
    throw new VaultError("usage", "--unanswered says what --reset clears: give both", { hint: "vault guard <uuid> --reset --unanswered" });
  }
  if (options.reset === true) await reset(deps, options);
  const records = await (await deps.store()).list();
  const wanted = options.uuid?.toLowerCase();
  const chosen = wanted === undefined ? records : records.filter((record) => record.uuid.toLowerCase() === wanted);
  if (options.uuid !== undefined && chosen.length === 0 && options.reset !== true) throw noCredentials(options.uuid);
  const vaults = chosen.map((record) => describe(record, deps));
  const text = serialise({ vaults }, deps.output, deps.host.stdout.isTTY);
  if (text !== undefined) {
    await deps.host.stdout.write(text);
    return 0;
  }
  const { guardList } = await import("../status/view.ts");
  await deps.host.stdout.write(await guardList(vaults, { facts: deps.host.stdout, now: deps.host.now(), reveal: false }));
  return 0;
}

function describe(record: VaultRecord, deps: Deps) {
  const { policy } = deps.settings;
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

async function reset(deps: Deps, options: GuardOptions): Promise<void> {
  const uuid = await askVault(deps, options.uuid, "guard --reset");
  // The vault is not held while a person thinks.
  const isKnown = (await (await deps.store()).list()).some((record) => record.uuid.toLowerCase() === uuid.toLowerCase());
  if (!isKnown) throw noCredentials(uuid);
  const only = options.unanswered === true ? "unanswered" : "all";
  const question =
    only === "all"
      ? `Reset the counters of vault ${uuid}? Only do this after an administrator has unlocked the vault.`
      : `Clear the possibly failed attempts of vault ${uuid}? Only do this if the audit log shows no failed attempt.`;
  await confirmOrFail(deps, options.yes === true, question);
  const context = await deps.hold(uuid, { local: true });
  try {
    if ((await context.session.read()) === null) throw noCredentials(uuid);
    await context.session.resetCounters(only);
  } finally {
    await context.session.release();
  }
}
