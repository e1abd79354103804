import type { Local } from "../../parts/state.ts";
import { VaultError } from "../../errors.ts";
import type { KeyElsewhere, NewKey } from "../../secrets/key-source.ts";
import { askNewPassphrase, confirmOrFail } from "../../cli/prompts.ts";
import type { RekeyDocument } from "../../documents/state.ts";
import type { RekeyOptions } from "./descriptor.ts";
import { count } from "../../terminal/count.ts";
import { command } from "../../way.ts";

type Source = NonNullable<RekeyOptions["to"]>;

/** @throws `usage` for flags that contradict each other */
export function checkRekey(options: RekeyOptions): RekeyOptions {
  const { to, newPassphrase, newStateKey } = options;
  const implied =
    newPassphrase !== undefined ? "passphrase" : newStateKey !== undefined ? "given" : to;
  if ((newPassphrase !== undefined && newStateKey !== undefined) || (to ?? implied) !== implied) {
    throw new VaultError(
      "usage",
      "--new-passphrase is for --to passphrase, --new-state-key for --to given",
      {
        next: [command`vault state rekey --help`],
      },
    );
  }
  return implied === undefined ? options : { ...options, to: implied };
}

/** Changes the key of all sealed values, or where it comes from. */
export async function runRekey(
  { io, settings, state }: Local,
  given: RekeyOptions,
): Promise<number> {
  const options = checkRekey(given);
  const local = await state.open(settings.profileInUse, true);
  const now: Source =
    settings.stateKey === undefined ? (local.keys.keyEntries()?.at(-1)?.source ?? "file") : "given";
  // Several keys mean that an earlier run was interrupted: the variable may hold the new passphrase.
  const unfinished = (local.keys.keyEntries()?.length ?? 0) > 1;
  const theirs = adopted(local.given, options, local.keys.keyEntries());
  const to = theirs ?? (await newKey({ io, settings, state }, options, now, unfinished));
  const question =
    theirs === null
      ? `Change the encryption key (${now} to ${to.source})?`
      : `Take over key ${theirs.key.id}? What this machine has encrypted with its own key is encrypted with that one. A state that has it already stays as it is.`;
  await confirmOrFail(
    io.ask,
    options.yes === true,
    `${question} Earlier backups of the state need the old key, which is removed.`,
  );
  const rekeyed = await local.rekey({ to, skipMissing: options.skipMissing === true });
  const { values, states, source, to: id } = rekeyed;
  const where = [...states, "the configuration"].join(", ");
  const line = `Re-encrypted ${count(values, "value")} with key ${id}, source ${source} (${where})`;
  const document: RekeyDocument = { rekeyed };
  await io.output.sayDone(document, line);
  if (rekeyed.from.length > 0) {
    io.narrator.note(`Earlier backups of the state need the old key: ${rekeyed.from.join(", ")}`, [
      command`vault state backup FILE`,
    ]);
  }
  if (local.state.isShared && theirs === null)
    io.narrator.note(
      `Every other machine that uses ${local.state.shown} needs key ${id}: ${handOver(local.keyFile, source)}`,
    );
  if (source === "passphrase" || source === "given")
    io.narrator.note("Keep it away from the state: nothing can be opened without it.");
  return 0;
}

const handOver = (keyFile: string, source: Source): string =>
  source === "file" || source === "passphrase"
    ? `copy ${keyFile} there, then vault state rekey --state-key @COPY${source === "file" ? "" : " (with the passphrase)"}`
    : "give it there, as VAULTSVC_STATE_KEY or by vault state rekey --state-key";

/**
 * The key that --state-key gives, if the key file has another one: other machines use it already. It has both where an earlier run was
 * interrupted.
 */
function adopted(
  given: KeyElsewhere | undefined,
  { to, newStateKey }: RekeyOptions,
  keys: readonly { id: string; source: Source }[] | null,
): KeyElsewhere | null {
  const newest = keys?.at(-1);
  if (given === undefined || to !== undefined || newStateKey !== undefined) return null;
  const { id } = given.key;
  if (newest === undefined || keys?.every((each) => each.id === id)) return null;
  // A key in plain text is stored only where there was one.
  const isStored = newest.source === "file" || given.entry.source === "passphrase";
  return isStored ? given : { ...given, entry: { source: "given", id } };
}

async function newKey(
  { io, settings, state }: Local,
  { to, newPassphrase, newStateKey }: RekeyOptions,
  now: Source,
  unfinished: boolean,
): Promise<NewKey> {
  const source = to ?? now;
  if (source === "file" || source === "keyring") return { source };
  if (source === "given") {
    if (newStateKey === undefined) throw missing("the new key", "--new-state-key @FILE");
    return { source, key: await io.secretOption(newStateKey, "--new-state-key") };
  }
  return {
    source,
    passphrase: await newPhrase(
      { io, settings, state },
      newPassphrase,
      now !== "passphrase" || unfinished,
    ),
  };
}

/** Reads the new passphrase. VAULTSVC_STATE_PASSPHRASE is the new one only if there was none: else it opens the state. */
async function newPhrase(
  { io, settings, state }: Local,
  given: string | undefined,
  byVariable: boolean,
): Promise<string> {
  const { statePassphrase } = settings;
  if (given !== undefined) return await io.secretOption(given, "--new-passphrase");
  if (byVariable && statePassphrase !== undefined)
    return await state.secretSetting(statePassphrase);
  if (!io.ask.isPossible) throw missing("the new passphrase", "--new-passphrase @FILE");
  const passphrase = await askNewPassphrase(io.ask);
  io.redactor.add(passphrase);
  return passphrase;
}

const missing = (what: string, flag: string): VaultError =>
  new VaultError("usage", `${what} is missing`, {
    hint: `use ${flag}, or choose another source, such as --to file`,
  });
