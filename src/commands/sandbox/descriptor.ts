import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";

export function defineSandbox(program: Command, act: Act): void {
  const sandbox = program
    .command("sandbox")
    .summary("the service, emulated on this machine")
    .helpCommand("help [command]", "show the help of a command")
    .description("The service, emulated on this machine: to try things, and to run integration tests against.")
    .addHelpText("after", examples("vault sandbox start --seed demo", "vault sandbox audit"));
  defineStart(sandbox, act);
  const control = (name: string, summary: string, ...lines: string[]): Command =>
    sandbox
      .command(name)
      .summary(summary)
      .description(summary[0]?.toUpperCase() + summary.slice(1) + ".")
      .option("--ready-file <file>", "the file that the running sandbox wrote (the one of this user)")
      .addHelpText("after", examples(...lines));
  control(
    "reset",
    "back to the seed, with new credentials (in the ready file), without faults",
    "vault sandbox reset",
    "vault sandbox reset --ready-file ./sandbox.json",
  ).action(act(async () => (await import("./control.ts")).runReset));
  control(
    "audit",
    "print the audit items",
    "vault sandbox audit",
    "vault sandbox audit --export items.csv",
    "vault sandbox audit --export items.ndjson.gz",
  )
    .option("--export <file>", "write them to a file instead, by its name: .ndjson, .jsonl, .json, .csv or .tsv, each also with .gz")
    .action(act(async () => (await import("./control.ts")).runAudit));
  control("lock", "lock a vault, as the console would", "vault sandbox lock $VAULT", "vault sandbox lock $VAULT --json")
    .argument("<uuid>", "the vault")
    .action(act(async () => (await import("./control.ts")).runLock));
  control("unlock", "unlock a vault, as an administrator would", "vault sandbox unlock $VAULT", "vault sandbox unlock $VAULT --json")
    .argument("<uuid>", "the vault")
    .action(act(async () => (await import("./control.ts")).runUnlock));
  control(
    "fault",
    "make it misbehave, by rule and by count",
    "vault sandbox fault get-end:drop-after",
    "vault sandbox fault 'get-start:status=503*2' end:delay=2s",
    "vault sandbox fault --clear",
  )
    .argument("[faults...]", "TARGET:ACTION[@SKIP][*TIMES], like get-start:drop-after, end:delay=2s*3, start:status=429,retry-after=1")
    .option("--clear", "no faults any more")
    .action(act(async () => (await import("./control.ts")).runFault));
}

function defineStart(sandbox: Command, act: Act): void {
  sandbox
    .command("start")
    .summary("start it on loopback; it serves until interrupted")
    .description("Start the emulated service on 127.0.0.1; it serves until interrupted. It keeps the rate limit that --rate gives.")
    .option("--port <n>", "the port to listen on (any free one)")
    .option("--data <directory>", "keep its vaults there, across restarts")
    .option("--seed <seed>", "demo, or a JSON file with a list of vaults (demo)")
    .option("--token-ttl <duration>", "how long a transaction token lives (5m)")
    .option("--latency <duration>", "to wait before each answer (none)")
    .option("--policy <file>", "JSON with lockAfterFailed, lockAfterUnacked, tokenTtlMs, rate, autoLockAfterMs, idempotentEnd")
    .option("--ready-file <file>", "written once it listens, with the control token (one for this user)")
    .addHelpText(
      "after",
      examples("vault sandbox start --seed demo", "vault sandbox start --port 4000 --data ./sandbox --token-ttl 30s --json"),
    )
    .action(act(async () => (await import("./start.ts")).runStart));
}
