import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded } from "../cli/command.ts";
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
  mode: "unneeded",
} as const satisfies Descriptor;

export type HelpOptions = OptionsOf<typeof descriptor>;

export const help = loaded(descriptor, async () => (await import("./help/run.ts")).runHelp);
