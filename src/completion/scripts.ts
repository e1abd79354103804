import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Files in completions/ that hold the scripts. They ask the program by `completeCommand`. */
export const scriptFiles = { bash: "vault.bash", zsh: "_vault", fish: "vault.fish" } as const;

/** Returns what `vault completion SHELL` prints. In a build, a module that holds all scripts takes the place of this one (packaging/bundle.ts). */
export const script = (shell: keyof typeof scriptFiles): string =>
  readFileSync(join(import.meta.dirname, "..", "..", "completions", scriptFiles[shell]), "utf8");
