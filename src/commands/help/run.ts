import type { Command } from "commander";
import type { WholeProgram } from "../../cli/command.ts";
import { entriesOf } from "../../cli/output.ts";
import { describeCommand } from "../../cli/describe.ts";
import type { Topic } from "../../cli/topics.ts";
import { topics } from "../../cli/topics.ts";
import type { ExitCodesDocument, TopicDocument } from "../../documents/help.ts";
import { suggest } from "../../suggest.ts";
import type { CommandNode } from "../../completion/tree.ts";
import { errorKinds, VaultError } from "../../errors.ts";
import { command } from "../../way.ts";

/**
 * The help of what `words` name, as text, or as a JSON document (`ndjson`: in one line).
 * @throws `usage` where they name nothing
 */
export async function helpText(
  { root, build }: WholeProgram,
  words: readonly string[],
  format: "table" | "json" | "ndjson",
): Promise<string> {
  const print = (value: object): string =>
    format === "ndjson"
      ? entriesOf(value)
          .map((entry) => `${JSON.stringify(entry)}\n`)
          .join("")
      : `${JSON.stringify(value, null, 2)}\n`;
  const document = (value: TopicDocument | ExitCodesDocument | CommandNode): string => print(value);
  const [first, ...rest] = words;
  if (first === "json") return print(await schema(rest));
  if (words.length === 1 && first !== undefined && isTopic(first)) {
    if (first === "exit-codes" && format !== "table") return document({ exitCodes: exitCodes() });
    const { topicScreen } = await import("./topic-screen.ts");
    const text = topicScreen(
      first,
      Math.min(build().configureOutput().getOutHelpWidth?.() ?? 80, 100),
    );
    return format !== "table" ? document({ topic: first, summary: topics[first], text }) : text;
  }
  const command = find(describeCommand(root), words);
  if (format === "table") return printedHelp(build(), words);
  const names = Object.entries(topics).map(([name, summary]) => ({ name, summary }));
  return document({ ...command, ...(first === undefined ? { topics: names } : {}) });
}

/**
 * The JSON Schema of what a command prints, or of everything.
 * @throws `usage` for words that name no document
 */
async function schema(words: readonly string[]): Promise<object> {
  const { allSchemas, documentNames, schemaOf } = await import("../../documents/schemas.ts");
  if (words.length === 0) return allSchemas();
  const name = documentNames.find((each) => each === words.join(" "));
  if (name !== undefined) return schemaOf(name);
  throw new VaultError("usage", `no document is called '${words.join(" ")}'`, {
    hint: `one of: ${documentNames.join(", ")}`,
  });
}

/** Every way in which the program ends, in the order of exit codes. Signals have their own. */
function exitCodes(): ExitCodesDocument["exitCodes"] {
  const kinds = Object.entries(errorKinds).map(([code, { exitCode, meaning, retry }]) => ({
    exit: exitCode,
    code,
    meaning,
    retry,
  }));
  const { meaning, retry } = errorKinds.interrupted;
  const signals = [129, 143].map((exit) => ({ exit, code: "interrupted", meaning, retry }));
  const done = { exit: 0, code: null, meaning: "done; after a get: acknowledged", retry: null };
  return [done, ...kinds, ...signals].toSorted((a, b) => a.exit - b.exit);
}

const isTopic = (word: string): word is Topic => Object.hasOwn(topics, word);

function find(root: CommandNode, words: readonly string[]): CommandNode {
  let command = root;
  for (const [index, word] of words.entries()) {
    const next = command.commands.find(({ name }) => name === word);
    if (next === undefined) throw nothingCalled(command, words.slice(0, index), word);
    command = next;
  }
  return command;
}

function nothingCalled(
  { commands }: CommandNode,
  before: readonly string[],
  word: string,
): VaultError {
  const names = [
    ...commands.map(({ name }) => name),
    ...(before.length === 0 ? Object.keys(topics) : []),
  ];
  const meant = suggest(word, names).map((name) => command`vault help ${[...before, name]}`);
  const what =
    before.length === 0
      ? "there is no command or topic"
      : `vault ${before.join(" ")} has no command`;
  return new VaultError("usage", `${what} '${word}'`, {
    next: [...meant, command`vault --help`],
  });
}

/** What --help prints, with the examples, which commander keeps only as a listener. */
function printedHelp(program: Command, words: readonly string[]): string {
  const command = words.reduce(
    (at, word) => at.commands.find((each) => each.name() === word) ?? at,
    program,
  );
  let text = "";
  command.configureOutput({ ...command.configureOutput(), writeOut: (more) => (text += more) });
  command.outputHelp();
  return text;
}
