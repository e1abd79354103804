import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const doctor = {
  name: "doctor",
  summary: "check your setup",
  description:
    "Check the configuration, the key, the state, the clock, TLS, and whether the service can be reached and refuses the application; say what to do " +
    "about each finding. Changes nothing, and sends nothing about a vault.",
  options: {
    offline: { flag: "--offline", help: "do not contact the service" },
    failOn: {
      flag: "--fail-on <level>",
      help: "exit 17 on a finding of this level or worse: warn, error (default) or never",
      values: { from: "list", values: ["warn", "error", "never"] },
      value: (is) => is.oneOf(["warn", "error", "never"]),
    },
  },
  examples: ["vault doctor", "vault doctor --offline --fail-on warn", "vault doctor --json"],
  mode: "lenient",
} as const satisfies Descriptor;

export type DoctorOptions = OptionsOf<typeof doctor>;
