// Addresses in linear memory.

/** 16 bytes of ones and 16 of zeroes: reading 16 bytes from within gives a mask for the first bytes of a block. */
export const masks: usize = 1024;

/** Numbered texts of three columns, each 16 KiB (texts.ts). */
export const actions: usize = 0x1000;
export const outcomes: usize = 0x5000;
export const descriptions: usize = 0x9000;

/** Kinds of events by what items say (kinds.ts). */
export const kinds: usize = 0xd000;

/** Shapes of lines: their number, the offset of each, and the shapes (src/audit/read/scan/line-shape.ts). */
export const shapes: usize = 0x12000;
export const shapesEnd: usize = 0x22000;

/** Columns of the items read last, each with room for `capacity`. */
export const capacity: i32 = 8192;
export const times: usize = 0x22000;
export const locations: usize = times + 8 * capacity;
export const lineNumbers: usize = locations + 8 * capacity;
export const vaultNumbers: usize = lineNumbers + 8 * capacity;
export const idHashes: usize = vaultNumbers + 4 * capacity;
export const eventKinds: usize = idHashes + 4 * capacity;

/** Text of the file. A block that begins in it may end after it. */
export const text: usize = 0x64000;
export const textEnd: usize = 0x1fff00;

/** A text that is not from a file. */
export const scratch: usize = 0x1fff80;

/** The table of vaults, which grows (vaults.ts). */
export const vaultTable: usize = 0x200000;
