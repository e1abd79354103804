import type { Command as CommanderCommand, OutputConfiguration } from "commander";
import type { Command, Descriptor, Run } from "../cli/command.ts";
import type { Act, ProgramResult, Surroundings } from "../cli/program.ts";
import * as cli from "../cli/program.ts";
import { ack } from "./ack/descriptor.ts";
import { auditReplay } from "./audit-replay/descriptor.ts";
import { backup } from "./backup/descriptor.ts";
import { completion } from "./completion.ts";
import * as config from "./config/descriptor.ts";
import { create } from "./create/descriptor.ts";
import { deleteVault } from "./delete/descriptor.ts";
import { doctor } from "./doctor/descriptor.ts";
import { exportVaults } from "./export/descriptor.ts";
import { forget } from "./forget/descriptor.ts";
import { get } from "./get/descriptor.ts";
import { guard } from "./guard/descriptor.ts";
import { help } from "./help/descriptor.ts";
import { importVaults } from "./import/descriptor.ts";
import { info } from "./info/descriptor.ts";
import { init } from "./init/descriptor.ts";
import * as sandbox from "./sandbox/descriptor.ts";
import { status } from "./status/descriptor.ts";
import { update } from "./update/descriptor.ts";

/** All commands, each with what loads it. */
const commands: readonly Command[] = [
  command(get, async () => (await import("./get/run.ts")).runGet),
  command(update, async () => (await import("./update/run.ts")).runUpdate),
  command(ack, async () => (await import("./ack/run.ts")).runAck),
  command(status, async () => (await import("./status/run.ts")).runStatus),
  command(guard, async () => (await import("./guard/run.ts")).runGuard),
  command(auditReplay, async () => (await import("./audit-replay/run.ts")).runAuditReplay),
  command(importVaults, async () => (await import("./import/run.ts")).runImport),
  command(exportVaults, async () => (await import("./export/run.ts")).runExport),
  command(forget, async () => (await import("./forget/run.ts")).runForget),
  command(info, async () => (await import("./info/run.ts")).runInfo),
  command(create, async () => (await import("./create/run.ts")).runCreate),
  command(deleteVault, async () => (await import("./delete/run.ts")).runDelete),
  command(backup, async () => (await import("./backup/run.ts")).runBackup),
  command(doctor, async () => (await import("./doctor/run.ts")).runDoctor),
  command(init, async () => (await import("./init/run.ts")).runInit),
  {
    ...config.config,
    commands: [
      command(config.list, async () => (await import("./config/list.ts")).runConfigList),
      command(config.get, async () => (await import("./config/list.ts")).runConfigGet),
      command(config.set, async () => (await import("./config/run.ts")).runConfigSet),
      command(config.unset, async () => (await import("./config/run.ts")).runConfigUnset),
      command(config.path, async () => (await import("./config/list.ts")).runConfigPath),
      command(config.use, async () => (await import("./config/run.ts")).runConfigUse),
      command(config.rekey, async () => (await import("./config/rekey.ts")).runRekey),
    ],
  },
  {
    ...sandbox.sandbox,
    commands: [
      command(sandbox.start, async () => (await import("./sandbox/start.ts")).runStart),
      command(sandbox.reset, async () => (await import("./sandbox/control.ts")).runReset),
      command(sandbox.audit, async () => (await import("./sandbox/control.ts")).runAudit),
      command(sandbox.lock, async () => (await import("./sandbox/control.ts")).runLock),
      command(sandbox.unlock, async () => (await import("./sandbox/control.ts")).runUnlock),
      command(sandbox.fault, async () => (await import("./sandbox/control.ts")).runFault),
    ],
  },
  completion,
  help,
];

/** The whole command tree for commander. */
export const buildProgram = (version: string, act: Act, output: OutputConfiguration): CommanderCommand =>
  cli.buildProgram(commands, version, act, output);

export const runProgram = async (argv: readonly string[], around: Surroundings): Promise<ProgramResult> =>
  await cli.runProgram(commands, argv, around);

/** Joins a descriptor and what runs it. */
function command<const D extends Descriptor>(descriptor: D, load: () => Promise<NoInfer<Run<D>>>): Command {
  return {
    ...descriptor,
    run: async (app, input) => {
      const [run, { parseOptions }] = await Promise.all([load(), import("../cli/parse-options.ts")]);
      return await run(app, parseOptions(descriptor, input, app.output.field));
    },
  };
}
