// npm run man: writes the man pages, man/. With --list, for npm pack, it also lists them in
// package.json: npm links no page of a folder.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildProgram, type CliCommand, pathOf } from "../src/cli/commander.ts";
import { topics } from "../src/cli/topics.ts";
import { readTopic } from "../src/cli/topics/read.ts";
import { vault } from "../src/commands/program.ts";

const root = join(import.meta.dirname, "..");

/**
 * The source of each man page by its file name: vault.1, one for each command, and one for each
 * topic, vault-TOPIC.7. Their texts are those of vault help as they are, of 80 columns.
 */
export async function manPages(version: string, date: string): Promise<Record<string, string>> {
  const page = (name: string, section: number, summary: string, text: string): string[] => [
    `${name}.${section}`,
    `.TH ${name.toUpperCase()} ${section} ${date} "vault ${version}" "vault manual"
.SH NAME
${escape(name)} \\- ${escape(summary.replaceAll(/(.{1,50})(?: |$)/g, "$1\n"))}.SH DESCRIPTION
.in 0
.EX
${escape(text)}.EE
.SH SEE ALSO
vault(1); each command, as vault\\-get(1), and topic, as vault\\-tour(7)
`,
  ];
  const ofCommand = (command: CliCommand): string[][] => {
    const summary = command.summary() || "read and update remote vaults";
    const own = page(pathOf(command).join("-"), 1, summary, command.helpInformation());
    return [own, ...command.commands.flatMap(ofCommand)];
  };
  // A topic without its title.
  const ofTopics = Object.entries(topics).map(([topic, summary]) =>
    page(`vault-${topic}`, 7, summary, readTopic(topic).replace(/^.*\n\n/, "")),
  );
  const program = await buildProgram(vault, { stdout: { columns: 80 } });
  return Object.fromEntries([...ofCommand(program), ...ofTopics]) as Record<string, string>;
}

/** Text as it is read: its backslashes, its hyphens, which can be pasted, and no line is a request. */
const escape = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/[^\n -~]/gu, (each) => {
      const code = each.codePointAt(0) ?? 0;
      return `\\[u${code.toString(16).toUpperCase().padStart(4, "0")}]`;
    })
    .replaceAll(/^(?=[.'])/gm, "\\&");

if (import.meta.main) {
  const manifest = join(root, "package.json");
  const packageJson = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  const built = new Date(Number(process.env["SOURCE_DATE_EPOCH"] ?? Date.now() / 1000) * 1000);
  const pages = await manPages(packageJson.version, built.toISOString().slice(0, 10));
  rmSync(join(root, "man"), { recursive: true, force: true });
  mkdirSync(join(root, "man"));
  for (const [file, text] of Object.entries(pages)) writeFileSync(join(root, "man", file), text);
  const man = Object.keys(pages).map((file) => `man/${file}`);
  if (process.argv[2] === "--list")
    writeFileSync(manifest, `${JSON.stringify({ ...packageJson, man }, null, 2)}\n`);
}
