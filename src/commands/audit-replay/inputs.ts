import { journalItems } from "../../audit/meaning/journal.ts";
import type { ReplayOptions } from "../../audit/replay.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Basics } from "../../parts/settings.ts";
import type { Local } from "../../parts/state.ts";
import { isStdin } from "../../settings/given.ts";
import { grouped } from "../../terminal/count.ts";
import type { Progress } from "../../terminal/progress.ts";
import type { AuditReplayOptions } from "./options.ts";

/** Inputs of a replay, with what this machine knows about them. Must be closed. */
interface Sources extends Pick<ReplayOptions, "inputs" | "journal" | "labels" | "own"> {
  close: () => void;
}

/**
 * Names the files, or without any opens this machine's journal. The state is only read; with files, a state that cannot be read is a
 * warning. With `redact`, what is printed calls the files by their numbers.
 */
export async function openSources(
  { io, settings, state }: Local,
  { files, redact }: AuditReplayOptions,
): Promise<Sources> {
  const { host, narrator } = io;
  const { stateKey } = settings;
  if (files.includes("-") && stateKey?.fromFlag === true && isStdin(stateKey.text))
    throw new VaultError("usage", "--state-key: standard input already holds the audit items", {
      hint: "leave out --state-key: no key is needed here",
    });
  const warn = (error: unknown): void =>
    narrator.warn(`exchanges of this machine are not named: ${asVaultError(error).message}`);
  const inputs = files.map((file, index) =>
    file === "-"
      ? { name: "standard input", stream: host.stdin.chunks() }
      : { name: redact === true ? `file-${index + 1}` : file, path: host.resolve(file) },
  );
  const isJournal = files.length === 0;
  try {
    const history = await state.history();
    if (history !== null) {
      let hasFailed = false;
      return {
        inputs,
        journal: isJournal
          ? { [Symbol.iterator]: () => journalItems(history.journal()) }
          : undefined,
        labels: history.labels(),
        own: (externalRef, near) => {
          try {
            return hasFailed ? undefined : history.own(externalRef, near);
          } catch (error) {
            hasFailed = true;
            warn(error);
            return undefined;
          }
        },
        close: () => history.close(),
      };
    }
    if (isJournal)
      narrator.note("this machine has no state yet, so there is no journal; name a file to replay");
  } catch (error) {
    if (isJournal) throw error;
    warn(error);
  }
  return { inputs, journal: isJournal ? [] : undefined, close: () => undefined };
}

interface Reading {
  bytes: number;
  /** Null if unknown, as for standard input. */
  total: number | null;
  items: number;
}

/** Opens a progress bar on a terminal, for reading files. */
export async function openProgress(
  { io: { host }, settings: { flags } }: Basics,
  { files }: AuditReplayOptions,
) {
  const isQuiet = (flags as Readonly<Record<string, unknown>>)["quiet"] === true;
  if (files.length === 0 || !host.stderr.isTTY || isQuiet) return undefined;
  const { createProgressBar, measuredSeconds } = await import("../../terminal/progress.ts");
  const bar = createProgressBar(host.terminal().output, () => host.now(), readingProgress);
  const began = host.now();
  const update: NonNullable<ReplayOptions["progress"]> = (bytes, total, items) => {
    // What is read at once shows none.
    if (measuredSeconds(host.now() - began) !== undefined) bar.update({ bytes, total, items });
  };
  return { update, clear: () => bar.clear() };
}

/** Progress of reading, after the given seconds (`measuredSeconds`). */
export function readingProgress(
  { bytes, total, items }: Reading,
  seconds: number | undefined,
): Progress {
  const share = total ? Math.min(1, bytes / total) : undefined;
  const isUnderWay = share !== undefined && share > 0 && share < 1;
  const left = isUnderWay && seconds !== undefined ? (seconds * (1 - share)) / share : undefined;
  const megabytes = `${grouped(Math.round(bytes / 1e6))} MB`;
  return {
    share,
    secondsLeft: left === undefined ? undefined : Math.ceil(left),
    facts: [`${grouped(items)} items`, megabytes],
  };
}
