import { buildProgram, type CliCommand } from "../../src/cli/commander.ts";
import { vault } from "../../src/commands/program.ts";

/** The whole program, as completion and the man pages read it. */
export const program = await buildProgram(vault, { stdout: { columns: 80 } });

/** All commands below one, groups before theirs. */
export const below = (command: CliCommand): CliCommand[] =>
  command.commands.flatMap((each) => [each, ...below(each)]);
