/** Equal for equal texts, and odd: of an id. */
export const hashOf = (bytes: Uint8Array): number => mixed(bytes) | 1;

/** Of all that a record says, of a line without its end, where there is no id: even, where those of ids are odd, and never 0. */
export const wholeHashOf = (bytes: Uint8Array): number => mixed(bytes) & ~1 || 2;

/** The scanner makes the same of them (scanner/values.ts). */
function mixed({ buffer, byteOffset, length }: Uint8Array): number {
  const view = new DataView(buffer, byteOffset, length);
  let hash = length;
  let at = 0;
  for (; at + 4 <= length; at += 4) hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1) ^ (hash >>> 15);
  for (; at < length; at++) hash = Math.imul(hash ^ view.getInt8(at), 0x9e3779b1) ^ (hash >>> 15);
  return hash ^ (hash >>> 13);
}
