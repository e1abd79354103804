/** Formats a number that may be large: `1,234`. */
export const grouped = (n: number): string => String(n).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");

/** Formats a count: `1 vault`, `1,234 vaults`. `many` is the plural, by default with an s. */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${grouped(n)} ${n === 1 ? one : many}`;
