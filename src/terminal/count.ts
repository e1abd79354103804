/** Formats a count: `1 vault`, `2 vaults`. `many` is the plural, by default with an s. */
export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;
