import * as z from "zod/mini";
import { VaultError } from "../errors.ts";
import { kinds } from "../protocol/endpoints.ts";
import { base64, externalRef, uuid } from "../protocol/fields.ts";
import { validate } from "../protocol/validate.ts";
import type { RawInput } from "./act.ts";

/** Parts of option schemas that several commands share. Messages follow the name of the flag. */
const flag = z.optional(z.boolean());

export const kind = z.enum(kinds, { error: `must be one of ${kinds.join(", ")}` });
export const text = z.string().check(z.minLength(1, { error: "must not be empty" }));
export const wholeNumber = z.pipe(
  z.string().check(z.regex(/^[1-9]\d{0,8}$/, { error: "must be a whole number of at least 1, like 3" })),
  z.transform(Number),
);
export { base64, externalRef, flag, uuid };

/** How an option is written on the command line: externalRef → --external-ref. */
const flagName = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/**
 * Checks a command line against its schema; positional arguments come under the names in `positional`. Raises
 * `invalid-input` with the flag, the rule and an example.
 */
export function parseInput<T>(schema: z.core.$ZodType<T>, input: RawInput, positional: readonly string[] = []): T {
  const named = Object.fromEntries(positional.map((name, index) => [name, input.args[index]]));
  const checked = validate(schema, { ...input.options, ...named });
  if (checked.ok) return checked.value;
  const [first] = checked.violations;
  const [name = "", ...rest] = (first?.path ?? "").split(".");
  const shown = positional.includes(name) ? `<${name}>` : [flagName(name), ...rest].join(".");
  throw new VaultError("invalid-input", `${shown}: ${first?.rule ?? "does not fit"}`, {
    hint: "nothing was sent; see --help for examples",
  });
}
