import packageJson from "../package.json" with { type: "json" };
import { asVaultError, VaultError } from "./errors.ts";
import type { Host } from "./host.ts";

export { createHost } from "./host.ts";

/** Runs one command line and resolves to its exit code. The only place where an outcome becomes one. */
export async function main(argv: readonly string[], host: Host): Promise<number> {
  const { version } = packageJson;
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  const edge: Edge = { json: asksForJson(words, host) };
  try {
    // Wherever it stands; as with node and docker, -v alone too.
    if (words.includes("--version") || words.includes("-V") || argv.join(" ") === "-v") {
      await host.stdout.write(`${edge.json ? JSON.stringify({ version }) : version}\n`);
      return 0;
    }
    const { runProgram } = await import("./commands/program.ts");
    const wiring = async () => await import("./app.ts");
    const run = runProgram(argv, { host, version, wiring, edge });
    return await Promise.race([run, host.uncaught]);
  } catch (error) {
    return await report(error, argv, host, edge);
  }
}

/** Whether a line asks for JSON, as far as its words tell before anything is loaded. */
function asksForJson(words: readonly string[], { env }: Host): boolean {
  const named = words.flatMap((word, index) => {
    const [, joined] = /^(?:-[qv]*o|--output(?:=|$))(.*)$/.exec(word) ?? [];
    return joined === "" ? words.slice(index + 1, index + 2) : (joined ?? []);
  });
  const format = named.at(-1) ?? env["VAULTSVC_OUTPUT"];
  return words.includes("--json") || format === "json" || format === "ndjson";
}

/** What reporting an error depends on. */
interface Edge {
  /** Whether errors are JSON: known for sure once the command line and the settings are read. */
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
  else {
    // What cannot be loaded must not end the process, which would be with 0.
    const lines = await import("./terminal/narrator.ts").then(
      ({ errorLines }) => errorLines(error, { self: host.actor, now: host.now() }),
      () => `vault: ${error.message}\n`,
    );
    await host.stderr.write(lines, error.facts.next);
  }
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
