import { InvalidArgumentError } from "commander";
import { isPrintableLine } from "../terminal/redactor.ts";
import { externalRefRule, isExternalRef, isUuid, uuidRule } from "../protocol/limits.ts";

/** `one of a, b, c`, or `a or b`. */
export const oneOf = (words: readonly string[]): string =>
  words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;

/** Makes the reader of a value: the rule continues the name of its flag. */
export const valueOf =
  <T = string>(rule: string, isValid: (text: string) => boolean, read?: (text: string) => T) =>
  (text: string): T => {
    if (!isValid(text)) throw new InvalidArgumentError(rule);
    return read === undefined ? (text as T) : read(text);
  };

export const text = valueOf("must not be empty", (value) => value !== "");

/** Any text, the empty one too. */
export const anyText = (value: string): string => value;

/** Two labels that look alike must not be two vaults, and none may pass for a UUID or for lines of this program. */
export function isLabel(value: string): boolean {
  const shown = value.replaceAll(/\p{Extended_Pictographic}\uFE0F/gu, "");
  const isPlain = isPrintableLine(shown) && !/[\uFE0E\uFE0F]/.test(shown);
  return value.trim() !== "" && isPlain && !isUuid(value);
}
export const labelRule =
  "must be one line without invisible characters, and no UUID, such as 'spare card'";
export const label = valueOf(labelRule, isLabel);

export const uuid = valueOf(uuidRule, isUuid, (value) => value.toLowerCase());

export const externalRef = valueOf(externalRefRule, isExternalRef);

/** Also part of an idempotency key. */
export const runName = valueOf(
  "must be 1 to 64 letters, digits, dots, hyphens or underscores",
  (value) => /^[\w.-]{1,64}$/.test(value),
);

const numberOf = (rule: string, pattern: RegExp) =>
  valueOf(rule, (value) => pattern.test(value), Number);

export const wholeNumber = numberOf(
  "must be a whole number of at least 1, such as 3",
  /^[1-9]\d{0,8}$/,
);
export const count = numberOf(
  "must be a whole number of at least 0, such as 1",
  /^(?:0|[1-9]\d{0,8})$/,
);

export const port = valueOf(
  "must be a port from 0 to 65535, such as 4000",
  (value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535,
  Number,
);

export const listOf = <const T extends string>(words: readonly T[]) =>
  valueOf(
    `must be one or more of ${words.join(", ")}, separated by commas`,
    (value) => value.split(",").every((one) => (words as readonly string[]).includes(one.trim())),
    (value) => value.split(",").map((one) => one.trim() as T),
  );
