// npm run generate: writes the tables of the topics from what the program defines.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { topics } from "../../src/cli/topics.ts";
import { errorKinds } from "../../src/error-kinds.ts";
import { settingDefinitions, type SettingDefinition } from "../../src/settings/definitions.ts";
import { rowsTable } from "../../src/terminal/tables.ts";
import { topicText } from "../support/markdown.ts";

const tables: Readonly<Record<string, () => string>> = { settings, "exit-codes": exitCodes };

/** The text of a topic with its table, the first block that is only shown, made anew from what the program defines. */
export function withTable(topic: string, text: string): string {
  const table = tables[topic]?.();
  return table === undefined ? text : text.replace(/(?:^ {6}.*\n)+/m, () => table);
}

function settings(): string {
  return Object.values<SettingDefinition>(settingDefinitions)
    .map(({ flag, env, key, help }) => {
      const names = [flag, env, key].filter((name) => name !== undefined);
      return `      ${names.join(", ")}\n        ${help}\n`;
    })
    .join("");
}

function exitCodes(): string {
  const kinds = Object.entries(errorKinds).map(([kind, { exitCode, retry, meaning }]) => [
    String(exitCode),
    kind,
    retry,
    meaning,
  ]);
  const done = ["0", "", "", "done; after a get: acknowledged"];
  return rowsTable([["exit", "code", "again?", "meaning"], done, ...kinds], 78, 6);
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, "..", "..", "src", "cli", "topics");
  for (const topic of Object.keys(topics))
    writeFileSync(join(folder, `${topic}.md`), withTable(topic, topicText(topic)));
}
