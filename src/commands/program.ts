import type { Command } from "../cli/command.ts";
import { globalOptions } from "../cli/command.ts";
import type { Surroundings } from "../cli/program.ts";
import * as cli from "../cli/program.ts";
import { ack } from "./ack.ts";
import { auditReplay } from "./audit-replay.ts";
import { completion } from "./completion.ts";
import { config } from "./config.ts";
import { create } from "./create.ts";
import { deleteVault } from "./delete.ts";
import { doctor } from "./doctor.ts";
import { exportVaults } from "./export.ts";
import { forget } from "./forget.ts";
import { get } from "./get.ts";
import { guard } from "./guard.ts";
import { help } from "./help.ts";
import { importVaults } from "./import.ts";
import { info } from "./info.ts";
import { init } from "./init.ts";
import { label } from "./label.ts";
import { run } from "./run.ts";
import { sandbox } from "./sandbox.ts";
import { state } from "./state.ts";
import { status } from "./status.ts";
import { update } from "./update.ts";

const grouped = (group: string, commands: readonly Command[]): Command[] =>
  commands.map((command) => ({ ...command, group }));

/** The program with all its commands, in the order in which people need them. */
export const vault: Command = {
  name: "vault",
  summary: "",
  description:
    "Read and update vaults without ever losing their rotating credentials.\n\n" +
    "Begin with: vault init, or without a service: vault sandbox exec -- sh",
  options: globalOptions,
  examples: ["vault status", "vault get $VAULT --json"],
  commands: [
    ...grouped("Read or change a vault:", [get, run, update, ack, info, create, deleteVault]),
    ...grouped("Inspect:", [status, guard, auditReplay]),
    ...grouped("Set up, and try it:", [init, sandbox, config, doctor, completion, help]),
    ...grouped("Import, move and back up credentials:", [
      importVaults,
      exportVaults,
      forget,
      label,
      state,
    ]),
  ],
};

export const runProgram = async (argv: readonly string[], around: Surroundings): Promise<number> =>
  await cli.runProgram(vault, argv, around);
