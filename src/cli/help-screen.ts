import type { Help } from "commander";
import type { Command } from "./command.ts";
import { topics } from "./topics.ts";

/** Tasks with their commands, in the order in which people need them. A command that is missing here is listed last. */
export const tasks: Readonly<Record<string, readonly string[]>> = {
  "Read or change a vault": ["get", "run", "update", "ack", "info", "create", "delete"],
  Inspect: ["status", "guard", "audit-replay"],
  "Set up, and try it": ["init", "sandbox", "config", "doctor", "completion"],
  "Import, move and back up credentials": ["import", "export", "forget", "label", "state"],
};

/** The first screen of help. At most 40 lines of 80 columns; settings and the other flags of every command have their topics. */
export function helpScreen(
  { name, description = "", commands = [] }: Command,
  helper: Help,
): string {
  const width = helper.helpWidth ?? 80;
  const listed = ["help", ...Object.values(tasks).flat()];
  const others = commands.map(({ name }) => name).filter((name) => !listed.includes(name));
  const groups = Object.entries({ ...tasks, More: others }).flatMap(([task, names]) => {
    const found = names.flatMap((name) => commands.find((command) => command.name === name) ?? []);
    const items = found.map((command) =>
      helper.formatItem(command.name, 13, command.summary, helper),
    );
    return items.length > 0 ? [`${task}:`, ...items] : [];
  });
  const more = [
    "With every command: --json, --field PATH, --reveal, --quiet, --verbose.",
    `vault COMMAND --help shows its options and examples. vault help TOPIC explains more: ${Object.keys(topics).join(", ")}.`,
  ];
  return [
    `Usage: ${name} <command> [options]`,
    "",
    helper.boxWrap(description, width),
    "",
    "Begin with: vault init, or without a service: vault sandbox exec -- sh",
    "",
    ...groups,
    "",
    ...more.map((line) => helper.boxWrap(line, width)),
    "",
  ].join("\n");
}

/** Where the variables and files come from that examples name, by the word that names them. */
const origins: Readonly<Record<string, string>> = {
  $VAULT: "the UUID or label of a vault; vault sandbox exec sets it",
  "@pair.json": "credentials, as vault export $VAULT > pair.json writes them",
  "vaults.ndjson": "from another machine: vault export --all > vaults.ndjson",
  "@card.json": 'a card: {"number", "name", "expiryMonth", "expiryYear"}',
  "cards.ndjson": 'a line for each vault: {"uuid", "card": {"number", …}}',
  "@number": "a file with the card number alone",
  "@note.txt": "any text of yours",
  "audit.ndjson": "exported from the console, or by vault sandbox audit --export",
  "audit.csv.gz": "exported from the console, or by vault sandbox audit --export",
  "./integration-test.sh": "any program of yours that uses vaults",
  "./read.sh": "any program of yours that reads a vault",
  '"$PWD/check"': "ends with 0 if read.sh can still read its vault",
  "./sandbox.json": "of a sandbox that runs: vault sandbox start --ready-file FILE",
  '"$PWD/setup"': "prepares the new working directory of each run",
};

/** Comments for below the examples: each file and variable that one of them reads, and where it comes from. */
export const originsIn = (examples: readonly string[]): string[] =>
  Object.entries(origins)
    .filter(([name]) => examples.some((example) => example.split(" ").includes(name)))
    .map(([name, origin]) => `# ${name.replaceAll(/^(?:@|\.\/|"\$PWD\/)|"$/g, "")}: ${origin}`);
