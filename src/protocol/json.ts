import { VaultError } from "../errors.ts";

/** Nesting limit. The interface has five levels; JSON that is nested without limit could be parsed, but not walked or serialized. */
const deepest = 100;

/**
 * Parses JSON from an untrusted source.
 * @throws SyntaxError if it is not JSON, or is nested too deeply
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  checkNesting(value);
  return value;
}

/**
 * Parses JSON that a user gave.
 * @throws `invalid-input` with this hint, which names `source`, the flag, variable or config key, and never shows the text
 */
export function parseGivenJson(text: string, source: string, hint: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new VaultError("invalid-input", `${source}: not valid JSON`, { hint });
  }
}

/** @throws SyntaxError if a parsed value is nested too deeply */
function checkNesting(value: unknown): void {
  if (isDeeper(value, deepest)) throw new SyntaxError("nested too deeply");
}

/** Whether a value has more than `levels` levels. Recurses no deeper than that. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
