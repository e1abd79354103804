import * as z from "zod/mini";
import { kinds, operations } from "../protocol/endpoints.ts";
import { dateTime, externalRef, isUuid, uuid } from "../protocol/fields.ts";

/** Two labels that look alike must not be two vaults, and none may pass for a UUID or for lines of this program. */
function isLabel(text: string): boolean {
  const shown = text.replaceAll(/\p{Extended_Pictographic}\uFE0F/gu, "");
  const isPlain = !/[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\uFFF9-\uFFFB]/u.test(shown);
  return text.trim() !== "" && text.isWellFormed() && isPlain && !isUuid(text);
}

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535;

/** One of several words. */
const oneOf = <const T extends readonly string[]>(words: T) =>
  z.enum(words, {
    error: `must be ${words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`}`,
  });

/** Several of them, separated by commas. */
const listOf = <const T extends readonly string[]>(words: T) =>
  z.pipe(
    z.string().check(
      z.refine((value) => value.split(",").every((one) => words.includes(one.trim())), {
        error: `must be one or more of ${words.join(", ")}, separated by commas`,
      }),
    ),
    z.transform((value) => value.split(",").map((one) => one.trim() as T[number])),
  );

/** What the schemas of options and arguments are made of. An error message continues the name of the flag. */
export const optionTypes = {
  oneOf,
  listOf,
  many: <T extends z.ZodMiniType>(one: T) => z.array(one),
  optional: <T extends z.ZodMiniType>(one: T) => z.optional(one),
  text: z.string().check(z.minLength(1, { error: "must not be empty" })),
  any: z.string(),
  label: z.string().check(
    z.refine(isLabel, {
      error: "must be one line without invisible characters, and no UUID, such as 'spare card'",
    }),
  ),
  externalRef,
  uuid,
  dateTime,
  kind: oneOf(kinds),
  operation: oneOf(operations),
  /** Also part of an idempotency key. */
  runName: z.string().check(
    z.regex(/^[\w.-]{1,64}$/, {
      error: "must be 1 to 64 letters, digits, dots, hyphens or underscores",
    }),
  ),
  wholeNumber: z.pipe(
    z
      .string()
      .check(
        z.regex(/^[1-9]\d{0,8}$/, { error: "must be a whole number of at least 1, such as 3" }),
      ),
    z.transform(Number),
  ),
  count: z.pipe(
    z.string().check(
      z.regex(/^(?:0|[1-9]\d{0,8})$/, {
        error: "must be a whole number of at least 0, such as 1",
      }),
    ),
    z.transform(Number),
  ),
  port: z.pipe(
    z.string().check(z.refine(isPort, { error: "must be a port from 0 to 65535, such as 4000" })),
    z.transform(Number),
  ),
};

export type OptionTypes = typeof optionTypes;
