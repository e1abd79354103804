import { VaultError } from "../errors.ts";
import type { ValueSources } from "../secrets/secret-value.ts";

/** Number of bytes that an option may read from standard input. */
const inputLimit = 64 * 1024 * 1024;

interface SourcesHost {
  env: ValueSources["env"];
  readFile(path: string): Promise<Uint8Array>;
  stdin: { readAll(limit: number): Promise<Uint8Array> };
}

/** The sources of option values. One option may read standard input, to its end; `isStdinTaken` says whether prompts lost it. */
export function valueSources(host: SourcesHost, warn: (message: string) => void): { sources: ValueSources; isStdinTaken: () => boolean } {
  let reader: string | undefined;
  const readStdin = async (flag: string): Promise<string> => {
    if (reader !== undefined) {
      throw new VaultError("usage", `${flag}: standard input was already read for ${reader}; only one option can use it`, {
        hint: "use @FILE or env:NAME for one of them",
      });
    }
    reader = flag;
    const bytes = await host.stdin.readAll(inputLimit);
    try {
      return exactText(bytes);
    } catch {
      throw new VaultError("invalid-input", `${flag}: standard input must be UTF-8`, { hint: "nothing was sent" });
    }
  };
  const readFile = async (path: string): Promise<string> => exactText(await host.readFile(path));
  return { sources: { env: host.env, readFile, readStdin, warn }, isStdinTaken: () => reader !== undefined };
}

/**
 * Decodes UTF-8 exactly, because replacement characters would change the value.
 * @throws Error with code `not UTF-8`
 */
function exactText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw Object.assign(new Error("not UTF-8", { cause }), { code: "not UTF-8" });
  }
}
