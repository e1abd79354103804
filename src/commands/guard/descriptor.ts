import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const guard = {
  name: "guard",
  summary: "the counters towards a lock, and what the guard would refuse",
  description: "The counters towards a lock, and what the guard would refuse. Never calls the service.",
  arguments: { uuid: { term: "[uuid]", help: "the vault (all of them without)", is: "uuid" } },
  options: {
    reset: { flag: "--reset", help: "zero the counters, after an administrator has unlocked the vault" },
    unanswered: { flag: "--unanswered", help: "with --reset: clear only what is counted as possibly failed" },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: ["vault guard", "vault guard $VAULT", "vault guard $VAULT --reset --yes"],
  fields: ["vaults"],
} as const satisfies Descriptor;

export type GuardOptions = OptionsOf<typeof guard>;
