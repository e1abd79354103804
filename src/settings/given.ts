import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";

/** A value as it was given, with its source, as errors name it. */
export interface Sourced {
  text: string;
  source: string;
  /** A profile has secrets sealed. */
  from: "flag" | "variable" | "profile" | "default";
}

/** Where secrets and documents come from, besides the command line itself. */
export interface ValueSources {
  env: Readonly<Record<string, string | undefined>>;
  /**
   * Reads the text of a file, or of standard input (`-`), which one option alone can have, exactly. Errors call it `shown`.
   * @throws `invalid-input`, `usage` for a second option; both name `source`
   */
  read(path: string, source: string, shown?: string): Promise<string>;
  warn(message: string): void;
}

/** Number of bytes that an option may read from standard input: what a text can hold. */
const inputLimit = 512 * 1024 * 1024;

interface SourcesHost {
  env: ValueSources["env"];
  readFile(path: string): Promise<Uint8Array>;
  stdin: { readAll(limit: number): Promise<Uint8Array> };
}

/** Makes the sources. `isStdinTaken` says whether prompts lost standard input. */
export function valueSources(
  host: SourcesHost,
  warn: (message: string) => void,
): { sources: ValueSources; isStdinTaken: () => boolean } {
  let reader: string | undefined;
  const read: ValueSources["read"] = async (path, source, shown = placeOf(path)) => {
    if (path === "-" && reader !== undefined)
      throw new VaultError(
        "usage",
        `${source}: standard input was already read for ${reader}; only one option can use it`,
        { hint: "use @FILE or env:NAME for one of them" },
      );
    if (path === "-") reader = source;
    const whole = path === "-" ? host.stdin.readAll(inputLimit) : host.readFile(path);
    const bytes = await whole.catch((cause: NodeJS.ErrnoException) => {
      if (cause instanceof VaultError || cause.code === undefined) throw cause;
      throw refused(`cannot read ${shown} (${cause.code})`, source, cause);
    });
    // Exactly: replacement characters would change the value, and a mark is part of what a hash is taken of.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const text = attempt(() => decoder.decode(bytes));
    if (text === undefined) throw refused(`${shown} must be UTF-8`, source);
    return text;
  };
  return { sources: { env: host.env, read, warn }, isStdinTaken: () => reader !== undefined };
}

const placeOf = (path: string): string =>
  path === "-" ? "standard input" : `the file ${path || '""'}`;

const refused = (why: string, source: string, cause?: unknown): VaultError =>
  new VaultError("invalid-input", `${source}: ${why}`, {
    hint: "nothing was sent; a relative path (FILE, @FILE) starts in the current folder",
    cause,
  });

/** Whether a value is read from standard input. */
export const isStdin = (spec: string): boolean => spec === "-" || spec === "@-";

/** Whether a value stands on the command line itself. */
export const isLiteral = (spec: string): boolean => !/^(?:@|env:|-$)/.test(spec);

/**
 * Reads a secret or a document: `@FILE`, `-` or `@-` (stdin), `env:NAME`, or a literal.
 * @throws `invalid-input`, which names the flag and never shows a value
 */
export const readValue = async (
  spec: string,
  flag: string,
  sources: ValueSources,
): Promise<string> => meant(await readExactly(spec, flag, sources), flag);

/** As `readValue`, byte for byte. */
async function readExactly(spec: string, flag: string, sources: ValueSources): Promise<string> {
  if (isStdin(spec)) return await sources.read("-", flag);
  if (spec.startsWith("@")) return await sources.read(spec.slice(1), flag);
  if (!spec.startsWith("env:")) return spec;
  const name = spec.slice(4);
  const value = sources.env[name];
  if (value !== undefined && value !== "") return value;
  throw new VaultError(
    "invalid-input",
    `${flag}: the environment variable ${name || '""'} is not set`,
    { hint: "set and export it, or use @FILE or -" },
  );
}

/**
 * The text that a person means: without the byte order mark and the final newlines that editors and shells add.
 * @throws `invalid-input` if nothing is left
 */
export function meant(exact: string, source: string): string {
  const text = exact.replace(/^\uFEFF/, "").replace(/[\r\n]+$/, "");
  if (text !== "") return text;
  throw new VaultError("invalid-input", `${source}: the value is empty`, {
    hint: "give a value, or use @FILE, - or env:NAME",
  });
}

/** The warning about a literal: other users can see it in the process list. `use` is a safer way. */
export const secretSeen = (flag: string, use: string): string =>
  `${flag} has a secret on the command line, where other users of this machine can see it; use ${use}`;

/** Everything that reading a setting may touch, besides its text. */
export interface SettingIo {
  host: {
    env: Readonly<Record<string, string | undefined>>;
    now(): number;
    /** Kills a process group. */
    endGroup(pid: number): void;
    stderr: { write(text: string): unknown };
  };
  sources: ValueSources;
  redactor: { add: (secret: string) => void; holds: (text: string) => boolean };
}

/**
 * Reads and registers a secret: from a flag in any form, with a warning about a literal, from environment or profile as `@FILE` or the
 * value itself. `how`: each byte counts, as in contents.
 * @throws `invalid-input`, which names the source and never shows a value
 */
export async function readSecret(
  { sources, redactor }: { sources: ValueSources; redactor: Pick<SettingIo["redactor"], "add"> },
  { text, source, from }: Sourced,
  how?: "exactly",
): Promise<string> {
  if (from === "flag" && isLiteral(text))
    sources.warn(secretSeen(source, `${source} @FILE, - or env:NAME`));
  // A secret in a variable that begins with @ is taken for a path, and not shown.
  const exact =
    from === "flag"
      ? await readExactly(text, source, sources)
      : text.startsWith("@")
        ? await sources.read(text.slice(1), source, "the file that it names")
        : text;
  const value = how === "exactly" ? exact : meant(exact, source);
  redactor.add(value);
  return value;
}
