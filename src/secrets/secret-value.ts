import { VaultError } from "../errors.ts";

/** Sources of option values, besides the command line itself. */
export interface ValueSources {
  env: Readonly<Record<string, string | undefined>>;
  /** The exact text of a file. Rejects with Node's error, or with code `not UTF-8`. */
  readFile(path: string): Promise<string>;
  /**
   * Reads all of standard input, for one option.
   * @throws `usage` for a second option
   */
  readStdin(flag: string): Promise<string>;
  /** The same text of a file, or of standard input (`-`), piece by piece. Rejects as these two do. */
  readPieces(path: string, flag: string): AsyncIterable<string>;
  warn(message: string): void;
}

/** Whether a value is read from standard input. */
export const isStdin = (spec: string): boolean => spec === "-" || spec === "@-";

/**
 * Reads the value of an option: `@FILE`, `-` or `@-` (stdin), `env:NAME`, or a literal. Strips one final newline of a file or of
 * stdin.
 * @throws `invalid-input`, which names the flag and never shows a value
 */
export async function readValue(
  spec: string,
  flag: string,
  sources: ValueSources,
): Promise<string> {
  const text = await readExactly(spec, flag, sources);
  return spec === "-" || spec.startsWith("@") ? stripNewline(text) : text;
}

/** As `readValue`, but keeps the newline. */
export async function readExactly(
  spec: string,
  flag: string,
  sources: ValueSources,
): Promise<string> {
  if (isStdin(spec)) return nonEmpty(await sources.readStdin(flag), flag, "standard input");
  if (spec.startsWith("@")) {
    const path = spec.slice(1);
    try {
      return nonEmpty(await sources.readFile(path), flag, path);
    } catch (error) {
      if (error instanceof VaultError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      throw new VaultError(
        "invalid-input",
        `${flag}: cannot read the file ${path || '""'} (${code ?? "unreadable"})`,
        {
          hint: `${flag} @FILE needs a readable file: relative paths begin in the current folder`,
        },
      );
    }
  }
  if (spec.startsWith("env:")) {
    const name = spec.slice(4);
    const value = sources.env[name];
    if (value === undefined || value === "") {
      throw new VaultError(
        "invalid-input",
        `${flag}: the environment variable ${name || '""'} is not set`,
        {
          hint: `export ${name || "NAME"}=…`,
        },
      );
    }
    return value;
  }
  return spec;
}

/** Reads a secret. Warns about a literal, because other users can see it in the process list. */
export async function readSecret(
  spec: string,
  flag: string,
  sources: ValueSources,
  read = readValue,
): Promise<string> {
  const isLiteral = spec !== "-" && !spec.startsWith("@") && !spec.startsWith("env:");
  if (isLiteral) {
    sources.warn(
      `${flag} has a secret on the command line, where other users of this machine can see it; use ${flag} @FILE, - or env:NAME`,
    );
  }
  return await read(spec, flag, sources);
}

const stripNewline = (text: string): string => text.replace(/\r?\n$/, "");

function nonEmpty(text: string, flag: string, where: string): string {
  if (stripNewline(text) !== "") return text;
  throw new VaultError("invalid-input", `${flag}: ${where} is empty`, {
    hint: "put the value there, or use another form: @FILE, -, env:NAME",
  });
}
