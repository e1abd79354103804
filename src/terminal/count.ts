/** `1 vault`, `2 vaults`; `many` where an s does not make it. */
export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;
