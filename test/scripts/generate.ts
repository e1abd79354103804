import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Option } from "commander";
import type { CliCommand } from "../../src/cli/commander.ts";
import { pathOf } from "../../src/cli/usage-error.ts";
import { errorKinds } from "../../src/errors.ts";
import type { SettingDefinition } from "../../src/settings/definitions.ts";
import { settingDefinitions } from "../../src/settings/definitions.ts";
import { topics } from "../../src/cli/topics.ts";
import { originsIn } from "../../src/cli/examples.ts";
import { rowsTable } from "../../src/terminal/tables.ts";
import { topicText } from "../support/markdown.ts";
import { below, program } from "../support/program.ts";

// npm run generate: writes what is generated from the command tree and the definitions: the tables of the topics, and the list of
// man pages in package.json, where npm takes no folder. npm run man: writes the man pages of the package, man/.
import packageJson from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..", "..");

function generate(): void {
  for (const topic of Object.keys(topics))
    writeFileSync(
      join(root, "src", "cli", "topics", `${topic}.md`),
      withTable(topic, topicText(topic)),
    );
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

/** A part of a line; `code` is what is typed. */
interface Span {
  text: string;
  style: "plain" | "code";
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

/** Lines as they are. */
export const code = (lines: readonly string[]): string[] => [
  ".EX",
  ...lines.map((line) => (line === "" ? "\\&" : guarded(escape(line).replaceAll("-", "\\-")))),
  ".EE",
];

/** Text in lines as short as mandoc wants them. */
function filled(spans: readonly Span[]): string[] {
  const lines = inline(spans)
    .replaceAll(/(.{1,75})(?: +|$)/g, "$1\n")
    .trimEnd()
    .split("\n");
  return lines.map(guarded);
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
    ".RS 4",
    ...code([...descriptor.examples, ...originsIn(descriptor.examples)]),
    ".RE",
    ...section("See also"),
    ...filled(
      command === program
        ? references(["vault-tour(7)"])
        : references(["vault(1)", "vault-settings(7)", "vault-exit-codes(7)"]),
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

/** The text of a topic as it is, without the title. A page of 80 columns has no room for a margin. */
const topicBody = (topic: string): string[] => [
  ...section("Description"),
  ".in 0",
  ...code(topicText(topic).trimEnd().split("\n").slice(2)),
  ...section("See also"),
  ...filled(references(["vault(1)"])),
];

if (import.meta.main) {
  if (process.argv[2] === "man") writeMan();
  else generate();
}
