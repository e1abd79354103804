import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Option } from "commander";
import type { CliCommand } from "../../src/cli/commander.ts";
import { pathOf } from "../../src/cli/usage-error.ts";
import { errorKinds } from "../../src/errors.ts";
import type { SettingDefinition } from "../../src/settings/definitions.ts";
import { settingDefinitions } from "../../src/settings/definitions.ts";
import type { Block, Span } from "../../src/cli/markdown.ts";
import { codeLines, parseMarkdown } from "../../src/cli/markdown.ts";
import { topics } from "../../src/cli/topics.ts";
import { originsIn } from "../../src/cli/examples.ts";
import { topicText } from "../support/markdown.ts";
import { below, program } from "../support/program.ts";

// npm run generate: writes what is generated from the command tree and the definitions: the tables of the topics, and the list of
// man pages in package.json, where npm takes no folder. npm run man: writes the man pages of the package, man/.
import packageJson from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..", "..");

function generate(): void {
  const topics = join(root, "src", "cli", "topics");
  for (const name of readdirSync(topics).filter((name) => name.endsWith(".md"))) {
    const file = join(topics, name);
    writeFileSync(file, withTables(readFileSync(file, "utf8")));
  }
  const manifest = join(root, "package.json");
  const man = Object.keys(manPages("", "")).map((name) => `man/${name}`);
  writeFileSync(
    manifest,
    `${JSON.stringify({ ...(JSON.parse(readFileSync(manifest, "utf8")) as object), man }, null, 2)}\n`,
  );
}

function writeMan(): void {
  const folder = join(root, "man");
  const built = new Date(Number(process.env["SOURCE_DATE_EPOCH"] ?? Date.now() / 1000) * 1000);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, text] of Object.entries(
    manPages(packageJson.version, built.toISOString().slice(0, 10)),
  )) {
    writeFileSync(join(folder, name), text);
  }
}

/** The text of a topic with the tables between its marks made anew from what the program defines. */
export function withTables(markdown: string): string {
  const tables: Record<string, () => string> = {
    settings,
    "exit codes": exitCodes,
    flags,
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
    ({ flag, env, key, help }) => [asCode(flag), asCode(env), asCode(key), help],
  );
  return markdownTable(["flag", "environment", "config key", "meaning (default)"], rows);
}

function exitCodes(): string {
  const kinds = Object.entries(errorKinds).map(([kind, { exitCode, retry, meaning }]) => [
    String(exitCode),
    asCode(kind),
    retry,
    meaning,
  ]);
  return markdownTable(
    ["exit", "code", "again?", "meaning"],
    [["0", "", "", "done; after a `get`: acknowledged"], ...kinds],
  );
}

/** The flags of every command that are no settings with a table of their own. */
function flags(): string {
  const { output: _output, debug: _debug, ...elsewhere } = settingDefinitions;
  const others = Object.values<SettingDefinition>(elsewhere).map(({ flag }) => flag);
  const shown = program.options.filter(({ flags }) => !others.includes(flags));
  return markdownTable(
    ["flag", "meaning"],
    shown.map(({ flags, description }) => [asCode(flags), description]),
  );
}

const asCode = (text: string | undefined): string => (text === undefined ? "" : `\`${text}\``);

function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
  return line(heading) + `|${"---|".repeat(heading.length)}\n` + rows.map(line).join("");
}

/** Lines of a man page's source for a Block: the macros of man(7), and tbl(1) for a table of three columns. */
export function roffOf(block: Block): string[] {
  if (block.type === "heading") return section(block.spans.map(({ text }) => text).join(""));
  if (block.type === "paragraph") return [".PP", ...filled(block.spans)];
  if (block.type === "list")
    return block.items.flatMap((item) => ['.IP "\\(bu" 3', ...filled(item)]);
  if (block.type === "code") return code(codeLines(block));
  if (block.heading.length === 3) return table(block.heading, block.rows);
  return block.rows.flatMap((row) => {
    const terms = row.slice(0, -1).filter((cell) => cell.length > 0);
    const separated = terms.flatMap((cell, index): Span[] =>
      index === 0 ? cell : [plain(", "), ...cell],
    );
    return tagged(separated, row.at(-1) ?? []);
  });
}

const plain = (text: string): Span => ({ text, style: "plain" });
const bold = (text: string): Span => ({ text, style: "code" });

const section = (title: string): string[] => [`.SH ${escape(title.toUpperCase())}`];

/** A term with its text below. */
const tagged = (term: readonly Span[], text: readonly Span[]): string[] => [
  ".TP",
  inline(term),
  ...filled(text),
];

const code = (lines: readonly string[]): string[] => [
  ".PP",
  ".RS 4",
  ".EX",
  ...lines.map((line) => (line === "" ? "\\&" : guarded(escape(line).replaceAll("-", "\\-")))),
  ".EE",
  ".RE",
];

/** Text in lines as short as mandoc wants them. */
function filled(spans: readonly Span[]): string[] {
  const lines = inline(spans)
    .replaceAll(/(.{1,75})(?: +|$)/g, "$1\n")
    .trimEnd()
    .split("\n");
  return lines.map(guarded);
}

function table(heading: readonly Span[][], rows: readonly Span[][][]): string[] {
  const cell = (spans: readonly Span[]): string[] =>
    spans.length === 0 ? ["\\&"] : ["T{", ...filled(spans), "T}"];
  const line = (row: readonly Span[][]): string[] =>
    row.reduce<string[]>((lines, each, index) => {
      const [first = "", ...rest] = cell(each);
      return index === 0
        ? [first, ...rest]
        : [...lines.slice(0, -1), `${lines.at(-1)}\t${first}`, ...rest];
    }, []);
  const head = heading.map((spans) => spans.map(({ text }) => bold(text)));
  return [".TS", "l lx lx.", ...line(head), ...rows.flatMap(line), ".TE"];
}

/** One line, with bold for what is typed. Hyphens there are those that can be pasted. */
function inline(spans: readonly Span[]): string {
  const parts = spans.map(({ text, style }) =>
    style === "plain" ? escape(text) : `\\fB${escape(text).replaceAll("-", "\\-")}\\fR`,
  );
  return parts.join("");
}

const escape = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll(
      /[^\n -~]/gu,
      (character) =>
        `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );

/** A line that begins with a dot or an apostrophe would be a request. */
const guarded = (line: string): string => (/^[.']/.test(line) ? `\\&${line}` : line);

/** The source of each man page by its file name: vault.1, one for each command, and NAME.7 for each topic. */
export function manPages(version: string, date: string): Record<string, string> {
  const page = (
    name: string,
    number: 1 | 7,
    summary: string,
    body: readonly string[],
  ): [string, string] => {
    const lines = [
      // man(1) runs tbl for a page that asks for it so.
      "'\\\" t",
      `.TH ${name.toUpperCase()} ${number} ${date} "vault ${version}" "vault manual"`,
      // Neither hyphens nor gaps in what is to be typed.
      ".nh",
      ".ad l",
      ...section("Name"),
      ...filled([plain(`${name} - ${summary}`)]).map((line) =>
        line.replace(`${name} - `, `${name} \\- `),
      ),
      ...body,
    ];
    // A heading begins a paragraph by itself.
    const kept = lines.filter(
      (line, index) => line !== ".PP" || lines[index - 1]?.startsWith(".SH") !== true,
    );
    return [`${name}.${number}`, `${kept.join("\n")}\n`];
  };
  return Object.fromEntries([
    ...[program, ...below(program)].map((command) =>
      page(
        pathOf(command).join("-"),
        1,
        command === program ? "read and update remote vaults" : command.summary(),
        commandBody(command),
      ),
    ),
    ...Object.entries(topics).map(([topic, summary]) =>
      page(`vault-${topic}`, 7, summary, topicBody(topic)),
    ),
  ]);
}

function commandBody(command: CliCommand): string[] {
  const path = pathOf(command);
  const help = command.createHelp();
  const { commands, descriptor } = command;
  const terms = [
    ...command.registeredArguments.map((term) => [term.name(), help.argumentDescription(term)]),
    ...[...command.options, helpOption].map((option) => [
      option.flags,
      help.optionDescription(option),
    ]),
  ];
  return [
    ...section("Synopsis"),
    ...filled([bold(`${path.join(" ")} ${command.usage()}`)]),
    ...section("Description"),
    ...command
      .description()
      .split("\n\n")
      .flatMap((text) => [".PP", ...filled([plain(text)])]),
    ...(commands.length === 0 ? [] : section("Commands")),
    ...commands.flatMap((each) =>
      tagged([bold([...path, each.name()].join("-")), plain("(1)")], [plain(each.summary())]),
    ),
    ...section("Options"),
    ...terms.flatMap(([flags = "", description = ""]) =>
      tagged([bold(flags)], [plain(description)]),
    ),
    ...(command === program ? [...section("Topics"), ...topicList()] : []),
    ...section("Examples"),
    ...code([...descriptor.examples, ...originsIn(descriptor.examples)]),
    ...section("See also"),
    ...filled(
      command === program
        ? references(["vault-tour(7)"])
        : references([
            "vault(1)",
            "vault-environment(7)",
            "vault-output(7)",
            "vault-exit-codes(7)",
          ]),
    ),
  ];
}

const helpOption = new Option("-h, --help", "show this help");

const topicList = (): string[] =>
  Object.entries(topics).flatMap(([topic, summary]) =>
    tagged([bold(`vault-${topic}`), plain("(7)")], [plain(summary)]),
  );

function references(pages: readonly string[]) {
  return pages.flatMap((page, index) => {
    const [, name = "", number = ""] = /^(.+)(\(\d\))$/.exec(page) ?? [];
    return [plain(index === 0 ? "" : ", "), bold(name), plain(number)];
  });
}

/** Without the title and the line about it, which the page has by its name. */
function topicBody(topic: string): string[] {
  const [_title, _summary, ...blocks] = parseMarkdown(topicText(topic));
  return [
    ...(blocks[0]?.type === "heading" ? [] : section("Description")),
    ...blocks.flatMap(roffOf),
    ...section("See also"),
    ...filled(references(["vault(1)"])),
  ];
}

if (import.meta.main) {
  if (process.argv[2] === "man") writeMan();
  else generate();
}
