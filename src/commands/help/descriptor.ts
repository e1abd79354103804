import type { Command } from "../../cli/command.ts";
import { topics } from "../../cli/topics.ts";

/** Prints help; needs neither settings nor state. */
export const help: Command = {
  name: "help",
  summary: "show help for a command or a topic",
  description:
    `Show help for a command, or for a topic: ${Object.keys(topics).join(", ")}. ` +
    "With --json, as data; without arguments, the whole command tree. vault help json [COMMAND] prints the JSON Schema of what " +
    "commands print.",
  arguments: {
    words: {
      term: "[words...]",
      help: "command or topic",
      values: {
        from: "commands",
        also: [
          { value: "json", description: "JSON Schema of what commands print" },
          ...Object.entries(topics).map(([value, description]) => ({ value, description })),
        ],
      },
    },
  },
  examples: ["vault help get", "vault help exit-codes", "vault help --json", "vault help json get"],
  isShown: true,
  print: async ({ args: [words = []] }, format, program) =>
    (await import("./run.ts")).helpText(program, [words].flat(), format),
};
