import { journalItems } from "../../audit/meaning/journal.ts";
import type { ReplayOptions } from "../../audit/replay.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Local } from "../../parts/state.ts";
import { isStdin } from "../../settings/given.ts";
import type { AuditReplayOptions } from "./options.ts";

/** Inputs of a replay, with what this machine knows about them. Must be closed. */
interface Sources extends Pick<ReplayOptions, "inputs" | "journal" | "labels"> {
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
  const inputs = files.map((file, index) =>
    file === "-"
      ? { name: "standard input", stream: host.stdin.chunks() }
      : { name: redact === true ? `file-${index + 1}` : file, path: host.resolve(file) },
  );
  const isJournal = files.length === 0;
  try {
    const history = await state.history();
    if (history !== null)
      return {
        inputs,
        journal: isJournal
          ? { [Symbol.iterator]: () => journalItems(history.journal()) }
          : undefined,
        labels: history.labels(),
        close: () => history.close(),
      };
    if (isJournal)
      narrator.note("this machine has no state yet, so there is no journal; name a file to replay");
  } catch (error) {
    if (isJournal) throw error;
    narrator.warn(`no labels of this machine are shown: ${asVaultError(error).message}`);
  }
  return { inputs, journal: isJournal ? [] : undefined, close: () => undefined };
}
