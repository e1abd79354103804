import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded } from "../cli/command.ts";

const descriptor = {
  name: "doctor",
  summary: "check your setup",
  description:
    "Check the configuration, the key, the state, the clock, TLS, and whether the service can be reached and refuses the application; say what to do " +
    "about each finding. Changes nothing, and sends nothing about a vault: one request without credentials, and the acknowledgement of " +
    "a vault that does not exist, which does not count toward lockout. An error is what stops commands, a warning what soon may; info is " +
    "what cannot be verified.",
  options: {
    offline: { flag: "--offline", help: "do not contact the service" },
    failOn: {
      flag: "--fail-on <level>",
      help: "exit 17 on a finding of this level or worse (default: error)",
      choices: ["warn", "error", "never"],
    },
  },
  examples: ["vault doctor", "vault doctor --offline --fail-on warn", "vault doctor --json"],
  mode: "lenient",
} as const satisfies Descriptor;

export type DoctorOptions = OptionsOf<typeof descriptor>;

export const doctor = loaded(descriptor, async () => (await import("./doctor/run.ts")).runDoctor);
