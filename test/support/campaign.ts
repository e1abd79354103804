export const isCampaign = process.env["TORTURE"] !== undefined;

/** `npm run torture` tries everything; `npm run torture:short` a sample of it that takes two minutes, and the suite one as small. */
export const isWhole = process.env["TORTURE"] === "whole";

/** Of cases that are much alike: all of them, or about so many, evenly spread, the first one among them. */
export function sample<T>(cases: readonly T[], most: number): T[] {
  if (isWhole || cases.length <= most) return [...cases];
  return Array.from(
    { length: most },
    (_, index) => cases[Math.floor((index * cases.length) / most)] as T,
  );
}

/** How often the suite tries a property with random values that the campaign tries `most` times. */
export const runs = (most: number): number => (isWhole ? most : Math.ceil(most / 10));

/** Of the steps of a command whose every step the campaign takes, the suite takes each nineteenth. */
export const stride = isWhole ? 1 : 19;

/** Of a list of cases that are much alike, the suite takes each nineteenth, the first one among them. */
export const some = <T>(cases: readonly T[]): T[] =>
  cases.filter((_, index) => index % stride === 0);
