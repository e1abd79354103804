import * as z from "zod/mini";
import { resolve } from "node:path";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import type { RawInput } from "../../cli/act.ts";
import { checkNotOurs } from "../exchange/credentials-file.ts";
import { confirmOrFail } from "../../cli/confirm.ts";
import { checkField, serialiseDone } from "../../cli/document.ts";
import { flag, parseInput, text } from "../../cli/options.ts";

const schema = z.object({ file: text, force: flag, restore: flag, serviceRestored: flag, yes: flag });
export type BackupOptions = z.infer<typeof schema>;

/** Raises `invalid-input` and, for flags that contradict each other, `usage`. */
export function parseBackup(input: RawInput): BackupOptions {
  const options = parseInput(schema, input, ["file"]);
  const misplaced = options.restore === true ? ["force"] : ["serviceRestored", "yes"];
  const name = misplaced.find((each) => options[each as keyof BackupOptions] === true);
  if (name === undefined) return options;
  const shown = name === "serviceRestored" ? "--service-restored" : `--${name}`;
  throw new VaultError("usage", `${shown} has no meaning with${options.restore === true ? "" : "out"} --restore`, {
    hint: `leave ${shown} out; nothing was changed`,
  });
}

/** Makes a backup of the whole state, or puts one in its place. */
export async function runBackup(deps: Deps, input: RawInput): Promise<number> {
  const options = parseBackup(input);
  const file = resolve(deps.host.cwd, options.file);
  return options.restore === true ? await restore(deps, options, file) : await backup(deps, options, file);
}

async function backup(deps: Deps, options: BackupOptions, file: string): Promise<number> {
  checkField(deps.output.field, ["backup"]);
  if (options.force === true) checkNotOurs(deps, "FILE", file);
  const state = await deps.wholeState();
  const facts = await state.backup(file, options.force === true);
  const document = { backup: { ...facts, key: { inBackup: false, ...state.key } } };
  const { backupTable } = await import("./view.ts");
  const view = { facts: deps.host.stdout, now: deps.host.now(), reveal: false };
  await deps.host.stdout.write(serialiseDone(document, deps) ?? (await backupTable(facts, state.key, view)));
  return 0;
}

async function restore(deps: Deps, options: BackupOptions, file: string): Promise<number> {
  checkField(deps.output.field, ["restored"]);
  const state = await deps.wholeState();
  const { backup, replaces } = await state.examine(file);
  if (replaces) {
    const what = `${count(backup.vaults, "vault")}, ${backup.pending} pending`;
    await confirmOrFail(
      deps,
      options.yes === true,
      `Replace the state in ${deps.stateDirectory()} by this backup (${what})? The present one is kept beside it.`,
    );
  }
  const waiting = { deadline: deps.deadline, signal: deps.host.interrupted };
  const facts = await state.restore(file, options.serviceRestored === true, waiting);
  const { outdated, leftBehind, inDoubt, replaced } = facts;
  const kept = replaced === null ? "" : `; the replaced state still has them: vault status --state ${replaced}`;
  if (outdated > 0)
    deps.narrator.warn(`of ${count(outdated, "vault")} the backup has superseded pairs only: nothing is sent for them${kept}`);
  if (leftBehind > 0)
    deps.narrator.warn(`${count(leftBehind, "vault")} of the replaced state ${leftBehind === 1 ? "is" : "are"} not in the backup${kept}`);
  if (inDoubt > 0)
    deps.narrator.warn(`${count(inDoubt, "exchange")} may have been acknowledged since the backup was made: in doubt, until the next get`);
  const { restoredTable } = await import("./view.ts");
  const view = { facts: deps.host.stdout, now: deps.host.now(), reveal: false };
  const text = serialiseDone({ restored: { file, directory: deps.stateDirectory(), ...facts } }, deps);
  await deps.host.stdout.write(text ?? (await restoredTable({ file, directory: deps.stateDirectory(), ...facts }, view)));
  return 0;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
