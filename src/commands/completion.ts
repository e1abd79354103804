import type { Command } from "../cli/command.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** Prints a script; needs neither settings nor state. */
export const completion: Command = {
  name: "completion",
  summary: "print the completion script for a shell",
  description:
    "Print the script that completes commands, flags, their values and the known vaults. It runs this program, which reads the " +
    'state and never calls the service. Load it in the startup file of your shell: eval "$(vault completion bash)"; in zsh, ' +
    'after compinit, eval "$(vault completion zsh)"; in fish, vault completion fish | source.',
  arguments: { shell: { term: "<shell>", help: "the shell", choices: shells } },
  examples: [
    "vault completion bash > vault.bash",
    "vault completion zsh > _vault",
    "vault completion fish > vault.fish",
  ],
  print: async ({ shell }: { shell: (typeof shells)[number] }, format) => {
    const text = (await import("../completion/scripts.ts")).script(shell);
    return format === "table" ? text : `${JSON.stringify({ shell, script: text })}\n`;
  },
};
