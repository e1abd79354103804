import { resolve } from "node:path";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { BackupDocument } from "../documents/state.ts";
import type { BackupOptions } from "./descriptor.ts";
import { checkNotOurs } from "../exchange/credentials-file.ts";
import { confirmOrFail } from "../../cli/prompts.ts";
import { count } from "../../terminal/count.ts";

type Needs = Pick<App, "ask" | "configuration" | "host" | "narrator" | "output" | "settings" | "state" | "stateDirectory" | "waiting">;

/** @throws `usage` for flags that contradict each other */
export function checkBackup(options: BackupOptions): void {
  const misplaced = options.restore === true ? ["force"] : ["serviceRestored", "yes"];
  const name = misplaced.find((each) => options[each as keyof BackupOptions] === true);
  if (name === undefined) return;
  const shown = name === "serviceRestored" ? "--service-restored" : `--${name}`;
  throw new VaultError("usage", `${shown} cannot be used with${options.restore === true ? "" : "out"} --restore`, {
    hint: `leave ${shown} out`,
  });
}

/** Makes a backup of the whole state, or puts one in its place. */
export async function runBackup(app: Needs, options: BackupOptions): Promise<number> {
  checkBackup(options);
  const file = resolve(app.host.cwd, options.file);
  return options.restore === true ? await restore(app, options, file) : await backup(app, options, file);
}

async function backup(app: Needs, options: BackupOptions, file: string): Promise<number> {
  if (options.force === true) checkNotOurs(app, "FILE", file);
  const state = await (await app.state()).whole();
  const facts = await state.backup(file, options.force === true);
  const document: BackupDocument = { backup: { ...facts, key: { inBackup: false, ...state.key } } };
  const { backupTable } = await import("./view.ts");
  await app.output.printDone(document, async (view) => await backupTable(facts, state.key, view));
  return 0;
}

async function restore(app: Needs, options: BackupOptions, file: string): Promise<number> {
  const state = await (await app.state()).whole();
  const { backup, replaces } = await state.examine(file);
  if (replaces) {
    const what = `${count(backup.vaults, "vault")}, ${backup.pending} pending`;
    await confirmOrFail(
      app.ask,
      options.yes === true,
      `Replace the state in ${app.stateDirectory()} with this backup (${what})? The replaced state is kept beside it.`,
    );
  }
  const facts = await state.restore(file, options.serviceRestored === true, app.waiting);
  const { outdated, leftBehind, inDoubt, replaced } = facts;
  const kept = replaced === null ? "" : `; the replaced state has them: vault status --state ${replaced}`;
  if (outdated > 0)
    app.narrator.warn(
      `the backup has only superseded credentials of ${count(outdated, "vault")}, which are never sent; the newer ones are not in it${kept}`,
    );
  if (leftBehind > 0)
    app.narrator.warn(`${count(leftBehind, "vault")} of the replaced state ${leftBehind === 1 ? "is" : "are"} not in the backup${kept}`);
  if (inDoubt > 0)
    app.narrator.warn(`${count(inDoubt, "exchange")} may have been acknowledged since the backup was made; in doubt until the next get`);
  const { restoredTable } = await import("./view.ts");
  const restored = { file, directory: app.stateDirectory(), ...facts };
  const document: BackupDocument = { restored };
  await app.output.printDone(document, async (view) => await restoredTable(restored, view));
  return 0;
}
