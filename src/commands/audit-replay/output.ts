import { setImmediate } from "node:timers/promises";
import type { Io } from "../../parts/io.ts";
import type { Replay } from "../../audit/replay.ts";
import type { Host } from "../../host.ts";
import { VaultError } from "../../errors.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printable } from "../../terminal/redactor.ts";
import { fieldText, jsonDocument, ndjsonDocument } from "./document.ts";
import type { ReportFlag } from "./inputs.ts";
import type { AuditReplayFlags } from "../audit-replay.ts";
import { replaceFile } from "../../files/durable-file.ts";
import type { VaultReport } from "../../documents/audit.ts";

/** Number of characters in a write: larger texts are kept apart by the runtime, and take 30 MB more. */
const portion = 64 * 1024;

/** Prints a replay as the flags ask. Writes the files first, so that they exist when the rest is printed. */
export async function printReplay(io: Io, flags: AuditReplayFlags, replay: Replay): Promise<void> {
  const { html, markdown, problems = false, timeline = false } = flags;
  const vaults = (): Iterable<VaultReport> => replay.vaults({ problems });
  const { summary } = replay;
  const report = () => ({ summary, vaults: vaults() });
  if (html !== undefined) {
    const { pageReport } = await import("../../audit/print/page.ts");
    const title = ["Audit replay", ...summary.inputs.map(({ name }) => name)].join(" · ");
    const generatedAt = new Date(io.host.now()).toISOString();
    await printReport(io, "--html", html, pageReport({ title, generatedAt, ...report() }));
  }
  if (markdown !== undefined) {
    const { markdownReport } = await import("../../audit/print/text.ts");
    await printReport(io, "--markdown", markdown, markdownReport(report()));
  }
  if (html === "-" || markdown === "-") return;
  const { field, format } = io.output;
  if (field !== undefined) {
    const text = fieldText(summary, vaults(), field);
    return await print(io.host, [io.host.stdout.isTTY ? `${printable(text)}\n` : text]);
  }
  if (format === "json") return await print(io.host, jsonDocument(summary, vaults()));
  if (format === "ndjson") return await print(io.host, ndjsonDocument(summary, vaults()));
  const { terminalReport } = await import("../../audit/print/text.ts");
  const { isTTY, columns, color } = io.host.stdout;
  const view = { isTTY, columns, palette: await createPalette(color) };
  await io.show(terminalReport(report(), view, timeline));
}

/** Writes a report whole to a file, or prints it. */
async function printReport(
  io: Io,
  flag: ReportFlag,
  file: string,
  pieces: Iterable<string>,
): Promise<void> {
  if (file === "-") return await print(io.host, pieces);
  try {
    replaceFile(io.host.resolve(file), portions(pieces));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new VaultError("invalid-input", `${flag}: ${file} cannot be written (${code})`, {
      hint: `name a file in a folder that you can write to, like ${flag} ./report${flag === "--html" ? ".html" : ".md"}`,
      cause: error,
    });
  }
  io.narrator.note(`written to ${file}`);
}

/** Prints pieces as fast as they are read, and handles signals between them. */
async function print(host: Host, pieces: Iterable<string>): Promise<void> {
  for (const text of portions(pieces)) {
    await host.stdout.write(text);
    await setImmediate();
    host.interrupted.throwIfAborted();
  }
}

export function* portions(pieces: Iterable<string>): Generator<string> {
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length < portion) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}
