import type { OutputConfiguration } from "commander";
import { Command, CommanderError, Option } from "commander";
import { readAction } from "./commands/act.ts";
import type { Act } from "./commands/act.ts";
import { defineAck } from "./commands/ack.ts";
import { defineCreate, defineDelete, defineInfo } from "./commands/extended.ts";
import { defineGet } from "./commands/get.ts";
import { defineGuard } from "./commands/guard.ts";
import { defineExport, defineForget, defineImport } from "./commands/import.ts";
import { defineSandbox } from "./commands/sandbox.ts";
import { defineStatus } from "./commands/status.ts";
import { defineUpdate } from "./commands/update.ts";
import type { SettingDefinition } from "./config/definitions.ts";
import { settingDefinitions } from "./config/definitions.ts";
import { VaultError } from "./errors.ts";
import type { Host } from "./host.ts";

/** What a command line came to. */
export interface ProgramResult {
  exitCode: number;
  /** Help or version, for stdout. */
  text: string;
}

/**
 * Reads the command line and runs its command. Help, version and usage errors load no more than commander and the
 * definitions. Raises VaultError; commander's own errors become `usage`. `edge.json` is set once the settings are known.
 */
export async function runProgram(argv: readonly string[], host: Host, version: string, edge: { json: boolean }): Promise<ProgramResult> {
  const result: ProgramResult = { exitCode: 0, text: "" };
  const act: Act =
    (load) =>
    async (...parameters) => {
      const { input, globals } = readAction(parameters);
      if (globals["color"] !== undefined) host.chooseColor(globals["color"] === true);
      const { createDeps } = await import("./deps.ts");
      const deps = await createDeps(host, globals, version);
      edge.json = deps.output.format !== "table";
      const run = await load();
      result.exitCode = await run(deps, input);
    };
  const named = Object.keys(commands).filter((name) => argv.includes(name));
  const program = buildProgram(
    version,
    act,
    helpOutput(host, (text) => (result.text += text)),
    named.length > 0 ? named : undefined,
  );
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usageError(error, program, argv);
  }
  return result;
}

/** Help goes where the result goes. Facts are given, because commander would open the process's own streams for them. */
function helpOutput(host: Host, writeOut: (text: string) => void): OutputConfiguration {
  const width = (): number => host.stdout.columns;
  const hasColors = (): boolean => host.stdout.color;
  return {
    writeOut,
    writeErr: () => undefined,
    getOutHelpWidth: width,
    getErrHelpWidth: width,
    getOutHasColors: hasColors,
    getErrHasColors: hasColors,
  };
}

const commands = {
  get: defineGet,
  update: defineUpdate,
  ack: defineAck,
  status: defineStatus,
  guard: defineGuard,
  import: defineImport,
  export: defineExport,
  forget: defineForget,
  info: defineInfo,
  create: defineCreate,
  delete: defineDelete,
  sandbox: defineSandbox,
};

/** The command tree; the whole of it, or only what `named` names: a command line uses one, and each takes its time to build. */
export function buildProgram(version: string, act: Act, output: OutputConfiguration, named?: readonly string[]): Command {
  const program = new Command("vault")
    .configureOutput(output)
    .description("Read and update vaults without ever losing their rotating credentials.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    // Help has no colour: its width is its length.
    .configureHelp({ showGlobalOptions: false, sortSubcommands: false, displayWidth: (text) => text.length })
    .showSuggestionAfterError();
  addGlobalOptions(program);
  for (const [name, define] of Object.entries(commands)) if (named?.includes(name) ?? true) define(program, act);
  program.helpCommand("help [command]", "show the help of a command");
  program.addHelpText(
    "after",
    `
Examples:
  vault status
  vault get $VAULT --json

vault COMMAND --help shows the options and examples of a command. The output
options and settings above work with every command, before or behind its name.`,
  );
  return program;
}

function addGlobalOptions(program: Command): void {
  program.optionsGroup("Output:");
  for (const name of ["output"] as const) program.addOption(settingOption(settingDefinitions[name]));
  program
    .option("--json", "the same as --output json")
    .option("--field <path>", "print one value, raw: --field vault.creditCard.number")
    .option("--reveal", "show secrets in table form")
    .option("-q, --quiet", "less talk")
    .option("-v, --verbose", "more talk")
    .addOption(settingOption(settingDefinitions.debug))
    .option("--color", "colour also where the output is not a terminal")
    .option("--no-color", "no colour")
    .option("--no-input", "never ask");
  program.optionsGroup("Settings (environment variable, default):");
  const { output: _output, debug: _debug, ...settings } = settingDefinitions;
  for (const definition of Object.values<SettingDefinition>(settings)) {
    if (definition.flag !== undefined) program.addOption(settingOption(definition));
  }
}

function settingOption({ flag = "", env, help }: SettingDefinition): Option {
  return new Option(flag, env === undefined ? help : `${help} [${env}]`);
}

function usageError(error: CommanderError, program: Command, argv: readonly string[]): VaultError {
  const message = error.message.replace(/^error: /, "").replaceAll("\n", " ");
  const command = program.commands.find((candidate) => argv.includes(candidate.name()));
  if (error.code === "commander.help" || error.code === "commander.helpDisplayed") {
    return new VaultError("usage", "a command is missing", { hint: "vault --help lists them" });
  }
  return new VaultError("usage", message, { hint: `vault ${command === undefined ? "" : `${command.name()} `}--help shows what it takes` });
}
