import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Basics } from "../parts/settings.ts";
import { VaultError } from "../errors.ts";
import { obstacleAt } from "../files/durable-file.ts";

/** The path without symbolic links, also where its last parts are not there yet. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(realPath(dirname(path)), basename(path));
  }
}

/**
 * The program's own files must not be written over by what a flag names.
 * @throws `invalid-input`
 */
export function checkNotOurs({ io, settings }: Basics, flag: string, path: string): void {
  const real = (file: string): string => {
    const folder = dirname(io.host.resolve(file));
    return join(existsSync(folder) ? realpathSync(folder) : folder, basename(file));
  };
  const config = settings.configuration.directory;
  const keyFile = settings.stateKeyFile ?? settings.configuration.keyFile;
  const files = [
    join(config, "config.json"),
    join(config, "config.lock"),
    keyFile,
    `${keyFile}.states`,
  ].map(real);
  const target = real(path);
  if (
    !files.includes(target) &&
    !target.startsWith(real(join(settings.stateDirectory(), "x")).slice(0, -1))
  )
    return;
  throw new VaultError(
    "invalid-input",
    `${flag}: ${path} is one of this program's own files; nothing was written`,
    {
      hint: "name another file, such as ./pair.json",
    },
  );
}

/**
 * Checks, before anything is sent, that the file of a flag can be written.
 * @throws `invalid-input`
 */
export function checkWritable(
  { io, settings }: Basics,
  flag: "--credentials-out" | "--out",
  path: string,
): void {
  checkNotOurs({ io, settings }, flag, path);
  const folder = dirname(io.host.resolve(path));
  const refuse = (why: string): VaultError =>
    new VaultError("invalid-input", `${flag}: ${why}; nothing was sent`, {
      hint: `name a file in a folder that you can write to, such as ${flag} ./${flag === "--out" ? "vault" : "pair"}.json`,
    });
  const why = obstacleAt(io.host.resolve(path));
  if (why !== null) throw refuse(`${path} is ${why}`);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refuse(
      code === "ENOENT"
        ? `the folder ${folder} does not exist`
        : `the folder ${folder} cannot be written to (${code})`,
    );
  }
}
