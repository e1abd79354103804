import type { Item } from "./item.ts";

/** So many bytes, or items, can an input have: 16 TiB. */
const perInput = 2 ** 44;

/** Inputs beyond that cannot be told apart. */
export const mostInputs = 500;

/** An item of an input by its byte, or by its number, as one number. */
export const placeIn = (input: number, at: number): number => input * perInput + at;

export const inputOf = (place: number): number => Math.floor(place / perInput);

export const withinInput = (place: number): number => place % perInput;

/**
 * Finds an item again, where it was kept or can be read twice.
 *
 * @throws `invalid-input` where its file has changed since.
 */
export type FindItem = (place: number, line: number) => Item | undefined;
