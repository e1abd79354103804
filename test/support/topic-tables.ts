import type { CommandNode } from "../../src/completion/tree.ts";
import { errorKinds } from "../../src/errors.ts";
import type { SettingDefinition } from "../../src/settings/definitions.ts";
import { settingDefinitions } from "../../src/settings/definitions.ts";

/** The text of a topic with the tables between its marks made anew from what the program defines. */
export function withTables(markdown: string, program: CommandNode): string {
  const tables: Record<string, () => string> = {
    settings,
    "exit codes": exitCodes,
    flags: () => flags(program),
  };
  return markdown.replaceAll(
    /(<!-- (.+): written by npm run generate -->\n).*?(?=<!-- end -->)/gs,
    (_, mark: string, name: string) => {
      const table = tables[name];
      if (table === undefined) throw new Error(`there is no table "${name}"`);
      return `${mark}\n${table()}\n`;
    },
  );
}

function settings(): string {
  const rows = Object.values<SettingDefinition>(settingDefinitions).map(
    ({ flag, env, key, help }) => [code(flag), code(env), code(key), help],
  );
  return table(["flag", "environment", "config key", "meaning (default)"], rows);
}

function exitCodes(): string {
  const kinds = Object.entries(errorKinds).map(([kind, { exitCode, retry, meaning }]) => [
    String(exitCode),
    code(kind),
    retry,
    meaning,
  ]);
  return table(
    ["exit", "code", "again?", "meaning"],
    [["0", "", "", "done; after a `get`: acknowledged"], ...kinds],
  );
}

/** The flags of every command that are no settings with a table of their own. */
function flags(program: CommandNode): string {
  const { output: _output, debug: _debug, ...elsewhere } = settingDefinitions;
  const others = Object.values<SettingDefinition>(elsewhere).map(({ flag }) => flag);
  const shown = program.options.filter(({ flags }) => !others.includes(flags));
  return table(
    ["flag", "meaning"],
    shown.map(({ flags, description }) => [code(flags), description]),
  );
}

const code = (text: string | undefined): string => (text === undefined ? "" : `\`${text}\``);

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
  return line(heading) + `|${"---|".repeat(heading.length)}\n` + rows.map(line).join("");
}
