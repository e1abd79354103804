import { Argument, type Command } from "commander";
import type { Act } from "../cli/act.ts";
import { examples } from "../cli/act.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Prints a script; needs neither settings nor state, so it is not run by `act`. */
export function defineCompletion(program: Command, _act: Act): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .summary("print the completion script of a shell")
    .description(
      "Print the script that completes commands, flags, their values and the known vaults. It asks this program, which looks into " +
        'the state and never calls the service. Load it in the start file of the shell: eval "$(vault completion bash)", in zsh ' +
        'after compinit eval "$(vault completion zsh)", in fish vault completion fish | source.',
    )
    .addHelpText(
      "after",
      examples("vault completion bash > vault.bash", "vault completion zsh > _vault", "vault completion fish > vault.fish"),
    )
    .action(async (shell: Shell, _options: unknown, command: Command) => {
      const { script } = await import("../completion/scripts.ts");
      const { json, output } = command.optsWithGlobals<{ json?: boolean; output?: string }>();
      const text = script(shell);
      const document = json === true || output === "json" || output === "ndjson" ? `${JSON.stringify({ shell, script: text })}\n` : text;
      command.configureOutput().writeOut?.(document);
    });
}
