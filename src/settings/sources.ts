import { VaultError } from "../errors.ts";
import type { ValueSources } from "../secrets/secret-value.ts";
import { readSecret, readValue } from "../secrets/secret-value.ts";
import type { Sourced } from "./definitions.ts";

/** Number of bytes that an option may read from standard input. */
const inputLimit = 64 * 1024 * 1024;

interface SourcesHost {
  env: ValueSources["env"];
  readFile(path: string): Promise<Uint8Array>;
  fileChunks(path: string): AsyncIterable<Uint8Array>;
  stdin: { readAll(limit: number): Promise<Uint8Array>; chunks(): AsyncIterable<Uint8Array> };
}

/** The sources of option values. One option may read standard input, to its end; `isStdinTaken` says whether prompts lost it. */
export function valueSources(
  host: SourcesHost,
  warn: (message: string) => void,
): { sources: ValueSources; isStdinTaken: () => boolean } {
  let reader: string | undefined;
  const takeStdin = (flag: string): void => {
    if (reader !== undefined) {
      throw new VaultError(
        "usage",
        `${flag}: standard input was already read for ${reader}; only one option can use it`,
        {
          hint: "use @FILE or env:NAME for one of them",
        },
      );
    }
    reader = flag;
  };
  const notUtf8 = (flag: string): VaultError =>
    new VaultError("invalid-input", `${flag}: standard input must be UTF-8`, {
      hint: "nothing was sent",
    });
  const sources: ValueSources = {
    env: host.env,
    readFile: async (path) => exactText(await host.readFile(path)),
    async readStdin(flag) {
      takeStdin(flag);
      const bytes = await host.stdin.readAll(inputLimit);
      try {
        return exactText(bytes);
      } catch {
        throw notUtf8(flag);
      }
    },
    async *readPieces(path, flag) {
      if (path === "-") takeStdin(flag);
      yield* path === "-"
        ? exactPieces(host.stdin.chunks(), () => notUtf8(flag))
        : exactPieces(host.fileChunks(path), notExact);
    },
    warn,
  };
  return { sources, isStdinTaken: () => reader !== undefined };
}

const notExact = (cause: unknown): Error =>
  Object.assign(new Error("not UTF-8", { cause }), { code: "not UTF-8" });

const exactDecoder = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes UTF-8 exactly, because replacement characters would change the value.
 * @throws Error with code `not UTF-8`
 */
function exactText(bytes: Uint8Array): string {
  try {
    return exactDecoder().decode(bytes);
  } catch (cause) {
    throw notExact(cause);
  }
}

/** Decodes chunks in the same way; `failure` makes the error for what is not UTF-8. */
async function* exactPieces(
  chunks: AsyncIterable<Uint8Array>,
  failure: (cause: unknown) => Error,
): AsyncGenerator<string> {
  const decoder = exactDecoder();
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      throw failure(cause);
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}

/** What reading a setting may touch, besides its text. */
export interface SettingIo {
  host: {
    env: Readonly<Record<string, string | undefined>>;
    readFile(path: string): Promise<Uint8Array>;
    now(): number;
    /** Kills a process group. */
    endGroup(pid: number): void;
    stderr: { writeColored(text: string): unknown };
  };
  sources: ValueSources;
  redactor: { add: (secret: string) => void; redact: (text: string) => string };
}

/** Reads and registers a secret: from a flag in any form, from environment or profile as `@FILE` or the value itself. */
export async function readGiven(
  { sources, redactor }: Pick<SettingIo, "redactor" | "sources">,
  { text, source, fromFlag }: Sourced,
): Promise<string> {
  const literal = !fromFlag && !text.startsWith("@");
  const value = literal ? text : await (fromFlag ? readSecret : readValue)(text, source, sources);
  redactor.add(value);
  return value;
}

/** The text of a file, decoded leniently, since comments around certificates may not be UTF-8. Rejects with Node's error. */
export const readText = async ({ host }: Pick<SettingIo, "host">, path: string): Promise<string> =>
  Buffer.from(await host.readFile(path)).toString("utf8");
