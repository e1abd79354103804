import * as z from "zod/mini";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import { auditExport, exportEndings } from "../../sandbox/control/audit-export.ts";
import type { ControlClient } from "../../sandbox/control/client.ts";
import { connectControl } from "../../sandbox/control/client.ts";
import { parseFault } from "../../sandbox/faults/grammar.ts";
import { createPalette } from "../../terminal/palette.ts";
import { jsonText } from "../../terminal/redactor.ts";
import { listTable } from "../../terminal/tables.ts";
import type { RawInput } from "../../cli/act.ts";
import { replaceFile } from "../../files/durable-file.ts";
import { checkField, serialise, serialiseDone } from "../../cli/document.ts";
import { flag, parseInput, text, uuid } from "../../cli/options.ts";
import { defaultReadyFile } from "./start.ts";

const readyFile = z.optional(text);
const plain = z.object({ readyFile });
const vault = z.object({ readyFile, uuid });
const audit = z.object({ readyFile, export: z.optional(text) });
const fault = z.object({ readyFile, clear: flag, faults: z._default(z.array(text), []) });

const connect = (deps: Deps, options: { readyFile?: string | undefined }): ControlClient =>
  connectControl(options.readyFile ?? defaultReadyFile(deps));

async function print(deps: Deps, document: unknown, line: string): Promise<number> {
  await deps.host.stdout.write(serialiseDone(document, deps) ?? `${line}\n`);
  return 0;
}

export async function runReset(deps: Deps, input: RawInput): Promise<number> {
  checkField(deps.output.field, ["vaults"]);
  const vaults = await connect(deps, parseInput(plain, input)).reset();
  return await print(
    deps,
    { vaults },
    `Reset: ${vaults} vaults as at the start, without faults. Their new credentials are in the ready file.`,
  );
}

export async function runLock(deps: Deps, input: RawInput): Promise<number> {
  checkField(deps.output.field, ["vault"]);
  const options = parseInput(vault, input, ["uuid"]);
  const found = await connect(deps, options).lock(options.uuid);
  return await print(deps, { vault: found }, `${found.uuid} is ${found.state}`);
}

export async function runUnlock(deps: Deps, input: RawInput): Promise<number> {
  checkField(deps.output.field, ["vault"]);
  const options = parseInput(vault, input, ["uuid"]);
  const found = await connect(deps, options).unlock(options.uuid);
  return await print(deps, { vault: found }, `${found.uuid} is ${found.state}`);
}

export async function runFault(deps: Deps, input: RawInput): Promise<number> {
  checkField(deps.output.field, ["armed"]);
  const options = parseInput(fault, input, ["faults"]);
  if (options.clear !== true && options.faults.length === 0) {
    throw new VaultError("usage", "a fault is missing, or --clear", { hint: "vault sandbox fault get-end:drop-after" });
  }
  const rules = options.faults.map(parseFault);
  const client = connect(deps, options);
  if (options.clear === true) await client.clearFaults();
  const armed = rules.length === 0 ? 0 : await client.addFaults(rules);
  return await print(deps, { armed }, armed === 0 ? "No faults." : `${armed} fault${armed === 1 ? "" : "s"} armed.`);
}

/** Prints the audit items, or writes them to a file in the form that its name asks for. */
export async function runAudit(deps: Deps, input: RawInput): Promise<number> {
  const options = parseInput(audit, input);
  checkField(deps.output.field, ["items", "file"]);
  if (options.export !== undefined) return await exportAudit(deps, options.export, () => connect(deps, options).audit());
  const items = await connect(deps, options).audit();
  if (deps.output.format === "ndjson") {
    await deps.host.stdout.write(items.map((item) => `${jsonText(item)}\n`).join(""));
    return 0;
  }
  const document = serialise({ items }, deps.output, deps.host.stdout.isTTY);
  await deps.host.stdout.write(document ?? (await asTable(deps, items)));
  return 0;
}

async function exportAudit(deps: Deps, path: string, audit: ControlClient["audit"]): Promise<number> {
  const toForm = formOf(path);
  const items = await audit();
  await writeExport(path, toForm(items));
  return await print(deps, { items: items.length, file: path }, `${items.length} items written to ${path}`);
}

function formOf(path: string): NonNullable<ReturnType<typeof auditExport>> {
  const form = auditExport(path);
  if (form !== undefined) return form;
  throw new VaultError("usage", `--export: the name of the file must end in ${exportEndings.join(", ")}, or in one of them and .gz`, {
    hint: "for example --export items.csv, or --export items.ndjson.gz",
  });
}

async function writeExport(path: string, content: string | Uint8Array): Promise<void> {
  try {
    replaceFile(path, content);
  } catch (cause) {
    throw new VaultError(
      "invalid-input",
      `--export: ${path} cannot be written (${(cause as NodeJS.ErrnoException).code ?? "unknown reason"})`,
      {
        hint: "name a file in a folder that you can write to, like --export ./items.csv",
        cause,
      },
    );
  }
}

async function asTable(deps: Deps, items: Awaited<ReturnType<ControlClient["audit"]>>): Promise<string> {
  if (items.length === 0) return "No audit items yet.\n";
  const palette = await createPalette(deps.host.stdout.color);
  const rows = items.map((item) => [
    item.time.slice(11, 19),
    (item.vaultUuid ?? "").slice(0, 8),
    { text: item.action, paint: item.outcome === "SUCCESS" ? palette.good : palette.bad },
    item.outcome === "SUCCESS" ? (item.externalRef ?? "") : (item.description ?? ""),
  ]);
  return await listTable(["UTC", "Vault", "Action", "Reference, or what failed"], rows, { palette, columns: deps.host.stdout.columns });
}
