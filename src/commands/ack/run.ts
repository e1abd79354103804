import type { App } from "../../app.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import { acknowledgeOpen } from "../../exchange/end/acknowledge.ts";
import { summarize } from "../../exchange/context.ts";
import type { OpenExchange, VaultRecord } from "../../exchange/records.ts";
import { noCredentials, otherService } from "../../exchange/start/prepare.ts";
import { printableLine } from "../../terminal/redactor.ts";
import { acknowledgeToken } from "./token.ts";
import { withLabel } from "../../cli/vault-name.ts";
import type { AckDocument, Acknowledged } from "../documents/exchange.ts";
import type { AckOptions } from "./descriptor.ts";
import { askSettings, askVault } from "../exchange/ask.ts";
import { saveRecovery } from "../exchange/handover.ts";

type Needs = Pick<
  App,
  "ask" | "hold" | "host" | "narrator" | "output" | "redactor" | "secretOption" | "service" | "serviceName" | "settings" | "store"
>;

interface Outcome {
  acknowledged: Acknowledged[];
  failed: { uuid: string; label: string | null; error: VaultError }[];
}

/** Acknowledges exchanges. Exit 0 means all of them; one failure alone has its own code, any other 16. */
export async function runAck(app: Needs, given: AckOptions): Promise<number> {
  const options = await askWhich(app, given);
  checkCombination(options);
  await askSettings(app);
  await app.service();
  const outcome: Outcome = { acknowledged: [], failed: [] };
  if (options.token !== undefined) {
    outcome.acknowledged.push(await acknowledgeToken(app, options));
  } else {
    for (const target of options.uuid === undefined ? await pendingVaults(app, outcome) : [options.uuid]) {
      await acknowledgeOne(app, target, options, outcome);
    }
  }
  const failure = failureOf(outcome);
  await print(app, outcome).catch((error: unknown) => {
    throw failure ?? error;
  });
  if (failure !== undefined) throw failure;
  return 0;
}

function failureOf({ acknowledged, failed }: Outcome): VaultError | undefined {
  const [failure, ...others] = failed;
  if (failure === undefined) return undefined;
  if (others.length === 0 && acknowledged.length === 0) return failure.error;
  return new VaultError(
    "partial",
    `${failed.length} of ${failed.length + acknowledged.length} exchanges could not be acknowledged; the first: ${failure.error.message}`,
    {
      hint: "vault status --pending",
    },
  );
}

/** On a terminal, asks for a pending exchange if the command line names none; all, if nothing is pending. */
async function askWhich(app: Pick<App, "ask" | "serviceName" | "settings" | "store">, options: AckOptions): Promise<AckOptions> {
  const { uuid, all, token, kind, operation } = options;
  if (uuid !== undefined || all === true || !app.ask.isPossible || [token, kind, operation].some((given) => given !== undefined))
    return options;
  const pending = (record: VaultRecord): boolean => record.open !== null;
  const isAny = (await (await app.store()).list()).some(pending);
  return isAny ? { ...options, uuid: await askVault(app, undefined, "ack", pending) } : { ...options, all: true };
}

function checkCombination(options: AckOptions): void {
  const usage = (message: string): VaultError => new VaultError("usage", message, { hint: "vault ack VAULT; vault ack --all" });
  if (options.uuid === undefined && options.all !== true) throw usage("a vault is missing (its UUID or label), or --all");
  if (options.uuid !== undefined && options.all === true) throw usage("--all excludes a vault");
  const foreign = options.kind !== undefined || options.operation !== undefined;
  if (options.token === undefined && foreign) throw usage("--kind and --operation require --token");
  if (options.token !== undefined && (options.kind === undefined || options.operation === undefined || options.uuid === undefined)) {
    throw new VaultError("usage", "--token requires a vault, --kind and --operation", {
      hint: "vault ack VAULT --token @FILE --kind credit-card/offline --operation get",
    });
  }
}

/** The vaults of this service with an open exchange; those of other services cannot be acknowledged here, and have failed. */
async function pendingVaults(app: Pick<App, "serviceName" | "store">, outcome: Outcome): Promise<string[]> {
  const here = app.serviceName();
  const pending = (await (await app.store()).list()).filter((record) => record.open !== null);
  for (const { uuid, label, service } of pending) {
    if (service !== here) outcome.failed.push({ uuid, label, error: otherService(uuid, here, service).with({ label }) });
  }
  return pending.filter((record) => record.service === here).map((record) => record.uuid);
}

async function acknowledgeOne(
  app: Pick<App, "hold" | "host" | "redactor" | "settings" | "store">,
  target: string,
  options: AckOptions,
  outcome: Outcome,
): Promise<void> {
  try {
    const context = await app.hold(target);
    try {
      const record = await context.session.read();
      if (record === null || record.generations.length === 0) throw noCredentials(target);
      const { saveCmd } = options;
      const exchange = await acknowledgeOpen(context, {
        unread: options.unread === true,
        saved: options.saved === true,
        ...(saveCmd === undefined ? {} : { save: async (document) => void (await saveRecovery(app, saveCmd, document)) }),
      });
      if (exchange !== null) outcome.acknowledged.push(asAcknowledged(record, exchange));
    } finally {
      await context.session.release();
    }
  } catch (cause) {
    const failure = asVaultError(cause);
    // Stopping is for the whole command, a usage error for every vault.
    if (["interrupted", "usage", "invalid-input"].includes(failure.code)) throw failure;
    const error = await withLabel(app, failure.with({ uuid: target }));
    outcome.failed.push({ uuid: target, label: error.facts.label ?? null, error });
  }
}

function asAcknowledged({ uuid, label }: VaultRecord, exchange: OpenExchange): Acknowledged {
  const { operation, acknowledgedAt } = exchange;
  return { uuid, label, operation, exchange: { ...summarize(exchange), operation, acknowledgedAt } };
}

async function print(app: Pick<App, "output" | "redactor">, outcome: Outcome): Promise<void> {
  const { acknowledged, failed } = outcome;
  const document: AckDocument = {
    acknowledged,
    failed: failed.map((one) => ({ ...one, error: app.redactor.redactValue(one.error.toJSON()) })),
  };
  await app.output.printDone(document, () =>
    app.redactor.redact(
      describe(outcome)
        .map((line) => `${line}\n`)
        .join(""),
    ),
  );
}

function describe({ acknowledged, failed }: Outcome): string[] {
  const lines = acknowledged.map(({ uuid, operation, exchange }) => {
    const { generation } = exchange;
    return `${uuid}  ${operation} acknowledged${typeof generation === "number" ? ` (generation ${generation})` : ""}`;
  });
  if (lines.length === 0 && failed.length === 0) lines.push("Nothing is pending.");
  if (failed.length > 1 || acknowledged.length > 0)
    lines.push(...failed.map(({ uuid, error }) => printableLine(`${uuid}  failed: ${error.message}`)));
  return lines;
}
