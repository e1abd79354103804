import type { OutputConfiguration } from "commander";
import { Command, CommanderError, Option } from "commander";
import { readAction } from "./cli/act.ts";
import type { Act } from "./cli/act.ts";
import { defineAck } from "./commands/ack/descriptor.ts";
import { defineAuditReplay } from "./commands/audit-replay/descriptor.ts";
import { defineBackup } from "./commands/backup/descriptor.ts";
import { defineCompletion } from "./commands/completion.ts";
import { defineDoctor } from "./commands/doctor/descriptor.ts";
import { defineCreate, defineDelete, defineInfo } from "./commands/extended.ts";
import { defineConfig } from "./commands/config/descriptor.ts";
import { defineGet } from "./commands/get/descriptor.ts";
import { defineGuard } from "./commands/guard/descriptor.ts";
import { defineHelp } from "./commands/help/descriptor.ts";
import { helpScreen } from "./cli/help-screen.ts";
import { defineExport, defineForget, defineImport } from "./commands/import/descriptor.ts";
import { defineInit } from "./commands/init/descriptor.ts";
import { defineSandbox } from "./commands/sandbox/descriptor.ts";
import { defineStatus } from "./commands/status/descriptor.ts";
import { defineUpdate } from "./commands/update/descriptor.ts";
import { completeCommand } from "./completion/protocol.ts";
import type { CommandNode } from "./completion/tree.ts";
import type { SettingDefinition } from "./settings/definitions.ts";
import { settingDefinitions } from "./settings/definitions.ts";
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
 * definitions. Throws VaultError; commander's own errors become `usage`. `shownVersion` is what --version prints; `edge.json` is set
 * once the settings are known.
 */
export async function runProgram(
  argv: readonly string[],
  host: Host,
  { version, shownVersion }: { version: string; shownVersion: string },
  edge: { json: boolean },
): Promise<ProgramResult> {
  if (argv[0] === completeCommand) return { exitCode: 0, text: await completions(argv.slice(1), host) };
  const result: ProgramResult = { exitCode: 0, text: "" };
  const act: Act =
    (load, mode) =>
    async (...parameters) => {
      const { input, globals } = readAction(parameters);
      if (globals["color"] !== undefined) host.chooseColor(globals["color"] === true);
      const { createApp } = await import("./app.ts");
      const app = await createApp(host, globals, version, mode);
      edge.json = app.output.format !== "table";
      const run = await load();
      result.exitCode = await run(app, input);
    };
  const output = helpOutput(host, (text) => (result.text += text));
  const program = buildProgram(shownVersion, act, output, namedIn(argv));
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return result;
    const [{ usageError }, { describeCommand }] = await Promise.all([import("./cli/usage-error.ts"), import("./completion/tree.ts")]);
    throw usageError(error, describeCommand(buildProgram(version, act, output)), argv);
  }
  return result;
}

/** The answer to a completion script: whatever fails, there is nothing to offer. */
async function completions(words: readonly string[], host: Host): Promise<string> {
  try {
    const [{ answer }, { describeCommand }] = await Promise.all([import("./completion/answer.ts"), import("./completion/tree.ts")]);
    const build = (named?: readonly string[]): CommandNode => describeCommand(buildProgram("", () => async () => {}, {}, named));
    let whole: CommandNode | undefined;
    const treeFor = (words?: readonly string[]): CommandNode => {
      const named = words === undefined ? undefined : namedIn(words);
      return named === undefined ? (whole ??= build()) : build(named);
    };
    return await answer(words, treeFor, (await import("./app.ts")).knownHere(host));
  } catch {
    return "";
  }
}

/** The commands that a line may be about; undefined for all, where it names none. */
function namedIn(words: readonly string[]): string[] | undefined {
  const named = [...Object.keys(commands), "help"].filter((name) => words.includes(name));
  return named.length > 0 ? named : undefined;
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
  "audit-replay": defineAuditReplay,
  import: defineImport,
  export: defineExport,
  forget: defineForget,
  info: defineInfo,
  create: defineCreate,
  delete: defineDelete,
  backup: defineBackup,
  doctor: defineDoctor,
  init: defineInit,
  config: defineConfig,
  sandbox: defineSandbox,
  completion: defineCompletion,
};

/** The command tree; the whole of it, or only what `named` names: a command line uses one, and each takes its time to build. */
export function buildProgram(version: string, act: Act, output: OutputConfiguration, named?: readonly string[]): Command {
  const whole = (): Command => (named === undefined ? program : buildProgram(version, act, output));
  const program = new Command("vault")
    .usage("<command> [options]")
    .configureOutput(output)
    .description("Read and update vaults without ever losing their rotating credentials.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .exitOverride()
    // Help has no colour: its width is its length.
    .configureHelp({ showGlobalOptions: false, sortSubcommands: false, displayWidth: (text) => text.length })
    // Ours knows the whole tree.
    .showSuggestionAfterError(false);
  addGlobalOptions(program);
  for (const [name, define] of Object.entries(commands)) if (named?.includes(name) ?? true) define(program, act);
  if (named?.includes("help") ?? true) defineHelp(program, whole);
  // Only now, so that commands do not inherit it.
  program.configureHelp({ ...program.configureHelp(), formatHelp: (_command, helper) => helpScreen(whole(), helper) });
  program.addHelpText("after", "\nExamples:\n  vault status\n  vault get $VAULT --json");
  return program;
}

function addGlobalOptions(program: Command): void {
  program.optionsGroup("Output:");
  for (const name of ["output"] as const) program.addOption(settingOption(settingDefinitions[name]));
  program
    .option("--json", "the same as --output json")
    .option("--field <path>", "print one value, raw: --field vault.creditCard.number", onlyField)
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

/** The last one would win, silently. */
function onlyField(path: string, earlier: string | undefined): string {
  if (earlier === undefined) return path;
  throw new VaultError("usage", "--field is given twice: it prints one value", {
    hint: "name one path, as deep as you need it; --json prints the whole document",
  });
}

function settingOption({ flag = "", env, help }: SettingDefinition): Option {
  return new Option(flag, env === undefined ? help : `${help} [${env}]`);
}
