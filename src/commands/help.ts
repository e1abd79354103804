import type { OptionsOf, Command, Descriptor } from "../cli/command.ts";
import { topics } from "../cli/topics.ts";

const descriptor = {
  name: "help",
  summary: "show help for a command or a topic",
  description:
    `Show help for a command, or for a topic: ${Object.keys(topics).join(", ")}. ` +
    "vault help json [COMMAND] prints the JSON Schema of what commands print.",
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
  examples: ["vault help get", "vault help exit-codes", "vault help json get"],
} as const satisfies Descriptor;

/** Prints help; needs neither settings nor state. */
export const help: Command = {
  ...descriptor,
  isShown: true,
  print: async ({ words }: OptionsOf<typeof descriptor>, format, program) =>
    await (await import("./help/text.ts")).helpText(program(), words, format),
};
