import type * as z from "zod/mini";
import { VaultError } from "../errors.ts";
import { unseen } from "./limits.ts";

/** A broken rule: the dotted path of the field (empty for the value itself), and the rule with an example. */
export interface Violation {
  path: string;
  rule: string;
}

type Validated<T> =
  { ok: true; value: T; violations: readonly [] } | { ok: false; violations: readonly Violation[] };

/** Checks a value against a schema of the interface. Never throws. */
export function validate<T>(schema: z.core.$ZodType<T>, value: unknown): Validated<T> {
  const result = (schema as z.ZodMiniType<T>).safeParse(value, { error: defaultRule });
  if (result.success) return { ok: true, value: result.data, violations: [] };
  const violations = result.error.issues.map((issue) => {
    const came = issue.path.reduce<unknown>(
      (outer, key) => (outer as Record<PropertyKey, unknown> | null | undefined)?.[key],
      value,
    );
    const note =
      issue.code === "invalid_type"
        ? ` (is ${typeOf(came)}, not ${typeWords[issue.expected]})`
        : typeof came === "string"
          ? unseenIn(came)
          : "";
    const { message } = issue;
    const rule = came === undefined ? `is missing: ${message}` : message + note;
    return { path: issue.path.map(String).join("."), rule };
  });
  return { ok: false, violations };
}

/** The first rule of a schema that a value breaks; null if it fits. */
export const brokenRule = (schema: z.core.$ZodType, value: unknown): string | null =>
  validate(schema, value).violations[0]?.rule ?? null;

/**
 * Checks a value that a user gave, and returns it; `source` names the flag, variable, config key or place of it.
 * @throws `invalid-input`, which names the field and the rule and never shows a value: `--card.name: must …`, `line 7: name must …`
 */
export function checkGiven<T>(
  schema: z.core.$ZodType<T>,
  value: unknown,
  source: string,
  hint?: string,
  sourceIs: "value" | "place" = "value",
): T {
  const checked = validate(schema, value);
  if (checked.ok) return checked.value;
  const [{ path, rule } = { path: "", rule: "does not fit" }] = checked.violations;
  const field = path === "" ? ":" : sourceIs === "place" ? `: ${path}` : `.${path}:`;
  throw new VaultError("invalid-input", `${source}${field} ${rule}`, { hint });
}

const defaultRule = (issue: { code?: string; expected?: unknown }): string =>
  issue.code === "invalid_type"
    ? `must be ${typeWords[String(issue.expected)] ?? String(issue.expected)}`
    : "is not valid";

const typeWords: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
};

function typeOf(value: unknown): string {
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return typeWords[type] ?? type;
}

/** What nobody sees in a value that is not valid, in parentheses, for the end of a rule; "" if there is nothing. */
export function unseenIn(value: string): string {
  const [found] = new RegExp(`^[\\s${unseen}]|[^\\S ]|[${unseen}]|\\s$`, "u").exec(value) ?? [];
  if (found === undefined) return "";
  const what = found === " " ? "a space" : "an invisible character";
  const at = value.startsWith(found) ? "at the beginning" : "in it";
  return ` (${what} ${value.endsWith(found) ? "at the end" : at})`;
}
