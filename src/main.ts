import packageJson from "../package.json" with { type: "json" };
import { asVaultError, VaultError } from "./errors.ts";
import type { Host } from "./host.ts";

/** Runs one command line and resolves to its exit code. The only place where an outcome becomes one. */
export async function main(argv: readonly string[], host: Host): Promise<number> {
  const { version } = packageJson;
  const edge: Edge = { json: wantsJson(argv, host) };
  const shownVersion = edge.json ? JSON.stringify({ version }) : version;
  try {
    // As with node and docker, -v alone too: there is nothing to say more about.
    if (argv.length === 1 && ["--version", "-V", "-v"].includes(argv[0] ?? "")) {
      await host.stdout.write(`${shownVersion}\n`);
      return 0;
    }
    if (asksForDetails(argv)) {
      await host.stdout.write(
        (await import("./commands/version.ts")).detailedVersion(version, host, edge.json),
      );
      return 0;
    }
    const { runProgram } = await import("./commands/program.ts");
    const wiring = async () => await import("./app.ts");
    const run = runProgram(argv, { host, version, shownVersion, wiring, edge });
    return await Promise.race([run, host.uncaught]);
  } catch (error) {
    return await report(error, argv, host, edge);
  }
}

/** Whether the words are --version and --verbose, and no command's. */
function asksForDetails(words: readonly string[]): boolean {
  const has = (...names: string[]): boolean => words.some((word) => names.includes(word));
  return (
    has("--version", "-V") &&
    has("--verbose", "-v") &&
    words.every((word) => /^(--version|-V|--verbose|-v|--json)$/.test(word))
  );
}

/** What reporting an error depends on. */
interface Edge {
  /** Whether errors are JSON: decided from the command line until the settings are known. */
  json: boolean;
}

async function report(
  thrown: unknown,
  argv: readonly string[],
  host: Host,
  { json }: Edge,
): Promise<number> {
  const error = stoppedBySignal(asVaultError(outputFailure(thrown) ?? thrown), host);
  if (error.code === "internal" && (argv.includes("--debug") || host.env["VAULTSVC_DEBUG"]))
    await host.stderr.write(`${String((error.cause as Error).stack)}\n`);
  if (json) await host.stderr.writeJson({ error: error.toJSON() });
  else
    await host.stderr.write(
      (await import("./terminal/narrator.ts")).errorLines(error, {
        self: host.actor,
        now: host.now(),
      }),
      error.facts.next,
    );
  return error.exitCode;
}

/** Gives what SIGTERM or SIGHUP stopped the exit code that a shell gives for the signal; Ctrl-C has the kind's own. */
function stoppedBySignal(error: VaultError, host: Host): VaultError {
  if (error.code !== "interrupted") return error;
  const { signal } = (host.interrupted.reason ?? {}) as { signal?: string };
  const exitCode = signal === "SIGTERM" ? 143 : signal === "SIGHUP" ? 129 : undefined;
  return error.with({ exitCode });
}

/** Recognizes a failed write to standard output, which comes as the system's error: all else that is written has errors of its own. */
function outputFailure(thrown: unknown): VaultError | undefined {
  const { code, syscall } = thrown as NodeJS.ErrnoException;
  if (
    thrown instanceof VaultError ||
    code === undefined ||
    (syscall !== "write" && syscall !== "fsync")
  )
    return undefined;
  const reasons: Record<string, string> = { ENOSPC: "the disk is full", EPIPE: "it was closed" };
  return new VaultError("state", `the output could not be written: ${reasons[code] ?? code}`, {
    hint: "the command has done its work; send its output elsewhere, and run it again",
    cause: thrown,
  });
}

/** `-o` may stand behind other letters: `-qo json`. */
const outputFlag = /^(?:--output|-[qvhV]*o)(?:=?)(.*)$/;

/** Whether errors are JSON: decided from the words alone, because the command line itself may be what is wrong. */
function wantsJson(argv: readonly string[], host: Host): boolean {
  const formats = ["json", "ndjson"];
  // What follows is for another program.
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  const asked = words.some((word, index) => {
    if (word === "--json") return true;
    const [, inline] = outputFlag.exec(word) ?? [];
    return formats.includes(inline === "" ? (words[index + 1] ?? "") : (inline ?? ""));
  });
  const overruled = words.some((word) => outputFlag.test(word));
  return asked || (!overruled && formats.includes(host.env["VAULTSVC_OUTPUT"] ?? ""));
}
