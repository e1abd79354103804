import { hash } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Basics } from "../parts/basics.ts";
import type { Host } from "../host.ts";
import { VaultError } from "../errors.ts";
import type { RecoveryDocument } from "../exchange/credentials.ts";
import { HandoverFailure } from "../exchange/recovery.ts";
import type { GetDocument } from "../documents/exchange.ts";
import type { VaultsOptions } from "../input/flags.ts";
import { learnAll } from "../input/read-start.ts";
import { environmentWithoutSecrets, runShellCommand } from "../settings/child-command.ts";
import { obstacleAt, removeLeftovers, replaceFile } from "../files/durable-file.ts";
import { createFolder } from "../files/private-directory.ts";
import { isObject, parseJson } from "../protocol/json.ts";
import { checkNotOurs } from "../cli/own-files.ts";
import { jsonText } from "../terminal/redactor.ts";
import type { Program } from "./program.ts";

/**
 * Writes the contents of a vault to --out or --out-dir, and gives them to --exec or a program: without the credentials, which this
 * program keeps, unless --with-credentials says otherwise.
 * @throws HandoverFailure, and what `writeOut` throws
 */
export async function passContents(
  basics: Basics,
  { options, run }: { options: VaultsOptions & { program?: Program }; run: string },
  document: GetDocument,
): Promise<void> {
  const { out, exec, program, withCredentials } = options;
  const { host } = basics.io;
  const { uuid, label } = document;
  const { credentials: _, ...vault } = document.vault;
  const passed = withCredentials === true ? document : { ...document, vault };
  // With --out-dir that would read the folder once for each vault.
  if (out !== undefined) removeLeftovers(host.resolve(out));
  const path = outFileOf(options, uuid);
  if (path !== undefined) writeOut(host, path, passed);
  if (exec !== undefined)
    await passTo(basics, "exec", exec, passed, {
      VAULTSVC_VAULT_UUID: uuid,
      VAULTSVC_VAULT_LABEL: label ?? "",
      VAULTSVC_DELIVERY_ID: `${run}-${uuid}`,
    });
  await program?.run(passed);
}

/**
 * Runs a command of the user with a document on its standard input; what it prints, on either stream, goes to stderr by whole lines.
 * Returns the text of the document.
 * @throws HandoverFailure, unless the command has read all of it and exited with 0
 */
async function passTo(
  { io: { host, redactor }, settings: { timeout: timeoutMs } }: Basics,
  reason: "exec" | "save-cmd",
  command: string,
  document: unknown,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const input = `${JSON.stringify(document)}\n`;
  const failure = await runShellCommand(host, {
    command,
    env: { ...environmentWithoutSecrets(host.env, redactor), ...variables },
    cwd: host.cwd,
    input,
    timeoutMs,
    // Only a second signal ends the deliveries of a run.
    signal: reason === "exec" ? host.killed : host.interrupted,
    onLines: (lines) => void host.stderr.write(lines, [], false),
  });
  if (failure === undefined) return input;
  throw new HandoverFailure(reason, `--${reason} ${failure}`);
}

/**
 * Gives the recovery document to --save-cmd, to replace the one with the hash `given`. Returns the hash of what it gave.
 * @throws HandoverFailure
 */
export async function saveRecovery(
  basics: Basics,
  command: string,
  document: RecoveryDocument,
  given: string | null,
): Promise<string> {
  learnAll(basics.io.redactor.add, { type: "recovery", document });
  const text = await passTo(basics, "save-cmd", command, document, {
    VAULTSVC_EXCHANGE_ID: document.exchange.id,
    // Of the document that is to be replaced: a database replaces its row only if the row still has it. Empty if there is none.
    VAULTSVC_GIVEN_SHA256: given ?? "",
  });
  return hash("sha256", text);
}

type OutOptions = Partial<Pick<VaultsOptions, "credentialsOut" | "out" | "outDir">>;

/** The file that receives the contents of a vault, in place of stdout: that of --out, or one in the folder of --out-dir. */
export const outFileOf = ({ out, outDir }: OutOptions, uuid: string): string | undefined =>
  outDir === undefined ? out : join(outDir, `${uuid}.json`);

/**
 * Checks, before anything is sent, that the place of --out or --out-dir can be written to; makes the folder (0700) if it is missing.
 * @throws `invalid-input`, and `usage` if --credentials-out names the same file
 */
export function prepareOut(basics: Basics, { out, outDir, credentialsOut }: OutOptions): void {
  const { host } = basics.io;
  if (outDir !== undefined) checkWritable(basics, "--out-dir", join(outDir, "UUID.json"), true);
  if (out === undefined) return;
  if (credentialsOut !== undefined && host.resolve(credentialsOut) === host.resolve(out))
    throw new VaultError(
      "usage",
      "--out and --credentials-out name the same file; nothing was sent",
      { hint: "--out vault.json --credentials-out pair.json" },
    );
  checkWritable(basics, "--out", out);
}

/**
 * Checks, before the start of a vault, that its file can be written.
 * @throws `invalid-input`
 */
export function checkOut(host: Host, options: OutOptions, uuid: string): void {
  const path = outFileOf(options, uuid);
  const why = path === undefined ? null : reasonAgainst(host.resolve(path), uuid);
  if (why === null) return;
  const flag = options.out === undefined ? "--out-dir" : "--out";
  const message = `${flag}: ${path} ${why}, and is not replaced; nothing was sent`;
  throw new VaultError("invalid-input", message, {
    uuid,
    hint: "name another place, or move this file away",
  });
}

/**
 * Writes the contents of a vault into its file: whole and durable when it returns.
 * @throws an error that names the file if that holds something else by now; Node's error
 */
export function writeOut(host: Host, path: string, document: GetDocument): void {
  const file = host.resolve(path);
  const why = reasonAgainst(file, document.uuid);
  if (why !== null) throw new Error(`${path} ${why}`);
  replaceFile(file, `${jsonText(document, 2)}\n`);
}

/** Returns the path of a vault's file, if it is missing or empty; else null. */
export function missingOut(host: Host, options: OutOptions, uuid: string): string | null {
  const path = outFileOf(options, uuid);
  if (path === undefined) return null;
  const { size = 0 } = statSync(host.resolve(path), { throwIfNoEntry: false }) ?? {};
  return size > 0 ? null : path;
}

/** Why a file is not to be replaced; null if it is new or empty, or holds earlier contents of the same vault. */
function reasonAgainst(file: string, vault: string): string | null {
  const obstacle = obstacleAt(file);
  if (obstacle !== null) return `is ${obstacle}`;
  try {
    const text = readFileSync(file, "utf8");
    if (text.trim() === "") return null;
    const held = parseJson(text);
    const isOurs =
      isObject(held) &&
      isObject(held["vault"]) &&
      isObject(held["exchange"]) &&
      String(held["uuid"]).toLowerCase() === vault.toLowerCase();
    return isOurs ? null : other;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    return code === undefined ? other : `cannot be read (${code})`;
  }
}

const other = "holds something else than contents of this vault";

/**
 * Checks, before anything is sent, that the file of a flag can be written; its folder is made first if it `mayMiss`.
 * @throws `invalid-input`
 */
export function checkWritable(basics: Basics, flag: string, path: string, mayMiss = false): void {
  checkNotOurs(basics, flag, path);
  const file = basics.io.host.resolve(path);
  const obstacle = path === "-" ? "no file, and not standard output here" : obstacleAt(file);
  const why = obstacle === null ? obstacleIn(dirname(file), mayMiss) : `${path} is ${obstacle}`;
  if (why === null) return;
  throw new VaultError("invalid-input", `${flag}: ${why}; nothing was sent`, {
    hint: "name a place that you can write to",
  });
}

/** Why no file can be made in a folder; null if one can. */
function obstacleIn(folder: string, mayMiss: boolean): string | null {
  try {
    if (mayMiss && !existsSync(folder)) createFolder(folder);
    // Read, too: its names are synced.
    accessSync(join(folder, "/"), constants.R_OK | constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const why = { ENOENT: "does not exist", ENOTDIR: "is not one" }[code];
    return `the folder ${folder} ${why ?? `cannot be written to (${code})`}`;
  }
}
