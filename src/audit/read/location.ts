import type { Item } from "./item.ts";

/** Maximum number of bytes, or items, in an input: 16 TiB. */
const perInput = 2 ** 44;

/** Maximum number of inputs in a location that a double can hold exactly. */
export const maxInputs = 500;

/** Encodes the location of an item as one number: its input, and its offset there in bytes or items. */
export const locationOf = (input: number, offset: number): number => input * perInput + offset;

export const inputOf = (location: number): number => Math.floor(location / perInput);

export const offsetOf = (location: number): number => location % perInput;

/**
 * Returns the item at a location, if it was kept or can be read again.
 *
 * @throws `invalid-input` if its file has changed.
 */
export type FindItem = (location: number, line: number) => Item | undefined;
