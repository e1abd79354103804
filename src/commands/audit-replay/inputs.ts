import { type Stats, statSync } from "node:fs";
import type { Local, StatePart } from "../../parts/state.ts";
import type { Basics } from "../../parts/settings.ts";
import type { Host } from "../../host.ts";
import type { Narrator } from "../../terminal/narrator.ts";
import { journalItems } from "../../audit/meaning/journal.ts";
import type { ReplayOptions } from "../../audit/replay.ts";
import { isStdin } from "../../settings/given.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import { obstacleAt } from "../../files/durable-file.ts";
import { checkNotOurs, realPath } from "../../cli/own-files.ts";
import type { AuditReplayOptions } from "./options.ts";

type StateHistory = NonNullable<Awaited<ReturnType<StatePart["history"]>>>;

interface History extends Omit<StateHistory, "labels"> {
  labels: ReturnType<StateHistory["labels"]>;
}

/** Inputs of a replay, with what this machine knows about them. Must be closed. */
interface Sources extends Pick<ReplayOptions, "inputs" | "journal" | "labels" | "own"> {
  close: () => void;
}

/**
 * Opens the named files, or without any this machine's journal. The state is only read; with files, a state that cannot be read is a
 * warning. With `redact`, what is printed calls the files by their numbers.
 * @throws `invalid-input` for a file that cannot be read
 */
export async function openSources(
  { io, settings, state }: Local,
  files: readonly string[],
  redact: boolean,
): Promise<Sources> {
  const inputs = files.map((file, index) => {
    const input = inputOf(io.host, file);
    return redact && file !== "-" ? { ...input, name: `file-${index + 1}` } : input;
  });
  const history = await openHistory({ io, settings, state }, files);
  if (history === null && files.length === 0)
    io.narrator.note(
      "this machine has no state yet, so there is no journal; name a file to replay",
    );
  return {
    inputs,
    journal:
      files.length > 0
        ? undefined
        : history === null
          ? []
          : { [Symbol.iterator]: () => journalItems(history.journal()) },
    ...(history === null ? {} : { own: ownOf(io.narrator, history), labels: history.labels }),
    close: () => history?.close(),
  };
}

function inputOf(host: Host, name: string): ReplayOptions["inputs"][number] {
  if (name === "-") return { name: "standard input", stream: host.stdin.chunks() };
  const path = host.resolve(name);
  const refuse = (why: string): VaultError =>
    new VaultError("invalid-input", `${name}: ${why}`, {
      hint: "name an export of audit items: NDJSON, JSON, CSV or TSV; - is standard input",
    });
  let found: Stats;
  try {
    found = statSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw refuse(code === "ENOENT" ? "no such file" : `cannot be read (${code ?? message})`);
  }
  if (found.isDirectory()) throw refuse("is a folder");
  return { name, path };
}

async function openHistory(
  { io, settings, state }: Local,
  files: readonly string[],
): Promise<History | null> {
  const { stateKey } = settings;
  if (files.includes("-") && stateKey?.fromFlag === true && isStdin(stateKey.text)) {
    throw new VaultError("usage", "--state-key: standard input already holds the audit items", {
      hint: "leave out --state-key: no key is needed here",
    });
  }
  try {
    const history = await state.history();
    return history === null ? null : { ...history, labels: history.labels() };
  } catch (error) {
    if (files.length === 0) throw error;
    io.narrator.warn(notNamed(error));
    return null;
  }
}

/** Warns once about a state that fails while it is read, and then does not read it again. */
function ownOf(narrator: Narrator, history: History): NonNullable<Sources["own"]> {
  let failed = false;
  return (externalRef, near) => {
    try {
      return failed ? undefined : history.own(externalRef, near);
    } catch (error) {
      failed = true;
      narrator.warn(notNamed(error));
      return undefined;
    }
  };
}

const notNamed = (error: unknown): string =>
  `exchanges of this machine are not named: ${asVaultError(error).message}`;

/** Flags that write a report to a file, or to standard output. */
export type ReportFlag = "--html" | "--markdown";

/**
 * Checks, before anything is read, that the reports may be written where they are asked for.
 * @throws `invalid-input`, and `usage`, also if two reports have the same target
 */
export function checkTargets(
  { io, settings }: Basics,
  { html, markdown, files }: Pick<AuditReplayOptions, "html" | "markdown" | "files">,
): void {
  if (html !== undefined) checkTarget({ io, settings }, "--html", html, files);
  if (markdown !== undefined) checkTarget({ io, settings }, "--markdown", markdown, files);
  if (html === undefined || markdown === undefined) return;
  if (realPath(io.host.resolve(html)) !== realPath(io.host.resolve(markdown))) return;
  throw new VaultError("usage", "--html and --markdown have the same target", {
    hint: "--html report.html --markdown report.md",
  });
}

function checkTarget(
  { io, settings }: Basics,
  flag: ReportFlag,
  page: string,
  files: readonly string[],
): void {
  const example = `${flag} report${flag === "--html" ? ".html" : ".md"}`;
  if (page === "-") {
    if (io.output.format === "table" && io.output.field === undefined) return;
    throw new VaultError("usage", `${flag} -: standard output already holds the document`, {
      hint: `name a file: ${example}`,
    });
  }
  checkNotOurs({ io, settings }, flag, page);
  const target = realPath(io.host.resolve(page));
  const isRead = (file: string): boolean =>
    file !== "-" && realPath(io.host.resolve(file)) === target;
  const why = files.some(isRead) ? "one of the files to replay" : obstacleAt(io.host.resolve(page));
  if (why === null) return;
  throw new VaultError("invalid-input", `${flag}: ${page} is ${why}; nothing was written`, {
    hint: `name another file, like ${example}; ${flag} - is standard output`,
  });
}
