/** `npm run torture` tries everything; `npm run torture:short` a sample of it that takes two minutes. */
export const isWhole = process.env["TORTURE"] === "whole";

/** Of cases that are much alike: all of them, or about so many, evenly spread, the first one among them. */
export function sample<T>(cases: readonly T[], most: number): T[] {
  if (isWhole || cases.length <= most) return [...cases];
  return Array.from({ length: most }, (_, index) => cases[Math.floor((index * cases.length) / most)] as T);
}
