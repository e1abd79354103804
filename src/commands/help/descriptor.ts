import type { Command } from "commander";
import { withValues } from "../../completion/values.ts";
import { examples } from "../../cli/act.ts";
import { topics } from "../../cli/topics.ts";

/** Prints help; needs neither settings nor state, so it is not run by `act`. `whole` is the tree with all commands. */
export function defineHelp(program: Command, whole: () => Command): void {
  const help = program
    .command("help")
    .argument("[words...]", "a command, or a topic")
    .summary("the help of a command or a topic")
    .description(
      `The help of a command, or of a topic: ${Object.keys(topics).join(", ")}. ` +
        "With --json as data; without words this is the whole command tree.",
    )
    .addHelpText("after", examples("vault help get", "vault help exit-codes", "vault help --json"))
    .action(async (words: string[], _options: unknown, command: Command) => {
      const { helpText } = await import("./run.ts");
      const { json, output } = command.optsWithGlobals<{ json?: boolean; output?: string }>();
      const format = json === true || output === "json" ? "json" : output === "ndjson" ? "ndjson" : "table";
      program.configureOutput().writeOut?.(helpText(whole(), words, format));
    });
  const also = Object.entries(topics).map(([value, description]) => ({ value, description }));
  for (const argument of help.registeredArguments) withValues(argument, { from: "commands", also });
}
