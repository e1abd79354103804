import { command } from "../cli/command.ts";
import { script } from "../completion/scripts.ts";

export const completion = command({
  description:
    "Print the script that completes commands, flags, their values and the known vaults. It runs this program, which reads the " +
    'state and never calls the service. Load it in the startup file of your shell: eval "$(vault completion bash)"; in zsh, ' +
    'after compinit, eval "$(vault completion zsh)"; in fish, vault completion fish | source.',
  arguments: { shell: { term: "<shell>", help: "the shell", choices: ["bash", "zsh", "fish"] } },
  examples: [
    "vault completion bash > vault.bash",
    "vault completion zsh > _vault",
    "vault completion fish > vault.fish",
  ],
  mode: "unneeded",
  async run({ io }, { shell }) {
    const text = script(shell);
    await io.output.print({ shell, script: text }, () => text);
  },
});
