import type * as z from "zod/mini";

/** A broken rule: the dotted path of the field (empty for the value itself), and the rule with an example. */
export interface Violation {
  path: string;
  rule: string;
}

type Validated<T> = { ok: true; value: T } | { ok: false; violations: Violation[] };

/** Checks a value against a schema of the interface. Never throws. */
export function validate<T>(schema: z.core.$ZodType<T>, value: unknown): Validated<T> {
  const result = (schema as z.ZodMiniType<T>).safeParse(value);
  if (result.success) return { ok: true, value: result.data };
  const violations = result.error.issues.map((issue) => ({
    path: issue.path.map(String).join("."),
    rule: isAbsent(value, issue.path) ? `is missing: ${issue.message}` : issue.message,
  }));
  return { ok: false, violations };
}

function isAbsent(value: unknown, path: readonly PropertyKey[]): boolean {
  let current: unknown = value;
  for (const key of path)
    current = (current as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return current === undefined;
}
