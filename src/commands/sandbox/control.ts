import { resolve } from "node:path";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { auditExport, exportEndings } from "../../sandbox/control/audit-export.ts";
import type { ControlClient } from "../../sandbox/control/client.ts";
import type { PublicInspection } from "../../sandbox/control/inspection.ts";
import { connectControl } from "../../sandbox/control/client.ts";
import { parseFault } from "../../sandbox/faults/grammar.ts";
import { createPalette } from "../../terminal/palette.ts";
import { jsonText } from "../../terminal/redactor.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import { replaceFile } from "../../files/durable-file.ts";
import type { OptionsOf } from "../../cli/command.ts";
import type { audit, env, fault, lock, reset, status, stop } from "./descriptor.ts";
import type {
  AuditDocument,
  EnvDocument,
  FaultDocument,
  LockDocument,
  ResetDocument,
} from "../documents/sandbox.ts";
import type { StatusDocument, StopDocument } from "../documents/sandbox.ts";
import { preparedFolder, settingsFor, shellQuoted } from "./folder.ts";
import { describeVaults, findRunning, readyFileOf, theRunning } from "./running.ts";
import { count } from "../../terminal/count.ts";

const connect = (
  app: Pick<App, "sandboxFile">,
  options: { readyFile?: string | undefined },
): ControlClient => connectControl(readyFileOf(app, options));

type Document =
  AuditDocument | FaultDocument | LockDocument | ResetDocument | StatusDocument | StopDocument;

async function print(app: Pick<App, "output">, document: Document, line: string): Promise<number> {
  await app.output.printDone(document, () => `${line}\n`);
  return 0;
}

/** Prints what a shell exports to use the running sandbox, with a state in which its vaults are imported. */
export async function runEnv(
  app: Pick<App, "host" | "output" | "sandboxFile">,
  options: OptionsOf<typeof env>,
): Promise<number> {
  const { ready, readyFile } = await theRunning(app, options);
  const settings = {
    ...settingsFor(ready, await preparedFolder(app, ready, readyFile), ready.apiPrefix),
    VAULTSVC_SANDBOX: resolve(app.host.cwd, readyFile),
  };
  const lines = Object.entries(settings).map(
    ([name, value]) => `export ${name}=${shellQuoted(value)}\n`,
  );
  const document: EnvDocument = { env: settings };
  await app.output.print(document, () => lines.join(""));
  return 0;
}

export async function runStatus(
  app: Pick<App, "output" | "sandboxFile">,
  options: OptionsOf<typeof status>,
): Promise<number> {
  const readyFile = readyFileOf(app, options);
  const running = await findRunning(readyFile);
  if (running === null) return await print(app, { running: false }, "No sandbox is running.");
  const { baseUrl, application, vaults } = running.ready;
  const shown = vaults.map(({ uuid, label, kind }) => ({ uuid, label, kind }));
  const document: StatusDocument = {
    running: true,
    baseUrl,
    application: { uuid: application.uuid },
    readyFile,
    vaults: shown,
  };
  return await print(
    app,
    document,
    [`The sandbox listens at ${baseUrl}`, "", ...describeVaults(vaults)].join("\n"),
  );
}

export async function runStop(
  app: Pick<App, "output" | "sandboxFile">,
  options: OptionsOf<typeof stop>,
): Promise<number> {
  const { client, ready } = await theRunning(app, options);
  await client.stop();
  return await print(app, { stopped: ready.baseUrl }, `Stopped the sandbox at ${ready.baseUrl}.`);
}

export async function runReset(
  app: Pick<App, "output" | "sandboxFile">,
  options: OptionsOf<typeof reset>,
): Promise<number> {
  const vaults = await connect(app, options).reset();
  return await print(
    app,
    { vaults },
    `Reset ${vaults} vaults and removed all faults. The new credentials are in the ready file.`,
  );
}

export async function runLock(
  app: Pick<App, "output" | "sandboxFile">,
  options: OptionsOf<typeof lock>,
): Promise<number> {
  const found = await connect(app, options).lock(options.uuid);
  return await printVault(app, found);
}

export async function runUnlock(
  app: Pick<App, "output" | "sandboxFile">,
  options: OptionsOf<typeof lock>,
): Promise<number> {
  const found = await connect(app, options).unlock(options.uuid);
  return await printVault(app, found);
}

async function printVault(app: Pick<App, "output">, found: PublicInspection): Promise<number> {
  const {
    uuid,
    label,
    kind,
    state: status,
    lockReason,
    pending,
    unackedStarts,
    failedAccesses: failedAttempts,
  } = found;
  const { usesRemaining, expiryDate, autoLockDate, dateCreated, lastModified } = found;
  const exchange = pending && {
    operation: pending.operation,
    externalRef: pending.externalRef,
    tokenExpiry: pending.expiry,
  };
  const counters = { unackedStarts, failedAttempts, usesRemaining };
  const dates = { expiryDate, autoLockDate, dateCreated, lastModified };
  return await print(
    app,
    { uuid, label, kind, status, lockReason, exchange, ...counters, ...dates },
    `${uuid} is ${status}`,
  );
}

export async function runFault(
  app: Pick<App, "output" | "sandboxFile">,
  options: OptionsOf<typeof fault>,
): Promise<number> {
  if (options.clear !== true && options.faults.length === 0) {
    throw new VaultError("usage", "a fault or --clear is missing", {
      hint: "vault sandbox fault get-end:drop-after",
    });
  }
  const rules = options.faults.map(parseFault);
  const client = connect(app, options);
  if (options.clear === true) await client.clearFaults();
  const armed = rules.length === 0 ? 0 : await client.addFaults(rules);
  return await print(app, { armed }, armed === 0 ? "No faults." : `${count(armed, "fault")} set.`);
}

/** Prints the audit items, or writes them to a file in the form that its name asks for. */
export async function runAudit(
  app: Pick<App, "host" | "output" | "sandboxFile">,
  options: OptionsOf<typeof audit>,
): Promise<number> {
  if (options.export !== undefined)
    return await exportAudit(app, options.export, () => connect(app, options).audit());
  const items = await connect(app, options).audit();
  if (app.output.format === "ndjson") {
    await app.host.stdout.write(items.map((item) => `${jsonText(item)}\n`).join(""));
    return 0;
  }
  const document: AuditDocument = { items };
  await app.output.print(document, async ({ facts }) => await asTable(facts, items));
  return 0;
}

async function exportAudit(
  app: Pick<App, "output">,
  path: string,
  audit: ControlClient["audit"],
): Promise<number> {
  const toForm = formOf(path);
  const items = await audit();
  await writeExport(path, toForm(items));
  return await print(
    app,
    { items: items.length, file: path },
    `Wrote ${items.length} items to ${path}`,
  );
}

function formOf(path: string): NonNullable<ReturnType<typeof auditExport>> {
  const form = auditExport(path);
  if (form !== undefined) return form;
  throw new VaultError(
    "usage",
    `--export: the file name must end in ${exportEndings.join(", ")}, or in one of them and .gz`,
    {
      hint: "use a name such as items.csv or items.ndjson.gz",
    },
  );
}

async function writeExport(path: string, content: string | Uint8Array): Promise<void> {
  try {
    replaceFile(path, content);
  } catch (cause) {
    throw new VaultError(
      "invalid-input",
      `--export: ${path} cannot be written (${(cause as NodeJS.ErrnoException).code ?? "unknown reason"})`,
      {
        hint: "name a file in a folder that you can write to, such as --export ./items.csv",
        cause,
      },
    );
  }
}

async function asTable(
  facts: TerminalFacts,
  items: Awaited<ReturnType<ControlClient["audit"]>>,
): Promise<string> {
  if (items.length === 0) return "No audit items yet.\n";
  const { listTable } = await import("../../terminal/tables.ts");
  const palette = await createPalette(facts.color);
  const rows = items.map((item) => [
    item.time.slice(11, 19),
    (item.vaultUuid ?? "").slice(0, 8),
    { text: item.action, paint: item.outcome === "SUCCESS" ? palette.good : palette.bad },
    item.outcome === "SUCCESS" ? (item.externalRef ?? "") : (item.description ?? ""),
  ]);
  return listTable(["UTC", "Vault", "Action", "Reference or error"], rows, {
    palette,
    columns: facts.columns,
  });
}
