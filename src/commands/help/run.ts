import type { Command } from "commander";
import { commandAt, locate } from "../../completion/locate.ts";
import { suggest } from "../../completion/suggest.ts";
import { describeCommand, printedHelp } from "../../completion/tree.ts";
import { VaultError } from "../../errors.ts";
import type { Topic } from "../../cli/topics.ts";
import { topics } from "../../cli/topics.ts";
import { topicText } from "./topics.ts";

/**
 * The help of what `words` name, as text, or as a JSON document (`ndjson`: in one line).
 * @throws `usage` where they name nothing
 */
export function helpText(program: Command, words: readonly string[], format: "table" | "json" | "ndjson"): string {
  const document = (value: unknown): string => `${JSON.stringify(value, null, format === "json" ? 2 : 0)}\n`;
  const [first] = words;
  if (words.length === 1 && first !== undefined && isTopic(first)) {
    const text = topicText(first, program);
    return format !== "table" ? document({ topic: first, summary: topics[first], text }) : text;
  }
  const command = find(program, words);
  if (format === "table") return printedHelp(command);
  const names = Object.entries(topics).map(([name, summary]) => ({ name, summary }));
  return document({ ...describeCommand(command, { examples: true }), ...(command === program ? { topics: names } : {}) });
}

const isTopic = (word: string): word is Topic => Object.hasOwn(topics, word);

function find(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const [index, word] of words.entries()) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) throw nothingCalled(program, words.slice(0, index), word);
    command = next;
  }
  return command;
}

function nothingCalled(program: Command, before: readonly string[], word: string): VaultError {
  const { commands } = commandAt(locate(describeCommand(program), before));
  const names = [...commands.map(({ name }) => name), ...(before.length === 0 ? Object.keys(topics) : [])];
  const near = suggest(word, names).map((name) => ["vault help", ...before, name].join(" "));
  const ways = [...(near.length > 0 ? [`did you mean ${near.join(" or ")}?`] : []), "vault --help lists commands and topics"];
  const what = before.length === 0 ? "there is no command or topic" : `vault ${before.join(" ")} has no command`;
  return new VaultError("usage", `${what} '${word}'`, { hint: ways.join("; ") });
}
