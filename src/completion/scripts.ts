import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { zshScript } from "./zsh.ts";

/** The names under which npm installs the program (`bin` in package.json). Other programs are called `vault`, too. */
export const programNames = ["vault", "vaultsvc"] as const;

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Returns what `vault completion SHELL` prints. */
export const script = (shell: keyof typeof scripts): string => scripts[shell](programNames);
/** Files in completions/ that hold the scripts. */
export const scriptFiles = {
  bash: "vault.bash",
  zsh: "_vault",
  fish: "vault.fish",
} as const satisfies Record<keyof typeof scripts, string>;
