import * as z from "zod/mini";
import type { ValueSources } from "../secrets/secret-value.ts";
import { optionTypes } from "../cli/option-types.ts";
import type { ErrorKind } from "../errors.ts";
import { VaultError } from "../errors.ts";
import { device, uuid } from "../protocol/fields.ts";
import { parseGivenJson } from "../protocol/json.ts";
import { validate } from "../protocol/validate.ts";

/** Given or stored credentials, or a recovery document; `parseCredentials` checks which. */
export const givenCredentials = z.looseObject(
  {},
  { error: 'must be an object, such as {"encryptedData":"…","payload":"…"}' },
);

/** Properties of one vault in a file of many. */
export const vaultProperties = {
  uuid,
  kind: z.optional(optionTypes.kind),
  credentials: z.optional(givenCredentials),
  device: z.optional(device),
  label: z.optional(z.nullable(optionTypes.label)),
};

/** A file of vaults that a flag names; `-` is standard input. */
interface VaultFile {
  flag: string;
  path: string;
  /** A command line that reads one, for hints. */
  example: string;
}

export interface Line {
  /** From 1. */
  number: number;
  text: string;
}

/**
 * Yields the lines of a file, without the empty ones, as they are read: those of each piece together, which a long file makes
 * worthwhile.
 * @throws `invalid-input` if it cannot be read, `interrupted`
 */
export async function* linesOf(sources: ValueSources, file: VaultFile): AsyncGenerator<Line[]> {
  let count = 0;
  // Of a line whose end has not come: put together once, since it may be as long as the file.
  let rest: string[] = [];
  const numbered = (texts: readonly string[]): Line[] => {
    const first = count + 1;
    count += texts.length;
    return texts
      .map((text, index) => ({ number: first + index, text }))
      .filter(({ text }) => text.trim() !== "");
  };
  for await (const piece of readable(sources, file)) {
    const end = piece.lastIndexOf("\n");
    if (end >= 0) {
      yield numbered([...rest, piece.slice(0, end)].join("").split("\n"));
      rest = [];
    }
    rest.push(piece.slice(end + 1));
  }
  yield numbered([rest.join("")]);
}

async function* readable(
  sources: ValueSources,
  { flag, path, example }: VaultFile,
): AsyncGenerator<string> {
  try {
    yield* sources.readPieces(path, flag);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof VaultError || path === "-" || code === undefined) throw cause;
    throw new VaultError("invalid-input", `${flag}: cannot read the file ${path} (${code})`, {
      hint: `${example} (or ${flag} -, for standard input)`,
      cause,
    });
  }
}

/**
 * Parses and checks one vault of such a file; `where` names its place.
 * @throws `invalid-input`, which names the property and the rule and never shows a value
 */
export function readObject<T>(
  text: string,
  schema: z.core.$ZodType<T>,
  where: string,
  hint: string,
): T {
  return checkObject(parseGivenJson(text, where, hint), schema, where, hint);
}

/** As `readObject`, of what is parsed already. */
export function checkObject<T>(
  value: unknown,
  schema: z.core.$ZodType<T>,
  where: string,
  hint: string,
): T {
  const checked = validate(schema, value);
  if (checked.ok) return checked.value;
  const [first] = checked.violations;
  throw new VaultError(
    "invalid-input",
    `${where}: ${[first?.path, first?.rule].filter(Boolean).join(" ")}`,
    { hint },
  );
}

/** The error with its place in the file before it. */
export const placed = (
  where: string,
  error: VaultError,
  code: ErrorKind = error.code,
): VaultError => new VaultError(code, `${where}: ${error.message}`, error.facts);
