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
  commands: [
    listed("exec", "run a program against a private sandbox", starting),
    listed(
      "rehearse",
      "test whether a program survives every failure",
      () => import("./sandbox/rehearse.ts"),
    ),
    listed("start", "start a sandbox that serves until interrupted", starting),
    listed("env", "print the variables that make a shell use it", starting),
    listed("status", "show whether a sandbox is running, and its vaults", steering),
    listed("stop", "stop the sandbox", steering),
    listed(
      "reset",
      "restore the seed with new credentials (in the ready file), and remove all faults",
      steering,
    ),
    listed("audit", "print the audit items", steering),
    listed("lock", "lock a vault, as the console would", steering),
    listed("unlock", "unlock a vault, as an administrator would", steering),
    listed("fault", "inject faults", steering),
  ],
};
