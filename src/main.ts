import packageJson from "../package.json" with { type: "json" };
import { asVaultError } from "./errors.ts";
import type { Host } from "./host.ts";

/** Runs one command line and resolves to its exit code. The only place where an outcome becomes one. */
export async function main(argv: readonly string[], host: Host): Promise<number> {
  try {
    if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
      await host.stdout.write(`${packageJson.version}\n`);
      return 0;
    }
    const { runProgram } = await import("./program.ts");
    const { exitCode, text } = await runProgram(argv, host, packageJson.version);
    if (text !== "") await host.stdout.write(text);
    return exitCode;
  } catch (error) {
    return await report(error, argv, host);
  }
}

async function report(thrown: unknown, argv: readonly string[], host: Host): Promise<number> {
  const { code } = thrown as NodeJS.ErrnoException;
  // The reader of help or a report has gone: not worth a word, and nothing is lost.
  const error = asVaultError(thrown);
  if (error.code === "internal" && code === "EPIPE") return 0;
  const { errorLines } = await import("./terminal/narrator.ts");
  await host.stderr.write(`${errorLines(error, wantsJson(argv, host))}\n`);
  if (error.code === "internal" && argv.includes("--debug")) await host.stderr.write(`${String((thrown as Error).stack)}\n`);
  return error.exitCode;
}

/** Whether errors are JSON: decided from the words alone, because the command line itself may be what is wrong. */
function wantsJson(argv: readonly string[], host: Host): boolean {
  const formats = ["json", "ndjson"];
  const asked = argv.some((word, index) => {
    if (word === "--json") return true;
    const [, inline] = /^(?:--output=|-o=?)(.+)$/.exec(word) ?? [];
    const value = word === "--output" || word === "-o" ? argv[index + 1] : inline;
    return formats.includes(value ?? "");
  });
  const overruled = argv.some((word) => /^(-o|--output)/.test(word));
  return asked || (!overruled && formats.includes(host.env["VAULTSVC_OUTPUT"] ?? ""));
}
