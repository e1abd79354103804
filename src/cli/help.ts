import { Help, type Command as CommanderCommand, type Option } from "commander";
import type { Descriptor } from "./command.ts";
import { topics } from "./topics.ts";

/** A command with what it was made of. */
type Described = CommanderCommand & { readonly descriptor: Descriptor };

/** The first screen lists no options; that of a command ends with the flags of every command that matter most. */
export class CliHelp extends Help {
  override showGlobalOptions = true;

  override subcommandTerm(command: CommanderCommand): string {
    return command.name();
  }

  override commandUsage(command: CommanderCommand): string {
    return command.parent === null ? "vault <command> [options]" : super.commandUsage(command);
  }

  override formatHelp(command: Described, helper: Help): string {
    if (command.parent === null) helper.visibleOptions = () => [];
    return `${super.formatHelp(command, helper)}${examplesOf(command)}\n`;
  }

  override visibleGlobalOptions(command: CommanderCommand): Option[] {
    const isGroup = command.commands.length > 0;
    if (isGroup || ["completion", "help"].includes(command.name())) return [];
    return super.visibleGlobalOptions(command).filter(({ long = "" }) => shared.includes(long));
  }
}
const shared: readonly (string | undefined)[] = [
  "--json",
  "--field",
  "--reveal",
  "--profile",
  "--state",
  "--max-wait",
  "--no-input",
];

/** What help ends with: examples, where their files come from, and where there is more to read. */
function examplesOf({ parent, descriptor: { examples } }: Described): string {
  const lines = [
    "\nExamples:",
    ...[...examples, ...originsIn(examples)].map((line) => `  ${line}`),
  ];
  const more =
    parent === null
      ? `With every command: --json, --field PATH, --reveal, --quiet, --verbose.
vault COMMAND --help shows its options and examples. vault help TOPIC:
  ${Object.keys(topics)
    .join(", ")
    .replaceAll(/(.{1,76})(?: |$)/g, "$1\n  ")
    .trimEnd()}`
      : "All flags, variables and configuration keys: vault help settings.";
  return `${lines.join("\n")}\n\n${more}`;
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
  '"$PWD/check"': "exits with 0 if read.sh can still read its vault",
  "./sandbox.json": "of a sandbox that runs: vault sandbox start --ready-file FILE",
  '"$PWD/setup"': "prepares the new working directory of each run",
};

/** Comments for below the examples: each file and variable that one of them reads, and where it comes from. */
const originsIn = (examples: readonly string[]): string[] =>
  Object.entries(origins)
    .filter(([name]) => examples.some((example) => example.split(" ").includes(name)))
    .map(([name, origin]) => `# ${name.replaceAll(/^(?:@|\.\/|"\$PWD\/)|"$/g, "")}: ${origin}`);
