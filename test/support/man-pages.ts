import { vault } from "../../src/commands/program.ts";
import { describeCommand } from "../../src/cli/describe.ts";
import { parseMarkdown } from "../../src/cli/markdown.ts";
import { topics } from "../../src/cli/topics.ts";
import { originsIn } from "../../src/cli/help-screen.ts";
import type { CommandNode } from "../../src/completion/tree.ts";
import { bold, code, filled, plain, roffOf, section, tagged } from "./roff.ts";
import { topicText } from "./texts.ts";

/** The source of each man page by its file name: vault.1, one for each command, and one for each topic in section 7. */
export function manPages(version: string, date: string): Record<string, string> {
  const program = describeCommand(vault);
  const commands = [{ node: program, parents: [] }, ...descendants(program, [])];
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
    ...commands.map(({ node, parents }) =>
      page(
        [...parents, node.name].join("-"),
        1,
        parents.length === 0 ? "read and update remote vaults" : node.summary,
        commandBody(node, parents),
      ),
    ),
    ...Object.entries(topics).map(([topic, summary]) =>
      page(`vault-${topic}`, 7, summary, topicBody(topic)),
    ),
  ]);
}

function descendants(
  { name, commands }: CommandNode,
  parents: readonly string[],
): { node: CommandNode; parents: string[] }[] {
  const path = [...parents, name];
  return commands.flatMap((node) => [{ node, parents: path }, ...descendants(node, path)]);
}

function commandBody(node: CommandNode, parents: readonly string[]): string[] {
  const { commands, examples, options } = node;
  const path = [...parents, node.name];
  const terms = [
    ...node.arguments.map(({ name, description }) => ({ flags: name, description })),
    ...options,
  ];
  return [
    ...section("Synopsis"),
    ...filled([bold(usageOf(node, parents))]),
    ...section("Description"),
    ...filled([plain(node.description)]),
    ...(commands.length === 0 ? [] : section("Commands")),
    ...commands.flatMap(({ name, summary }) =>
      tagged([bold([...path, name].join("-")), plain("(1)")], [plain(summary)]),
    ),
    ...section("Options"),
    ...terms.flatMap(({ flags, description }) => tagged([bold(flags)], [plain(description)])),
    ...(parents.length > 0 ? [] : [...section("Topics"), ...topicList()]),
    ...section("Examples"),
    ...code([...examples, ...originsIn(examples)]),
    ...section("See also"),
    ...filled(
      parents.length > 0
        ? references(["vault(1)", "vault-environment(7)", "vault-output(7)", "vault-exit-codes(7)"])
        : references(["vault-tour(7)"]),
    ),
  ];
}

/** How a command is called: `vault get [options] [uuid]`; `parents` are the names above it. */
function usageOf(node: CommandNode, parents: readonly string[]): string {
  const nested = node.commands.length > 0 ? ["<command>"] : [];
  const terms = node.arguments.map(({ name, required, variadic }) => {
    const shown = variadic ? `${name}...` : name;
    return required ? `<${shown}>` : `[${shown}]`;
  });
  return [...parents, node.name, "[options]", ...nested, ...terms].join(" ");
}

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
