import type { CommandNode } from "../../src/completion/tree.ts";

export const marks = { begin: "<!-- reference: written by npm run completions -->", end: "<!-- end of the reference -->" };

/** The README with the reference between its marks made anew; as it is where it has no marks. */
export function withReference(readme: string, root: CommandNode): string {
  const [before, rest] = readme.split(`${marks.begin}\n`);
  const after = rest?.split(marks.end)[1];
  return after === undefined ? readme : `${before}${marks.begin}\n\n${reference(root)}\n${marks.end}${after}`;
}

/** Every command with its arguments and flags, as Markdown. */
export function reference(root: CommandNode): string {
  const global = `### Flags of every command\n\n${table(root)}`;
  const commands = root.commands.flatMap((command) => entries(command, [root.name]));
  return [...commands, global].join("\n");
}

function entries(node: CommandNode, parents: readonly string[]): string[] {
  const text = `### \`${usageOf(node, parents)}\`\n\n${wrap(node.description)}\n`;
  const rows = table(node);
  return [rows === "" ? text : `${text}\n${rows}`, ...node.commands.flatMap((each) => entries(each, [...parents, node.name]))];
}

function table(node: CommandNode): string {
  const rows = [
    ...node.arguments.map(({ name, description }) => [`\`${name}\``, description]),
    ...withoutHelp(node).map(({ flags, description }) => [`\`${flags}\``, description]),
  ];
  if (rows.length === 0) return "";
  return `| | |\n|---|---|\n${rows.map(([term = "", text = ""]) => `| ${cell(term)} | ${cell(text)} |\n`).join("")}`;
}

/** How a command is called: `vault get [options] <uuid>`; `parents` are the names above it. */
function usageOf(node: CommandNode, parents: readonly string[]): string {
  const options = withoutHelp(node).length > 0 ? ["[options]"] : [];
  const nested = node.commands.length > 0 ? ["<command>"] : [];
  const terms = node.arguments.map(({ name, required, variadic }) => {
    const shown = variadic ? `${name}...` : name;
    return required ? `<${shown}>` : `[${shown}]`;
  });
  return [...parents, node.name, ...options, ...nested, ...terms].join(" ");
}

const withoutHelp = ({ options }: CommandNode) => options.filter(({ long }) => long !== "--help");

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** As the README is written: at most 120 columns. */
const wrap = (text: string): string => text.replaceAll(/(.{1,120})(?: |$)/g, "$1\n").trimEnd();
