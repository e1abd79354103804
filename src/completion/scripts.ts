import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { zshScript } from "./zsh.ts";

/** The names that npm installs the program by (`bin` of package.json); the first one is also that of other programs. */
export const programNames = ["vault", "vaultsvc"] as const;

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** What `vault completion SHELL` prints, and the file of completions/ that holds the same. */
export const script = (shell: keyof typeof scripts): string => scripts[shell](programNames);
export const scriptFiles = { bash: "vault.bash", zsh: "_vault", fish: "vault.fish" } as const satisfies Record<
  keyof typeof scripts,
  string
>;
