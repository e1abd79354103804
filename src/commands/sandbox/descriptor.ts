import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const sandbox = {
  name: "sandbox",
  summary: "the service, emulated on this machine",
  description: "The service, emulated on this machine: to try things, and to run integration tests against.",
  examples: ["vault sandbox start --seed demo", "vault sandbox audit"],
} as const satisfies Descriptor;

export const start = {
  name: "start",
  summary: "start it on loopback; it serves until interrupted",
  description: "Start the emulated service on 127.0.0.1; it serves until interrupted. It keeps the rate limit that --rate gives.",
  options: {
    port: { flag: "--port <n>", help: "the port to listen on (any free one)", is: "port" },
    data: { flag: "--data <directory>", help: "keep its vaults there, across restarts" },
    seed: { flag: "--seed <seed>", help: "demo, or a JSON file with a list of vaults (demo)" },
    tokenTtl: { flag: "--token-ttl <duration>", help: "how long a transaction token lives (5m)" },
    latency: { flag: "--latency <duration>", help: "to wait before each answer (none)" },
    policy: {
      flag: "--policy <file>",
      help: "JSON with lockAfterFailed, lockAfterUnacked, tokenTtlMs, rate, autoLockAfterMs, idempotentEnd",
    },
    readyFile: { flag: "--ready-file <file>", help: "written once it listens, with the control token (one for this user)" },
  },
  examples: ["vault sandbox start --seed demo", "vault sandbox start --port 4000 --data ./sandbox --token-ttl 30s --json"],
} as const satisfies Descriptor;

export type StartOptions = OptionsOf<typeof start>;

/** Of all commands that steer a running sandbox. */
const control = {
  readyFile: { flag: "--ready-file <file>", help: "the file that the running sandbox wrote (the one of this user)" },
} as const;

export const reset = {
  name: "reset",
  summary: "back to the seed, with new credentials (in the ready file), without faults",
  options: control,
  examples: ["vault sandbox reset", "vault sandbox reset --ready-file ./sandbox.json"],
  fields: ["vaults"],
} as const satisfies Descriptor;

export const audit = {
  name: "audit",
  summary: "print the audit items",
  options: {
    ...control,
    export: {
      flag: "--export <file>",
      help: "write them to a file instead, by its name: .ndjson, .jsonl, .json, .csv or .tsv, each also with .gz",
    },
  },
  examples: ["vault sandbox audit", "vault sandbox audit --export items.csv", "vault sandbox audit --export items.ndjson.gz"],
  fields: ["items", "file"],
} as const satisfies Descriptor;

export const lock = {
  name: "lock",
  summary: "lock a vault, as the console would",
  arguments: { uuid: { term: "<uuid>", help: "the vault", is: "uuid" } },
  options: control,
  examples: ["vault sandbox lock $VAULT", "vault sandbox lock $VAULT --json"],
  fields: ["vault"],
} as const satisfies Descriptor;

export const unlock = {
  name: "unlock",
  summary: "unlock a vault, as an administrator would",
  arguments: { uuid: { term: "<uuid>", help: "the vault", is: "uuid" } },
  options: control,
  examples: ["vault sandbox unlock $VAULT", "vault sandbox unlock $VAULT --json"],
  fields: ["vault"],
} as const satisfies Descriptor;

export const fault = {
  name: "fault",
  summary: "make it misbehave, by rule and by count",
  arguments: {
    faults: {
      term: "[faults...]",
      help: "TARGET:ACTION[@SKIP][*TIMES], like get-start:drop-after, end:delay=2s*3, start:status=429,retry-after=1",
    },
  },
  options: { ...control, clear: { flag: "--clear", help: "no faults any more" } },
  examples: [
    "vault sandbox fault get-end:drop-after",
    "vault sandbox fault 'get-start:status=503*2' end:delay=2s",
    "vault sandbox fault --clear",
  ],
  fields: ["armed"],
} as const satisfies Descriptor;
