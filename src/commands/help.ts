import { command } from "../cli/command.ts";
import { topics, type Topic } from "../cli/topics.ts";
import { pathOf, type CliCommand } from "../cli/commander.ts";
import { allSchemas, documentNames, schemaOf, type Document } from "../documents/schemas.ts";
import { errorKinds } from "../error-kinds.ts";
import { VaultError } from "../errors.ts";
import { jsonText } from "../terminal/redactor.ts";

/** @throws `usage` if the words name nothing */
export const help = command({
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
  async run({ io: { output } }, { words }, program) {
    const show = async (document: Document<"help">, text: string): Promise<void> =>
      await output.show(document, () => text);
    const [first = "", ...rest] = words;
    if (first === "json") {
      const document = schema(rest);
      await output.show(document, () => `${jsonText(document, 2)}\n`);
    } else if (rest.length === 0 && isTopic(first)) {
      const { readTopic } = await import("../cli/topics/read.ts");
      const text = readTopic(first);
      if (first === "exit-codes") await show({ exitCodes: exitCodes() }, text);
      else await show({ topic: first, summary: topics[first], text }, text);
    } else {
      const found =
        (program as CliCommand).at(words) ??
        program.error(`there is no command or topic '${words.join(" ")}'`);
      const text = found.helpInformation();
      const name = pathOf(found).slice(1).join(" ");
      await show({ command: name, summary: found.summary(), text }, text);
    }
  },
});

/** @throws `usage` for words that name no document */
function schema(words: readonly string[]): object {
  if (words.length === 0) return allSchemas();
  const name = documentNames.find((each) => each === words.join(" "));
  if (name !== undefined) return schemaOf(name);
  throw new VaultError("usage", `no document is called '${words.join(" ")}'`, {
    hint: `one of: ${documentNames.join(", ")}`,
  });
}

/** Every way in which the program ends, in the order of exit codes. Signals have their own. */
function exitCodes(): Extract<Document<"help">, { exitCodes: unknown }>["exitCodes"] {
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
