import * as z from "zod/mini";

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
