import * as z from "zod/mini";
import { VaultError } from "../../errors.ts";
import { validate } from "../../protocol/validate.ts";

/** Returns the schema of an object with these fields and no others; `what` is the word for one of them. */
export const objectOf = <Fields extends z.core.$ZodShape>(
  fields: Fields,
  what: string,
  rule: string,
) =>
  z.strictObject(fields, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `${issue.keys.join(", ")} is not a ${what}; known ${what}s: ${Object.keys(fields).join(", ")}`
        : rule,
  });

/**
 * Checks what a file or an option says.
 * @throws `invalid-input` naming the first field that breaks a rule
 */
export function checked<T>(schema: z.core.$ZodType<T>, value: unknown, where: string): T {
  const result = validate(schema, value);
  if (result.ok) return result.value;
  const [{ path, rule } = { path: "", rule: "is not valid" }] = result.violations;
  throw new VaultError("invalid-input", `${where}: ${path === "" ? "" : `${path} `}${rule}`);
}
