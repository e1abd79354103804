import { listed, type Command } from "../cli/command.ts";

const starting = () => import("./sandbox/start.ts");
const steering = () => import("./sandbox/control.ts");

export const sandbox: Command = {
  description:
    "Emulate the service on this machine, for trials and integration tests: all endpoints, both locking rules, expiring tokens, limited " +
    "vaults, the rate limit and audit items.\n\n" +
    "It does not imitate cryptography (credentials are random text), TLS, or more than one application. What the interface leaves open " +
    "it guesses: error codes and messages, fields of audit items, the lifetime of a token, extended operations.",
  examples: ["vault sandbox start --seed demo", "vault sandbox audit"],
  commands: listed("Commands:", {
    exec: ["run a program against a private sandbox", starting],
    rehearse: [
      "test whether a program survives every failure",
      () => import("./sandbox/rehearse.ts"),
    ],
    start: ["start a sandbox that serves until interrupted", starting],
    env: ["print the variables that make a shell use it", starting],
    status: ["show whether a sandbox is running, and its vaults", steering],
    stop: ["stop the sandbox", steering],
    reset: [
      "restore the seed with new credentials (in the ready file), and remove all faults",
      steering,
    ],
    audit: ["print the audit items", steering],
    lock: ["lock a vault, as the console would", steering],
    unlock: ["unlock a vault, as an administrator would", steering],
    fault: ["inject faults", steering],
  }),
};
