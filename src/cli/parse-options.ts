import * as z from "zod/mini";
import { VaultError } from "../errors.ts";
import { validate } from "../protocol/validate.ts";
import type { Descriptor, OptionsOf, RawInput } from "./command.ts";
import { optionTypes } from "./option-types.ts";

/**
 * Checks a command line against the descriptor of its command.
 *
 * @throws `invalid-input` with the flag, the rule and an example.
 */
export function parseOptions<D extends Descriptor>(descriptor: D, input: RawInput): OptionsOf<D> {
  const { arguments: terms = {}, options = {} } = descriptor;
  const named = Object.fromEntries(
    Object.keys(terms).map((name, index) => [name, input.args[index]]),
  );
  const schema = z.object({
    ...mapValues(terms, ({ value }) => value?.(optionTypes) ?? z.any()),
    ...mapValues(options, ({ value }) => z.optional(value?.(optionTypes) ?? z.boolean())),
  });
  const checked = validate(schema, { ...input.options, ...named });
  if (checked.ok) return checked.value as OptionsOf<D>;
  const [first] = checked.violations;
  const [name = "", ...rest] = (first?.path ?? "").split(".");
  const shown = Object.hasOwn(terms, name) ? `<${name}>` : [flagName(name), ...rest].join(".");
  throw new VaultError("invalid-input", `${shown}: ${first?.rule ?? "does not fit"}`, {
    hint: "nothing was sent; --help shows examples",
  });
}

/** How an option is written on the command line: externalRef → --external-ref. */
const flagName = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const mapValues = <T, U>(
  record: Readonly<Record<string, T>>,
  map: (value: T) => U,
): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
