/** Hash of an item's id: an odd number. */
export const idHashOf = (bytes: Uint8Array): number => hashBytes(bytes) | 1;

/** Content hash of a record without an id, for NDJSON of its line without the line end: an even number other than 0. */
export const contentHashOf = (bytes: Uint8Array): number => hashBytes(bytes) & ~1 || 2;

/** `hashBytes` in scanner/values.ts computes the same. */
function hashBytes({ buffer, byteOffset, length }: Uint8Array): number {
  const view = new DataView(buffer, byteOffset, length);
  let hash = length;
  let at = 0;
  for (; at + 4 <= length; at += 4)
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1) ^ (hash >>> 15);
  for (; at < length; at++) hash = Math.imul(hash ^ view.getInt8(at), 0x9e3779b1) ^ (hash >>> 15);
  return hash ^ (hash >>> 13);
}
