import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { VaultError } from "../errors.ts";
import type { Basics } from "../parts/basics.ts";

/** The path without symbolic links, also if its last parts are not there yet. */
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
  const real = (file: string): string =>
    join(realPath(dirname(io.host.resolve(file))), basename(file));
  const { directory, keys } = settings.configuration;
  // That of version 0.2.0 may still be needed.
  const files = ["config.json", "config.lock", "state.key"].map((name) => join(directory, name));
  const target = real(path);
  const folders = [settings.stateDirectory(), keys].map((each) =>
    real(join(each, "x")).slice(0, -1),
  );
  if (!files.map(real).includes(target) && !folders.some((each) => target.startsWith(each))) return;
  throw new VaultError(
    "invalid-input",
    `${flag}: ${path} is one of this program's own files; nothing was written`,
    { hint: "name another file, such as ./pair.json" },
  );
}
