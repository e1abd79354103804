import type { Command, Descriptor, Run } from "../cli/command.ts";
import { command, globalOptions } from "../cli/command.ts";
import type { Surroundings } from "../cli/program.ts";
import * as cli from "../cli/program.ts";
import { ack } from "./ack/descriptor.ts";
import { auditReplay } from "./audit-replay/descriptor.ts";
import { completion } from "./completion.ts";
import * as config from "./config/descriptor.ts";
import { create } from "./create/descriptor.ts";
import { deleteVault } from "./delete.ts";
import { doctor } from "./doctor/descriptor.ts";
import { exportVaults } from "./export/descriptor.ts";
import { forget } from "./forget.ts";
import { get } from "./get.ts";
import { label } from "./label.ts";
import { guard } from "./guard/guard.ts";
import { help } from "./help/descriptor.ts";
import { importVaults } from "./import/descriptor.ts";
import { info } from "./info/descriptor.ts";
import { init } from "./init/descriptor.ts";
import { run } from "./run.ts";
import * as sandbox from "./sandbox/descriptor.ts";
import * as state from "./state/descriptor.ts";
import { status } from "./status/descriptor.ts";
import { update } from "./update.ts";

/** The program with all its commands. Those with several files are joined here with what loads them. */
export const vault: Command = {
  name: "vault",
  summary: "",
  description: "Read and update vaults without ever losing their rotating credentials.",
  options: globalOptions,
  examples: ["vault status", "vault get $VAULT --json"],
  commands: [
    get,
    update,
    run,
    loaded(ack, async () => (await import("./ack/run.ts")).runAck),
    loaded(status, async () => (await import("./status/run.ts")).runStatus),
    guard,
    loaded(auditReplay, async () => (await import("./audit-replay/run.ts")).runAuditReplay),
    loaded(importVaults, async () => (await import("./import/run.ts")).runImport),
    loaded(exportVaults, async () => (await import("./export/run.ts")).runExport),
    forget,
    label,
    loaded(info, async () => (await import("./info/run.ts")).runInfo),
    loaded(create, async () => (await import("./create/run.ts")).runCreate),
    deleteVault,
    {
      ...state.state,
      commands: [
        loaded(state.init, async () => (await import("./state/run.ts")).runStateInit),
        loaded(state.move, async () => (await import("./state/run.ts")).runMove),
        loaded(state.claim, async () => (await import("./state/run.ts")).runClaim),
        loaded(state.backup, async () => (await import("./state/run.ts")).runBackup),
        loaded(state.restore, async () => (await import("./state/run.ts")).runRestore),
        loaded(state.rekey, async () => (await import("./state/rekey.ts")).runRekey),
        loaded(state.locks, async () => (await import("./state/run.ts")).runLocks),
      ],
    },
    loaded(doctor, async () => (await import("./doctor/run.ts")).runDoctor),
    loaded(init, async () => (await import("./init/run.ts")).runInit),
    {
      ...config.config,
      commands: [
        loaded(config.list, async () => (await import("./config/list.ts")).runConfigList),
        loaded(config.get, async () => (await import("./config/list.ts")).runConfigGet),
        loaded(config.set, async () => (await import("./config/run.ts")).runConfigSet),
        loaded(config.unset, async () => (await import("./config/run.ts")).runConfigUnset),
        loaded(config.path, async () => (await import("./config/list.ts")).runConfigPath),
        loaded(config.use, async () => (await import("./config/run.ts")).runConfigUse),
      ],
    },
    {
      ...sandbox.sandbox,
      commands: [
        loaded(sandbox.exec, async () => (await import("./sandbox/start.ts")).runExec),
        loaded(sandbox.rehearse, async () => (await import("./sandbox/rehearse.ts")).runRehearse),
        loaded(sandbox.start, async () => (await import("./sandbox/start.ts")).runStart),
        loaded(sandbox.env, async () => (await import("./sandbox/control.ts")).runEnv),
        loaded(sandbox.status, async () => (await import("./sandbox/control.ts")).runStatus),
        loaded(sandbox.stop, async () => (await import("./sandbox/control.ts")).runStop),
        loaded(sandbox.reset, async () => (await import("./sandbox/control.ts")).runReset),
        loaded(sandbox.audit, async () => (await import("./sandbox/control.ts")).runAudit),
        loaded(sandbox.lock, async () => (await import("./sandbox/control.ts")).runLock),
        loaded(sandbox.unlock, async () => (await import("./sandbox/control.ts")).runUnlock),
        loaded(sandbox.fault, async () => (await import("./sandbox/control.ts")).runFault),
      ],
    },
    completion,
    help,
  ],
};

export const runProgram = async (
  argv: readonly string[],
  around: Omit<Surroundings, "checkField">,
): Promise<number> =>
  await cli.runProgram(vault, argv, {
    ...around,
    checkField: async (command, field) =>
      (await import("../documents/schemas.ts")).checkField(command, field),
  });

function loaded<const D extends Descriptor>(
  descriptor: D,
  load: () => Promise<NoInfer<Run<D>>>,
): Command {
  return command(descriptor, async (app, options) => await (await load())(app, options));
}
