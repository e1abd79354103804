import { setImmediate } from "node:timers/promises";
import type { Io } from "../../parts/io.ts";
import type { Replay } from "../../audit/replay.ts";
import type { Host } from "../../host.ts";
import { VaultError } from "../../errors.ts";
import { printable } from "../../terminal/redactor.ts";
import { fieldPieces, jsonDocument, ndjsonDocument } from "./document.ts";
import type { ReportFlag } from "./inputs.ts";
import type { AuditReplayFlags } from "./descriptor.ts";
import { auditReplay } from "./descriptor.ts";
import { replaceFile } from "../../files/durable-file.ts";
import { defined } from "../../defined.ts";
import type { Way } from "../../way.ts";
import { command } from "../../way.ts";
import type { VaultReport } from "../../documents/audit.ts";

/** Number of characters in a write: larger texts are kept apart by the runtime, and take 30 MB more. */
const portion = 64 * 1024;

/** Prints a replay as the flags ask. Writes the files first, so that they exist when the rest is printed. */
export async function printReplay(io: Io, flags: AuditReplayFlags, replay: Replay): Promise<void> {
  const vaults = (): Iterable<VaultReport> => replay.vaults({ problems: flags.problems === true });
  if (flags.html !== undefined) {
    await printReport(io, "--html", flags.html, await page(io.host, replay, vaults()));
  }
  if (flags.markdown !== undefined) {
    const { writeMarkdown } = await import("../../audit/render/markdown.ts");
    await printReport(
      io,
      "--markdown",
      flags.markdown,
      writeMarkdown(replay.summary, vaults(), replay.whatIf),
    );
  }
  if (flags.html === "-" || flags.markdown === "-") return;
  const { field, format } = io.output;
  if (field !== undefined) return await printField(io.host, fieldPieces(replay, vaults(), field));
  if (format !== "table")
    return await print(
      io.host,
      format === "json" ? jsonDocument(replay, vaults()) : ndjsonDocument(replay, vaults()),
    );
  await printViews(io, flags, replay, vaults());
}

async function printViews(
  io: Io,
  flags: AuditReplayFlags,
  replay: Replay,
  vaults: Iterable<VaultReport>,
): Promise<void> {
  const { summary, whatIf } = replay;
  const { stdout, stderr } = io.host;
  const { auditConclusion, auditSummary } = await import("../../audit/render/text/view.ts");
  const { shownSentence, viewOn } = await import("../../audit/render/text/text.ts");
  const { auditBasis, columnLines } = await import("../../audit/render/text/basis.ts");
  const view = await viewOn(stdout, io.host.now());
  const parts: string[] = [];
  if (flags.timeline === true) {
    const { auditTimeline } = await import("../../audit/render/text/timeline.ts");
    parts.push(auditSummary(summary, [], view, whatIf));
    for (const vault of vaults) parts.push(auditTimeline(vault, summary.rules, view));
  } else {
    const limits = flags.problems === true ? { others: 0 } : {};
    parts.push(auditSummary(summary, vaults, view, whatIf, limits));
  }
  parts.push(auditBasis(summary, view));
  for (const line of columnLines(summary)) {
    if (stderr.isTTY) io.narrator.note(line);
    else io.narrator.detail(line);
  }
  if (!(await io.show(parts.join("\n")))) return;
  for (const line of auditConclusion(summary, whatIf)) io.narrator.note(line);
  const [worst, another] = replay.vaults({ problems: true });
  if (worst === undefined) return;
  if (another === undefined)
    io.narrator.note(`${worst.uuid}: ${shownSentence(worst.advice.support)}`);
  else if (flags.redact !== true && !flags.files.includes("-"))
    io.narrator.note("", [detailsOf(worst.uuid, flags)]);
}

/** Flags that decide which items are replayed, what they mean, and by which rules. */
const deciding = [
  "since",
  "until",
  "map",
  "zone",
  "action",
  "failure",
  "release",
  "tokenLifetime",
  "whatIf",
] as const;

/** The command that shows one of the vaults in detail, by the same items and rules. */
function detailsOf(uuid: string, flags: AuditReplayFlags): Way {
  const given = deciding.flatMap((name) => {
    const [flag = ""] = auditReplay.options[name].flag.split(" ");
    return [flags[name] ?? []].flat().flatMap((value) => [flag, value]);
  });
  return command`vault audit-replay ${flags.files} ${given} --vault ${uuid} --timeline`;
}

async function page(
  host: Host,
  replay: Replay,
  vaults: Iterable<VaultReport>,
): Promise<Iterable<string>> {
  const { writeHtml } = await import("../../audit/render/html/page.ts");
  const { summary, whatIf } = replay;
  const title = ["Audit replay", ...summary.inputs.map(({ name }) => name)].join(" · ");
  return writeHtml({
    title,
    generatedAt: new Date(host.now()).toISOString(),
    summary,
    vaults,
    ...defined({ whatIf }),
  });
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

/** Prints a value; on a terminal with a newline and made safe, because it comes from a log. */
async function printField(host: Host, pieces: Iterable<string>): Promise<void> {
  const { isTTY } = host.stdout;
  await print(host, isTTY ? forTerminal(pieces) : pieces);
}

function* forTerminal(pieces: Iterable<string>): Generator<string> {
  for (const piece of pieces) yield printable(piece);
  yield "\n";
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
