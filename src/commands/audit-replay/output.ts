import { setImmediate } from "node:timers/promises";
import type { Replay } from "../../audit/replay.ts";
import { checkNotOurs, realPath } from "../../cli/own-files.ts";
import type { ReplaySummary, VaultReport } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { obstacleAt, replaceFile } from "../../files/durable-file.ts";
import type { Host } from "../../host.ts";
import type { Basics, Io } from "../../parts/basics.ts";
import { trying } from "../../sandbox/outcome.ts";
import { createPalette } from "../../terminal/palette.ts";
import { jsonText } from "../../terminal/redactor.ts";

/** Flags that write a report to a file, or to standard output. */
const kinds = ["html", "markdown"] as const;
type Targets = { [Kind in (typeof kinds)[number]]?: string | undefined };

/**
 * Checks, before anything is read, that the reports may be written where they are asked for.
 * @throws `invalid-input` and `usage`
 */
export function checkTargets(
  { io, settings }: Basics,
  { files, ...targets }: Targets & { files: readonly string[] },
): void {
  const real = (file: string): string => realPath(io.host.resolve(file));
  const { html, markdown } = targets;
  if (html !== undefined && markdown !== undefined && real(html) === real(markdown))
    throw new VaultError("usage", "--html and --markdown name the same file; nothing was written", {
      hint: "--html page.html --markdown report.md",
    });
  for (const kind of kinds) {
    const file = targets[kind];
    const hasDocument = io.output.format !== "table" || io.output.field !== undefined;
    if (file === "-" && hasDocument)
      throw new VaultError("usage", `--${kind} -: standard output already holds the document`, {
        hint: `name a file: --${kind} FILE`,
      });
    if (file === undefined || file === "-") continue;
    checkNotOurs({ io, settings }, `--${kind}`, file);
    const isRead = files.some((one) => one !== "-" && real(one) === real(file));
    const why = isRead ? "one of the files to replay" : obstacleAt(io.host.resolve(file));
    if (why !== null)
      throw new VaultError("invalid-input", `--${kind}: ${file} is ${why}; nothing was written`, {
        hint: `name another file; --${kind} - is standard output`,
      });
  }
}

/** Number of characters in a write: larger texts are kept apart by the runtime, and take 30 MB more. */
const portion = 64 * 1024;

/** Prints a replay as the flags ask. Writes the files first, so that they exist when the rest is printed. */
export async function printReplay(
  io: Io,
  { html, markdown, problems = false }: Targets & { problems?: boolean | undefined },
  replay: Replay,
): Promise<void> {
  const { summary } = replay;
  const vaults = (): Vaults => replay.vaults({ problems });
  if (html !== undefined) {
    const { pageReport } = await import("../../audit/print/page.ts");
    const title = ["Audit replay", ...summary.inputs.map(({ name }) => name)].join(" · ");
    const generatedAt = new Date(io.host.now()).toISOString();
    const page = pageReport({ title, generatedAt, summary, vaults: vaults() });
    await printReport(io, "html", html, page);
  }
  if (markdown !== undefined) {
    const { markdownReport } = await import("../../audit/print/text.ts");
    await printReport(io, "markdown", markdown, markdownReport({ summary, vaults: vaults() }));
  }
  if (html === "-" || markdown === "-") return;
  const { field, format } = io.output;
  if (field !== undefined) {
    // Of a million vaults, only if the field is one of theirs.
    const document = {
      ...summary,
      ...(/^vaults(?:\.|$)/.test(field) && { vaults: [...vaults()] }),
    };
    return await io.output.print(document, () => "");
  }
  if (format === "json") return await print(io.host, jsonDocument(summary, vaults()));
  if (format === "ndjson") return await print(io.host, ndjsonDocument(summary, vaults()));
  const { terminalReport } = await import("../../audit/print/text.ts");
  const { isTTY, columns, color } = io.host.stdout;
  const view = { isTTY, columns, palette: await createPalette(color) };
  await io.show(terminalReport({ summary, vaults: vaults() }, view));
}

/** Writes a report whole to a file, or prints it. */
async function printReport(
  io: Io,
  kind: (typeof kinds)[number],
  file: string,
  pieces: Iterable<string>,
): Promise<void> {
  if (file === "-") return await print(io.host, pieces);
  const refused = `--${kind}: ${file} cannot be written`;
  trying(() => replaceFile(io.host.resolve(file), portions(pieces)), refused, "invalid-input");
  io.narrator.note(`written to ${file}`);
}

// The document comes in pieces: there may be a million vaults.

type Vaults = Iterable<VaultReport>;

/** Yields the document of --json: the answer first, the vaults last. */
export function* jsonDocument(summary: ReplaySummary, vaults: Vaults): Generator<string> {
  yield jsonText({ ...summary, vaults: [] }, 2).slice(0, -"]\n}".length);
  let isFirst = true;
  for (const vault of vaults) {
    yield `${isFirst ? "" : ","}${jsonText([[vault]], 2).slice("[\n  [".length, -"\n  ]\n]".length)}`;
    isFirst = false;
  }
  yield isFirst ? "]\n}\n" : "\n  ]\n}\n";
}

/** Yields the lines of -o ndjson: one for each vault, and one with the rest. */
export function* ndjsonDocument(summary: ReplaySummary, vaults: Vaults): Generator<string> {
  for (const vault of vaults) yield `${jsonText(vault)}\n`;
  yield `${jsonText({ event: "summary", ...summary })}\n`;
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
