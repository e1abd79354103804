import packageJson from "../package.json" with { type: "json" };
import { asVaultError, VaultError } from "./errors.ts";
import type { Host } from "./host.ts";

export { createHost } from "./host.ts";

/** Runs one command line and resolves to its exit code. The only place where an outcome becomes one. */
export async function main(argv: readonly string[], host: Host): Promise<number> {
  const { version } = packageJson;
  const edge: Edge = { json: false };
  try {
    const shown = shownVersion(argv, host);
    if (shown !== undefined) {
      await host.stdout.write(shown);
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

/** The answer to --version, wherever it stands; as with node and docker, -v alone too. */
function shownVersion(argv: readonly string[], host: Host): string | undefined {
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  const isAsked = words.some((word) => word === "--version" || word === "-V");
  if (!isAsked && argv.join(" ") !== "-v") return undefined;
  const { version } = packageJson;
  // Of all that may stand beside it, only --json and -o json end so.
  const isJson = [...words, host.env["VAULTSVC_OUTPUT"] ?? ""].some((word) =>
    word.endsWith("json"),
  );
  return `${isJson ? JSON.stringify({ version }) : version}\n`;
}

/** What reporting an error depends on. */
interface Edge {
  /** Whether errors are JSON: known once the command line is read. */
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
