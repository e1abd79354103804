import { globalOptions, listed, type Command, type Listed } from "../cli/command.ts";
import type { Surroundings } from "../cli/program.ts";
import * as cli from "../cli/program.ts";

const grouped = (group: string, commands: readonly Listed[]): Listed[] =>
  commands.map((command) => ({ ...command, group }));

/** The program with all its commands, in the order in which people need them. */
export const vault: Command = {
  description:
    "Read and update vaults without ever losing their rotating credentials.\n\n" +
    "Begin with: vault init, or without a service: vault sandbox exec -- sh",
  options: globalOptions,
  examples: ["vault status", "vault get $VAULT --json"],
  commands: [
    ...grouped("Read or change a vault:", [
      listed("get", "read a vault, or many", () => import("./get.ts")),
      listed("run", "start a program with a vault's contents", () => import("./run.ts")),
      listed("update", "replace the contents of a vault, or of many", () => import("./update.ts")),
      listed("ack", "acknowledge pending or held exchanges", () => import("./ack.ts")),
      listed(
        "info",
        "ask the service for a vault's dates and metadata (extended)",
        () => import("./info.ts"),
      ),
      listed("create", "create a vault (extended)", () => import("./create.ts")),
      listed("delete", "delete a vault permanently (extended)", () => import("./delete.ts")),
    ]),
    ...grouped("Inspect:", [
      listed(
        "status",
        "show what this machine knows about its vaults",
        () => import("./status.ts"),
      ),
      listed(
        "guard",
        "show the counters toward lockout, and what would be refused",
        () => import("./guard.ts"),
      ),
      listed(
        "audit-replay",
        "explain a lockout from audit items",
        () => import("./audit-replay.ts"),
      ),
    ]),
    ...grouped("Set up, and try it:", [
      listed("init", "set up a profile", () => import("./init.ts")),
      listed("sandbox", "emulate the service on this machine", () => import("./sandbox.ts")),
      listed("config", "read and change profiles", () => import("./config.ts")),
      listed("doctor", "check your setup", () => import("./doctor.ts")),
      listed(
        "completion",
        "print the completion script for a shell",
        () => import("./completion.ts"),
      ),
      listed("help", "show help for a command or a topic", () => import("./help.ts")),
    ]),
    ...grouped("Import, move and back up credentials:", [
      listed("import", "add credentials to the state", () => import("./import.ts")),
      listed("export", "print credentials as JSON, in plain text", () => import("./export.ts")),
      listed("forget", "remove a vault's credentials from the state", () => import("./forget.ts")),
      listed("label", "name a vault", () => import("./label.ts")),
      listed(
        "state",
        "create, move, back up and restore the state; change its key",
        () => import("./state.ts"),
      ),
    ]),
  ],
};

export const runProgram = async (argv: readonly string[], around: Surroundings): Promise<number> =>
  await cli.runProgram(vault, argv, around);
