import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { obstacleAt } from "../../files/durable-file.ts";

/**
 * The program's own files must not be written over by what a flag names.
 * @throws `invalid-input`
 */
export function checkNotOurs(
  app: Pick<App, "configuration" | "host" | "settings" | "stateDirectory">,
  flag: string,
  path: string,
): void {
  const real = (file: string): string => {
    const folder = dirname(resolve(app.host.cwd, file));
    return join(existsSync(folder) ? realpathSync(folder) : folder, basename(file));
  };
  const config = app.configuration.directory;
  const keyFile = app.settings.stateKeyFile ?? app.configuration.keyFile;
  const files = [
    join(config, "config.json"),
    join(config, "config.lock"),
    keyFile,
    `${keyFile}.states`,
  ].map(real);
  const target = real(path);
  if (
    !files.includes(target) &&
    !target.startsWith(real(join(app.stateDirectory(), "x")).slice(0, -1))
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
  app: Pick<App, "configuration" | "host" | "settings" | "stateDirectory">,
  flag: "--credentials" | "--credentials-out" | "--out",
  path: string,
): void {
  checkNotOurs(app, flag, path);
  const folder = dirname(resolve(app.host.cwd, path));
  const refuse = (why: string): VaultError =>
    new VaultError("invalid-input", `${flag}: ${why}; nothing was sent`, {
      hint: `name a file in a folder that you can write to, such as ${flag} ./${flag === "--out" ? "vault" : "pair"}.json`,
    });
  const why = obstacleAt(resolve(app.host.cwd, path));
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
