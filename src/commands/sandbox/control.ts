import type { Basics, SettingsPart } from "../../parts/settings.ts";
import type { Output } from "../../cli/output.ts";
import { VaultError } from "../../errors.ts";
import { auditExport } from "../../sandbox/control/audit-export.ts";
import type { ControlClient } from "../../sandbox/control/client.ts";
import type { PublicVault } from "../../sandbox/control/control.ts";
import { connectControl } from "../../sandbox/control/client.ts";
import { isUuid } from "../../protocol/limits.ts";
import { parseFault } from "../../sandbox/faults/grammar.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import { replaceFile } from "../../files/durable-file.ts";
import type { OptionsOf } from "../../cli/command.ts";
import type { audit, env, fault, lock, reset, status, stop } from "../sandbox.ts";
import type {
  AuditDocument,
  EnvDocument,
  FaultDocument,
  LockDocument,
  ResetDocument,
  StatusDocument,
  StopDocument,
} from "../../documents/sandbox.ts";
import { command, shellQuoted } from "../../way.ts";
import { preparedFolder, settingsFor } from "./folder.ts";
import { asGiven, describeVaults, findRunning, readyFileOf, theRunning } from "./running.ts";
import { count } from "../../terminal/count.ts";

const connect = (
  settings: SettingsPart,
  options: { readyFile?: string | undefined },
): ControlClient => connectControl(readyFileOf(settings, options));

type Document =
  AuditDocument | FaultDocument | LockDocument | ResetDocument | StatusDocument | StopDocument;

async function print(output: Output, document: Document, line: string): Promise<number> {
  await output.sayDone(document, () => line.split("\n"));
  return 0;
}

/** Prints what a shell exports to use the running sandbox, with a state in which its vaults are imported. */
export async function runEnv(
  { io, settings }: Basics,
  options: OptionsOf<typeof env>,
): Promise<number> {
  const running = await theRunning(settings, options);
  const { ready } = running;
  const readyFile = io.host.resolve(running.readyFile);
  const wanted = {
    ...settingsFor(ready, await preparedFolder(io.host, ready, readyFile), ready.apiPrefix),
    VAULTSVC_SANDBOX: readyFile,
  };
  const lines = Object.entries(wanted).map(
    ([name, value]) => `export ${name}=${shellQuoted(value)}\n`,
  );
  const document: EnvDocument = { env: wanted };
  await io.output.print(document, () => lines.join(""));
  return 0;
}

export async function runStatus(
  { io, settings }: Basics,
  options: OptionsOf<typeof status>,
): Promise<number> {
  const readyFile = readyFileOf(settings, options);
  const running = await findRunning(readyFile);
  if (running === null)
    return await print(
      io.output,
      { running: false },
      `No sandbox is running (ready file: ${readyFile}).`,
    );
  const { baseUrl, application, vaults } = running.ready;
  const shown = vaults.map(({ uuid, label, kind }) => ({ uuid, label, kind }));
  const document: StatusDocument = {
    running: true,
    baseUrl,
    application: { uuid: application.uuid },
    readyFile,
    vaults: shown,
  };
  const { tabbedLines } = await import("../../terminal/tables.ts");
  await io.output.printDone(document, ({ facts }) =>
    facts.isTTY
      ? [`The sandbox listens at ${baseUrl}`, "", ...describeVaults(vaults), ""].join("\n")
      : tabbedLines(shown.map(({ uuid, kind, label }) => [uuid, kind, label])),
  );
  return 0;
}

export async function runStop(
  { io, settings }: Basics,
  options: OptionsOf<typeof stop>,
): Promise<number> {
  const { client, ready } = await theRunning(settings, options);
  await client.stop();
  return await print(
    io.output,
    { stopped: ready.baseUrl },
    `Stopped the sandbox at ${ready.baseUrl}.`,
  );
}

export async function runReset(
  { io, settings }: Basics,
  options: OptionsOf<typeof reset>,
): Promise<number> {
  const vaults = await connect(settings, options).reset();
  return await print(
    io.output,
    { vaults },
    `Reset ${vaults} vaults and removed all faults. The new credentials are in the ready file.`,
  );
}

export async function runLock(
  { io, settings }: Basics,
  options: OptionsOf<typeof lock>,
): Promise<number> {
  const { client, uuid } = await theVault(settings, options);
  return await printVault(io.output, await client.lock(uuid));
}

export async function runUnlock(
  { io, settings }: Basics,
  options: OptionsOf<typeof lock>,
): Promise<number> {
  const { client, uuid } = await theVault(settings, options);
  return await printVault(io.output, await client.unlock(uuid));
}

/**
 * The running sandbox, and the UUID of its vault.
 * @throws `network` where none runs, `invalid-input` where not exactly one vault has the label
 */
async function theVault(
  settings: SettingsPart,
  options: OptionsOf<typeof lock>,
): Promise<{ client: ControlClient; uuid: string }> {
  const { client, ready } = await theRunning(settings, options);
  if (isUuid(options.vault)) return { client, uuid: options.vault };
  const [vault, ...more] = ready.vaults.filter(({ label }) => label === options.vault);
  if (vault !== undefined && more.length === 0) return { client, uuid: vault.uuid };
  const which = vault === undefined ? "has no vault" : `has ${more.length + 1} vaults`;
  throw new VaultError(
    "invalid-input",
    `<vault>: the sandbox ${which} with the label ${printableLine(options.vault)}; nothing was changed`,
    { next: [command`vault sandbox status ${asGiven(options)}`] },
  );
}

async function printVault(output: Output, vault: PublicVault): Promise<number> {
  const { uuid, label, kind, state: status, lockReason, pending, expiryDate } = vault;
  const iso = (time: number): string => new Date(time).toISOString();
  const document: LockDocument = {
    uuid,
    label,
    kind,
    status,
    lockReason,
    exchange: pending && {
      operation: pending.operation,
      externalRef: pending.externalRef,
      tokenExpiry: iso(pending.expiresAt),
    },
    unackedStarts: vault.unackedStarts,
    failedAttempts: vault.failedAccesses,
    usesRemaining: vault.usesRemaining,
    expiryDate: expiryDate === null ? null : iso(expiryDate),
    autoLockDate: iso(vault.autoLockDate),
    dateCreated: iso(vault.dateCreated),
    lastModified: iso(vault.lastModified),
  };
  return await print(output, document, `${uuid} is ${status}`);
}

export async function runFault(
  { io, settings }: Basics,
  options: OptionsOf<typeof fault>,
): Promise<number> {
  if (options.clear !== true && options.faults.length === 0) {
    throw new VaultError("usage", "a fault or --clear is missing", {
      next: [command`vault sandbox fault get-end:drop-after`],
    });
  }
  // Checked before anything is cleared.
  options.faults.forEach(parseFault);
  const client = connect(settings, options);
  if (options.clear === true) await client.clearFaults();
  const armed = options.faults.length === 0 ? 0 : await client.addFaults(options.faults);
  return await print(
    io.output,
    { armed },
    armed === 0 ? "No faults." : `${count(armed, "fault")} set.`,
  );
}

/** Prints the audit items, or writes them to a file in the form that its name asks for. */
export async function runAudit(
  { io, settings }: Basics,
  options: OptionsOf<typeof audit>,
): Promise<number> {
  const { export: file } = options;
  const toForm = file === undefined ? undefined : formOf(file);
  const items = await connect(settings, options).audit();
  if (file !== undefined && toForm !== undefined) {
    writeExport(file, toForm(items));
    return await print(
      io.output,
      { items: items.length, file },
      `Wrote ${items.length} items to ${file}`,
    );
  }
  const document: AuditDocument = { items };
  await io.output.print(document, async ({ facts }) => await asTable(facts, items));
  return 0;
}

function formOf(path: string): NonNullable<ReturnType<typeof auditExport>> {
  const form = auditExport(path);
  if (form !== undefined) return form;
  throw new VaultError(
    "usage",
    "--export: the file name must end in .ndjson or .csv, with or without .gz",
    { hint: "use a name such as items.csv or items.ndjson.gz" },
  );
}

function writeExport(path: string, content: string | Uint8Array): void {
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
  const { listTable, tabbedLines } = await import("../../terminal/tables.ts");
  // Whole items, which audit-replay reads.
  if (!facts.isTTY)
    return tabbedLines(
      items.map(({ time, vaultUuid, action, outcome, externalRef, description }) =>
        [time, vaultUuid, action, outcome, externalRef, description].map((field) => field ?? ""),
      ),
    );
  if (items.length === 0) return "No audit items yet.\n";
  const palette = await createPalette(facts.color);
  const rows = items.map((item) => [
    item.time.slice(11, 19),
    (item.vaultUuid ?? "").slice(0, 8),
    { text: item.action, paint: item.outcome === "SUCCESS" ? palette.good : palette.bad },
    item.outcome === "SUCCESS" ? (item.externalRef ?? "") : (item.description ?? ""),
  ]);
  return listTable(["UTC", "Vault", "Action", "Reference or error"], rows, { palette, ...facts });
}
