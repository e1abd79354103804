import type { Command } from "../../cli/command.ts";
import { topics } from "../../cli/topics.ts";

/** Prints help; needs neither settings nor state. */
export const help: Command = {
  name: "help",
  summary: "the help of a command or a topic",
  description:
    `The help of a command, or of a topic: ${Object.keys(topics).join(", ")}. ` +
    "With --json as data; without words this is the whole command tree.",
  arguments: {
    words: {
      term: "[words...]",
      help: "a command, or a topic",
      values: { from: "commands", also: Object.entries(topics).map(([value, description]) => ({ value, description })) },
    },
  },
  examples: ["vault help get", "vault help exit-codes", "vault help --json"],
  print: async ({ args: [words = []] }, format, program) => (await import("./run.ts")).helpText(program, [words].flat(), format),
};
