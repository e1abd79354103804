import { randomBytes } from "node:crypto";
import { constants, existsSync, realpathSync } from "node:fs";
import { access, lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";

/** The program's own files must not be written over by what a flag names. Raises `invalid-input`. */
export function checkNotOurs(deps: Deps, flag: string, path: string): void {
  const real = (file: string): string => {
    const folder = dirname(resolve(deps.host.cwd, file));
    return join(existsSync(folder) ? realpathSync(folder) : folder, basename(file));
  };
  const config = deps.configDirectory();
  const keyFile = deps.settings.stateKeyFile ?? join(config, "state.key");
  const files = [join(config, "config.json"), join(config, "config.lock"), keyFile, `${keyFile}.states`].map(real);
  const target = real(path);
  if (!files.includes(target) && !target.startsWith(real(join(deps.stateDirectory(), "x")).slice(0, -1))) return;
  throw new VaultError("invalid-input", `${flag}: ${path} is a file of this program's own: nothing was written`, {
    hint: "name a file elsewhere, like ./pair.json",
  });
}

/** Checks, before anything is sent, that --credentials-out can be written. Raises `invalid-input`. */
export async function checkCredentialsFile(deps: Deps, path: string): Promise<void> {
  checkNotOurs(deps, "--credentials-out", path);
  const folder = dirname(resolve(deps.host.cwd, path));
  const refuse = (why: string): VaultError =>
    new VaultError("invalid-input", `--credentials-out: ${why}: nothing was sent`, {
      hint: "name a file in a folder that you can write to, like --credentials-out ./pair.json",
    });
  const why = await inTheWay(resolve(deps.host.cwd, path));
  if (why !== null) throw refuse(`${path} is ${why}`);
  await access(folder, constants.W_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => {
    throw refuse(
      error.code === "ENOENT" ? `the folder ${folder} does not exist` : `the folder ${folder} cannot be written to (${error.code})`,
    );
  });
}

/**
 * What stands in the place of a file that is to be replaced; null for a file, and for nothing. A link is not followed, since
 * another may have put it there, nor replaced: its owner wants what it leads to. Least of all a device: /dev/stdout is a link.
 */
export async function inTheWay(path: string): Promise<"not a file" | "a symbolic link" | null> {
  const found = await lstat(path).catch(() => null);
  if (found === null || found.isFile()) return null;
  return found.isSymbolicLink() ? "a symbolic link" : "not a file";
}

/** Whether `replaceFile` gives such a name to what it writes before it takes the place of `file`. */
export function isTemporary(name: string, file: string): boolean {
  const [start, end] = [`.${basename(file)}.`, ".vault-new"];
  return name.startsWith(start) && name.endsWith(end) && /^[0-9a-f]{16}$/.test(name.slice(start.length, -end.length));
}

/**
 * Replaces a file as a whole, mode 0600, durable when it resolves: written beside it, synced, renamed, the folder
 * synced. At every instant the path holds the former content or the new one. Rejects with Node's error, or with what is
 * `inTheWay` as its code.
 */
export async function replaceFile(path: string, content: string | Uint8Array | Iterable<string>): Promise<void> {
  const folder = dirname(resolve(path));
  const why = await inTheWay(path);
  if (why !== null) throw Object.assign(new Error(`it is ${why}`), { code: why });
  const beside = join(folder, `.${basename(path)}.${randomBytes(8).toString("hex")}.vault-new`);
  try {
    const file = await open(beside, "wx", 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  const directory = await open(folder, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
