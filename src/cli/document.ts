import type { ErrorFacts } from "../errors.ts";
import { VaultError } from "../errors.ts";
import { jsonText, printable } from "../terminal/redactor.ts";
import type { Deps, OutputChoice } from "../deps.ts";

/**
 * A document as stdout carries it: JSON, one field of it, or undefined where the command has a table to print. A field is
 * exact where a program reads it; a terminal is shown what would move its cursor.
 */
export function serialise(document: unknown, output: Pick<OutputChoice, "format" | "field">, isTTY: boolean): string | undefined {
  if (output.field !== undefined) {
    const value = fieldOf(document, output.field);
    const text = typeof value === "string" ? value : jsonText(value);
    return isTTY ? `${printable(text)}\n` : text;
  }
  if (output.format === "table") return undefined;
  return `${jsonText(document, output.format === "json" ? 2 : 0)}\n`;
}

/**
 * As `serialise`, for a command that has done something which is not undone by a --field that its document does not have:
 * that is a warning then, and nothing is printed.
 */
export function serialiseDone(document: unknown, { output, host, narrator }: Deps): string | undefined {
  try {
    return serialise(document, output, host.stdout.isTTY);
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    narrator.warn(`${error.message} (${error.facts.hint})`);
    return "";
  }
}

/** The value at a dotted path. Raises `usage` where there is none. */
export function fieldOf(document: unknown, path: string): unknown {
  let value: unknown = document;
  for (const part of path.split(".")) {
    const inner =
      typeof value === "object" && value !== null && Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined;
    if (inner === undefined) {
      const known = typeof value === "object" && value !== null ? Object.keys(value).join(", ") : "";
      throw new VaultError("usage", `--field ${path}: there is no ${part}`, {
        hint: known === "" ? "see --json for the document" : `there is: ${known}`,
      });
    }
    value = inner;
  }
  return value;
}

/** Refuses a --field that no document of this command can have, before anything is sent. Raises `usage`. */
export function checkField(field: string | undefined, roots: readonly string[]): void {
  if (field === undefined || roots.includes(field.split(".")[0] ?? "")) return;
  throw new VaultError("usage", `--field ${field}: must begin with one of ${roots.join(", ")}`, {
    hint: `--field ${roots[0]} prints the whole of it; --json shows the document`,
  });
}

/**
 * Prints what is done and cannot be undone. Where that fails it is said with it, so that nobody does it again for want of the
 * output; a reader that has gone is not worth a word.
 */
export async function writeDone(deps: Deps, text: string, done: string, facts: ErrorFacts): Promise<void> {
  try {
    await deps.host.stdout.write(text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof VaultError || code === undefined || code === "EPIPE") throw error;
    throw new VaultError("state", `${done}, but that could not be printed (${code})`, { retry: "after-status", ...facts, cause: error });
  }
}
