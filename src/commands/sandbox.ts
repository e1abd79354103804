import type { Command, Descriptor, OptionValues } from "../cli/command.ts";
import { loaded, vaultArgument } from "../cli/command.ts";
import { port } from "../cli/values.ts";

/** Of the commands that start a sandbox: how it is to behave. */
const emulation = {
  seed: {
    flag: "--seed <seed>",
    help: "demo, or a JSON file with a list of vaults (default: demo)",
  },
  tokenTtl: { flag: "--token-ttl <duration>", help: "token lifetime (5m)" },
  latency: { flag: "--latency <duration>", help: "delay before each response (none)" },
  policy: {
    flag: "--policy <file>",
    help: "JSON file that changes the rules of the service (see vault sandbox start --help)",
  },
} as const;

const program = {
  command: {
    term: "<command...>",
    help: "program and arguments, after --",
    values: { from: "programs" },
  },
} as const;

export type EmulationOptions = OptionValues<typeof emulation>;

export const exec = {
  name: "exec",
  summary: "run a program against a private sandbox",
  description:
    "Start a sandbox for one program, with its own state and configuration, in which the demo vaults are imported; run the program " +
    "with VAULTSVC_* and VAULT (for the examples of the help) set; then stop the sandbox and exit with the program's exit code. Your own state is not touched.",
  arguments: program,
  options: emulation,
  examples: [
    "vault sandbox exec -- sh",
    "vault sandbox exec -- vault status",
    "vault sandbox exec --token-ttl 5s -- ./integration-test.sh",
  ],
  mode: "lenient",
} as const satisfies Descriptor;

export const rehearse = {
  name: "rehearse",
  summary: "test whether a program survives every failure",
  description:
    "Run a program that uses vaults once to list its calls, then once for each call and each failure: the call lost, or the program " +
    "killed, before or after the service has processed it. After each, run the program again without a failure, then the check. " +
    "Exit 17 if a vault was lost or locked.",
  arguments: program,
  options: {
    check: {
      flag: "--check <command>",
      help: "shell command that exits with 0 if the program can still read its vault",
    },
    setup: {
      flag: "--setup <command>",
      help: "shell command that prepares the working directory of each run",
    },
    ...emulation,
  },
  examples: [
    'vault sandbox rehearse --check "$PWD/check" -- ./read.sh',
    'vault sandbox rehearse --setup "$PWD/setup" --check "$PWD/check" -- ./read.sh',
  ],
  mode: "lenient",
} as const satisfies Descriptor;

export const start = {
  name: "start",
  summary: "start a sandbox that serves until interrupted",
  description:
    "Start the emulated service on 127.0.0.1; it serves until interrupted, and enforces the rate limit of --rate. With --profile it " +
    "creates a profile of that name, with its own state in which its vaults are imported.\n\n" +
    'A seed is a list of vaults: {"kind", "creditCard"} or {"kind", "content"}, with "label", "metadata", "uuid", "credentials", "maxUsage" ' +
    'and "expiryDate" (offline), "hashedPin" and "device" (online) as you like. Cards need "number", "name", "expiryMonth" and "expiryYear".\n\n' +
    'A policy is an object with any of "failedAttempts", "unackedStarts", "tokenTtlMs", "rate", "autoLockAfterMs", "idempotentEnd", ' +
    '"whitelist" (addresses and ranges) and "jwt" {"publicKey", "claims"}.',
  options: {
    port: {
      flag: "--port <n>",
      help: "port to listen on (default: any free port)",
      parse: port,
    },
    data: {
      flag: "--data <directory>",
      help: "keep the vaults in this directory across restarts",
    },
    ...emulation,
    readyFile: {
      flag: "--ready-file <file>",
      help: "file to write once it listens, with the control token (default: STATE-sandbox.json)",
    },
  },
  examples: [
    "vault sandbox start --seed demo",
    "vault sandbox start --port 4000 --data ./sandbox --token-ttl 30s --json",
    "vault sandbox start --profile play",
  ],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

/** Of all commands that steer a running sandbox. */
export const control = {
  readyFile: {
    flag: "--ready-file <file>",
    help: "ready file of the running sandbox (default: STATE-sandbox.json)",
  },
} as const;

export const env = {
  name: "env",
  summary: "print the variables that make a shell use it",
  description:
    "Print export lines for the running sandbox: its address and application, and state and configuration directories in which its " +
    "vaults are imported.",
  options: control,
  examples: ['eval "$(vault sandbox env)"', "vault sandbox env --json"],
} as const satisfies Descriptor;

export const status = {
  name: "status",
  summary: "show whether a sandbox is running, and its vaults",
  options: control,
  examples: ["vault sandbox status", "vault sandbox status --json"],
} as const satisfies Descriptor;

export const stop = {
  name: "stop",
  summary: "stop the sandbox",
  options: control,
  examples: ["vault sandbox stop", "vault sandbox stop --ready-file ./sandbox.json"],
} as const satisfies Descriptor;

export const reset = {
  name: "reset",
  summary: "restore the seed with new credentials (in the ready file), and remove all faults",
  options: control,
  examples: ["vault sandbox reset", "vault sandbox reset --ready-file ./sandbox.json"],
} as const satisfies Descriptor;

export const audit = {
  name: "audit",
  summary: "print the audit items",
  options: {
    ...control,
    export: {
      flag: "--export <file>",
      help: "write to a file instead; its name chooses the format: .ndjson or .csv, optionally .gz",
    },
  },
  examples: [
    "vault sandbox audit",
    "vault sandbox audit --export items.csv",
    "vault sandbox audit --export items.ndjson.gz",
  ],
} as const satisfies Descriptor;

/** Of the sandbox: the state may not know it. */
const itsVault = {
  vault: {
    term: "<vault>",
    help: "UUID or label of the vault",
    values: vaultArgument.values,
  },
} as const;

export const lock = {
  name: "lock",
  summary: "lock a vault, as the console would",
  arguments: itsVault,
  options: control,
  examples: ["vault sandbox lock $VAULT", "vault sandbox lock $VAULT --json"],
} as const satisfies Descriptor;

const unlock = {
  name: "unlock",
  summary: "unlock a vault, as an administrator would",
  arguments: itsVault,
  options: control,
  examples: ["vault sandbox unlock $VAULT", "vault sandbox unlock $VAULT --json"],
} as const satisfies Descriptor;

export const fault = {
  name: "fault",
  summary: "inject faults",
  description:
    "Make the next requests fail. SKIP matching requests pass first (0), then the fault happens TIMES times (1; all: always).\n\n" +
    "TARGET is any, get, update, start, end, get-start, get-end, update-start, update-end, info, create or delete; TARGET/UUID " +
    "matches requests about one vault.\n\n" +
    "ACTION is drop-before or status=HTTP (with ,retry-after=SECONDS) for a request that is not processed. For one that is processed: " +
    "drop-after (no response), cut (half of one), hang, garbage (not JSON), no-credentials, error-after=HTTP, or delay=DURATION.",
  arguments: {
    faults: {
      term: "[faults...]",
      help: "TARGET:ACTION[@SKIP][*TIMES], such as get-start:drop-after, end:delay=2s*3, start:status=429,retry-after=1",
    },
  },
  options: { ...control, clear: { flag: "--clear", help: "remove all faults" } },
  examples: [
    "vault sandbox fault get-end:drop-after",
    "vault sandbox fault 'get-start:status=503*2' end:delay=2s",
    "vault sandbox fault --clear",
  ],
} as const satisfies Descriptor;

export const sandbox: Command = {
  name: "sandbox",
  summary: "emulate the service on this machine",
  description:
    "Emulate the service on this machine, for trials and integration tests: all endpoints, both locking rules, expiring tokens, limited " +
    "vaults, the rate limit and audit items.\n\n" +
    "It does not imitate cryptography (credentials are random text), TLS, or more than one application. What the interface leaves open " +
    "it guesses: error codes and messages, fields of audit items, the lifetime of a token, extended operations.",
  examples: ["vault sandbox start --seed demo", "vault sandbox audit"],
  commands: [
    loaded(exec, async () => (await import("./sandbox/start.ts")).runExec),
    loaded(rehearse, async () => (await import("./sandbox/rehearse.ts")).runRehearse),
    loaded(start, async () => (await import("./sandbox/start.ts")).runStart),
    loaded(env, async () => (await import("./sandbox/control.ts")).runEnv),
    loaded(status, async () => (await import("./sandbox/control.ts")).runStatus),
    loaded(stop, async () => (await import("./sandbox/control.ts")).runStop),
    loaded(reset, async () => (await import("./sandbox/control.ts")).runReset),
    loaded(audit, async () => (await import("./sandbox/control.ts")).runAudit),
    loaded(lock, async () => (await import("./sandbox/control.ts")).runLock),
    loaded(unlock, async () => (await import("./sandbox/control.ts")).runUnlock),
    loaded(fault, async () => (await import("./sandbox/control.ts")).runFault),
  ],
};
