import { globalOptions, listed, type Command } from "../cli/command.ts";
import type { Surroundings } from "../cli/program.ts";
import * as cli from "../cli/program.ts";

/** The program with all its commands, in the order in which people need them. */
export const vault: Command = {
  description:
    "Read and update vaults without ever losing their rotating credentials.\n\n" +
    "Begin with: vault init, or without a service: vault sandbox exec -- sh",
  options: globalOptions,
  examples: ["vault status", "vault get $VAULT --json"],
  commands: [
    ...listed("Read or change a vault:", {
      get: ["read a vault, or many", () => import("./get.ts")],
      run: ["start a program with a vault's contents", () => import("./run.ts")],
      update: ["replace the contents of a vault, or of many", () => import("./update.ts")],
      ack: ["acknowledge pending or held exchanges", () => import("./ack.ts")],
      info: [
        "ask the service for a vault's dates and metadata (extended)",
        () => import("./info.ts"),
      ],
      create: ["create a vault (extended)", () => import("./create.ts")],
      delete: ["delete a vault permanently (extended)", () => import("./delete.ts")],
    }),
    ...listed("Inspect:", {
      status: ["show what this machine knows about its vaults", () => import("./status.ts")],
      guard: [
        "show the counters toward lockout, and what would be refused",
        () => import("./guard.ts"),
      ],
      "audit-replay": ["explain a lockout from audit items", () => import("./audit-replay.ts")],
    }),
    ...listed("Set up, and try it:", {
      init: ["set up a profile", () => import("./init.ts")],
      sandbox: ["emulate the service on this machine", () => import("./sandbox.ts")],
      config: ["read and change profiles", () => import("./config.ts")],
      doctor: ["check your setup", () => import("./doctor.ts")],
      completion: ["print the completion script for a shell", () => import("./completion.ts")],
      help: ["show help for a command or a topic", () => import("./help.ts")],
    }),
    ...listed("Import, move and back up credentials:", {
      import: ["add credentials to the state", () => import("./import.ts")],
      export: ["print credentials as JSON, in plain text", () => import("./export.ts")],
      forget: ["remove a vault's credentials from the state", () => import("./forget.ts")],
      label: ["name a vault", () => import("./label.ts")],
      state: [
        "create, move, back up and restore the state; change its key",
        () => import("./state.ts"),
      ],
    }),
  ],
};

export const runProgram = async (argv: readonly string[], around: Surroundings): Promise<number> =>
  await cli.runProgram(vault, argv, around);
