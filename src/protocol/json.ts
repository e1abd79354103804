/** The interface has five levels. What has any number of them can be parsed, but not walked, nor written again. */
const deepest = 100;

/**
 * JSON that others have written.
 * @throws SyntaxError as JSON.parse does, and for what is nested deeper than anything meant well
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  checkNesting(value);
  return value;
}

/** The second half of `parseJson`, for what is parsed already. */
export function checkNesting(value: unknown): void {
  if (isDeeper(value, deepest)) throw new SyntaxError("nested too deeply");
}

/** Never goes deeper than `levels` itself. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
