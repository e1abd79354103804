import { VaultError } from "../errors.ts";

/** Where values of options come from, besides the command line itself. */
export interface ValueSources {
  env: Readonly<Record<string, string | undefined>>;
  /** The text of a file, exactly; rejects with Node's error, and with the code `not UTF-8`. */
  readFile(path: string): Promise<string>;
  /**
   * All of standard input, for one option.
   * @throws `usage` for a second one
   */
  readStdin(flag: string): Promise<string>;
  warn(message: string): void;
}

/** Whether a value is read from standard input: `-`, and `@-` for those who think of it as a file. */
export const isStdin = (spec: string): boolean => spec === "-" || spec === "@-";

/**
 * The value of an option in the forms of the contract: `@FILE`, `-` or `@-` (stdin), `env:NAME`, or a literal. One final newline
 * of a file or of stdin is not part of the value.
 * @throws `invalid-input` naming the flag, never showing a value
 */
export async function readValue(spec: string, flag: string, sources: ValueSources): Promise<string> {
  const text = await readExactly(spec, flag, sources);
  return spec === "-" || spec.startsWith("@") ? stripNewline(text) : text;
}

/** As readValue, with the newline: byte for byte what was given. */
export async function readExactly(spec: string, flag: string, sources: ValueSources): Promise<string> {
  if (isStdin(spec)) return nonEmpty(await sources.readStdin(flag), flag, "standard input");
  if (spec.startsWith("@")) {
    const path = spec.slice(1);
    try {
      return nonEmpty(await sources.readFile(path), flag, path);
    } catch (error) {
      if (error instanceof VaultError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      throw new VaultError("invalid-input", `${flag}: cannot read the file ${path || '""'} (${code ?? "unreadable"})`, {
        hint: `${flag} @FILE needs a file that you can read, like ${flag} @./secret.json`,
      });
    }
  }
  if (spec.startsWith("env:")) {
    const name = spec.slice(4);
    const value = sources.env[name];
    if (value === undefined || value === "") {
      throw new VaultError("invalid-input", `${flag}: the environment variable ${name || '""'} is not set`, {
        hint: `export ${name || "NAME"}=…`,
      });
    }
    return value;
  }
  return spec;
}

/** Reads a secret: a literal draws a warning, because other users can see it in the process list. */
export async function readSecret(spec: string, flag: string, sources: ValueSources, read = readValue): Promise<string> {
  const isLiteral = spec !== "-" && !spec.startsWith("@") && !spec.startsWith("env:");
  if (isLiteral) {
    sources.warn(
      `${flag} has its secret on the command line, where other users of this machine can see it: use ${flag} @FILE, - or env:NAME`,
    );
  }
  return await read(spec, flag, sources);
}

const stripNewline = (text: string): string => text.replace(/\r?\n$/, "");

function nonEmpty(text: string, flag: string, where: string): string {
  if (stripNewline(text) !== "") return text;
  throw new VaultError("invalid-input", `${flag}: ${where} is empty`, {
    hint: `give the value in it, or another form: @FILE, -, env:NAME`,
  });
}
