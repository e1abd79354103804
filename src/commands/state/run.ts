import { existsSync } from "node:fs";
import type { App } from "../../app.ts";
import type { RestoreFacts } from "../../parts/state.ts";
import type { Document } from "../../documents/schemas.ts";
import type {
  BackupOptions,
  ClaimOptions,
  MoveOptions,
  RestoreOptions,
  StateInitOptions,
} from "../state.ts";
import { checkWritable } from "../../handover/out-file.ts";
import { VaultError } from "../../errors.ts";
import { confirmOrFail } from "../../cli/prompts.ts";
import { givenKey, keyPlace } from "../../secrets/keys.ts";
import { checkLocation, passwordSeen } from "../../settings/location.ts";
import { count } from "../../terminal/count.ts";
import { command, noted } from "../../way.ts";

/** Creates the state and its key, as far as there are none. */
export async function runStateInit({ io, state }: App, options: StateInitOptions): Promise<void> {
  const { state: opened, keySource } = await state.open();
  const { shown } = opened;
  const { created, updated, keyId } = await opened.create(options.grant);
  const { source, file } = keyPlace(keySource, keyId);
  const kind = opened.isShared ? "shared state" : "state";
  const document: Document<"state init"> = { state: shown, keyFile: file, created };
  const what = created
    ? `Created the ${kind} ${shown}`
    : updated
      ? `Brought up to date: ${shown}`
      : `The ${kind} ${shown} already exists`;
  await io.output.printDone(
    document,
    `${what} (${file === null ? `key ${keyId}, ${source}` : source})`,
  );
  if (created)
    io.narrator.note(
      opened.isShared
        ? "Other machines need the same key: copy the key file there, or give it with VAULTSVC_STATE_KEY."
        : "Keep a copy of the key away from the state: nothing can be opened without it.",
    );
}

/** Moves the whole state to another place, after a question. */
export async function runMove({ io, state }: App, options: MoveOptions): Promise<void> {
  const { to: location, yes = false } = options;
  if (location === undefined)
    throw new VaultError("usage", "--to: the new place is missing", {
      next: [command`vault state move --to LOCATION`],
    });
  const local = await state.open();
  const from = local.state.shown;
  checkLocation(location, "--to");
  const seen = passwordSeen(location, "--to");
  if (seen !== undefined) io.narrator.warn(seen);
  const { to, run } = await local.move(location);
  await confirmOrFail(
    io.ask,
    yes,
    `Move the state from ${from} to ${to}? Nobody can use it meanwhile.`,
  );
  const { vaults } = await run(io.waiting);
  const document: Document<"state move"> = { moved: { from, to, vaults } };
  await io.output.printDone(
    document,
    `Moved the state to ${to}${vaults === null ? "" : ` (${count(vaults, "vault")})`}`,
  );
  io.narrator.note("", [noted(command`vault config set state ${to}`, "on every machine")]);
}

/** Makes a copy of a shared state the original, or uses a state again whose move was not finished, or went to a place that is gone, after a question. */
export async function runClaim({ io, state }: App, options: ClaimOptions): Promise<void> {
  const opened = await state.open();
  const { shown } = opened.state;
  const claim = await opened.claim(io.narrator.warn);
  await confirmOrFail(
    io.ask,
    options.yes === true,
    `Use ${shown} from now on? If its original, or the place that it was moved to, is still used anywhere, vaults will be lost.`,
  );
  await claim(io.waiting);
  const document: Document<"state claim"> = { claimed: { state: shown } };
  await io.output.printDone(
    document,
    `Claimed ${shown}; no credentials count as proven until they are used again`,
  );
}

/** Writes a backup of the whole state. */
export async function runBackup(
  { io, settings, state }: App,
  options: BackupOptions,
): Promise<void> {
  const file = io.host.resolve(options.file);
  checkWritable({ io, settings }, "FILE", file);
  if (options.force !== true && existsSync(file))
    throw new VaultError("invalid-input", `FILE: ${file} already exists; nothing was written`, {
      hint: "name another file, or replace this one with --force",
    });
  const { state: opened, keySource } = await state.open();
  const facts = await (await opened.whole()).backup(file);
  const key = keyPlace(keySource, facts.keyId);
  const document: Document<"state backup"> = {
    backup: { ...facts, key: { inBackup: false, ...key } },
  };
  const { backupTable } = await import("./view.ts");
  await io.output.printDone(document, (view) => backupTable(facts, key, view));
}

/** Restores a backup into the state, after a question if that holds anything. Exit 16 where some of its vaults were in use. */
export async function runRestore({ io, state }: App, options: RestoreOptions): Promise<void> {
  const file = io.host.resolve(options.file);
  const { state: opened } = await state.open();
  const flag = "--backup-key";
  const key =
    options.backupKey === undefined
      ? undefined
      : givenKey(await io.secretOption(options.backupKey, flag), flag);
  const place = opened.shown;
  const { backup, isEmpty, run } = await (await opened.whole()).prepareRestore(file, key);
  const { restoredTable } = await import("./view.ts");
  const what = count(backup.vaults, "vault");
  const question = `Restore ${what} from the backup into the state in ${place}? What is there stays.`;
  if (!isEmpty) await confirmOrFail(io.ask, options.yes === true, question);
  const facts = await run(io.waiting);
  const { vaults } = facts;
  const { keyId, format } = backup;
  const pending = vaults.filter(({ exchange }) => exchange !== null).length;
  const restored = { file, pending, keyId, format, state: place, vaults };
  const failed = facts.failed.map(({ error, ...vault }) => ({ ...vault, error: error.toJSON() }));
  const document: Document<"state restore"> = { restored, failed };
  const failure = failureOf(facts, file);
  await io.output
    .printDone(document, (view) => restoredTable(document, view))
    .catch((error: unknown) => {
      throw failure ?? error;
    });
  if (failure !== undefined) throw failure;
  io.narrator.note("", [command`vault status`]);
}

/** The error for vaults that others held for too long: they are as they were. */
function failureOf({ vaults, failed }: RestoreFacts, file: string): VaultError | undefined {
  const [first] = failed;
  if (first === undefined) return undefined;
  const again = [noted(command`vault state restore ${file}`, "restores what is missing")];
  if (vaults.length === 0 && failed.length === 1) return first.error;
  return new VaultError(
    "partial",
    `${count(failed.length, "vault")} could not be restored, the first: vault ${first.uuid}: ${first.error.message}`,
    { next: again },
  );
}

/** Lists the locks on vaults. */
export async function runLocks({ io, state }: App): Promise<void> {
  const locks = await (await state.store()).locks();
  const document: Document<"state locks"> = { locks };
  const { locksTable } = await import("./view.ts");
  await io.output.print(document, (view) => locksTable(document, view));
}
