// Constants that this program and the scanner share. AssemblyScript compiles this file too (scanner/): plain numbers only.

/** Answer to the scanner that the kind of an item depends on its description. */
export const ask = 0x7e;

/** Flag of the kinds of items to count. */
export const counted = 0x80;

/** Results of looking up a vault: the text is not a uuid; the vault is new, but the table is full. */
export const noUuid = -1;
export const noRoom = -2;

/** End of the line, instead of the role of a value, in the shape of a line. */
export const ended = -2;

/** Section 2.2: length of a uuid in characters. */
export const uuidLength = 36;
