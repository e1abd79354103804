import type { Item } from "./item.ts";

/** Maximum number of bytes, or items, in an input: 16 TiB. */
const perInput = 2 ** 44;

/** Maximum number of inputs in a location that a double can hold exactly. */
export const mostInputs = 500;

/** Encodes the location of an item as one number: its input, and its offset there in bytes or items. */
export const placeIn = (input: number, at: number): number => input * perInput + at;

export const inputOf = (place: number): number => Math.floor(place / perInput);

export const withinInput = (place: number): number => place % perInput;

/**
 * Returns the item at a location, if it was kept or can be read again.
 *
 * @throws `invalid-input` if its file has changed.
 */
export type FindItem = (place: number, line: number) => Item | undefined;
