/**
 * The place of the first quotation mark at or behind `from`; `end` where there is none before it. Four bytes at a step: the
 * lowest byte whose top bit the subtraction sets is one that was 0x22.
 */
export function findQuote(view: DataView, bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  for (const last = end - 4; at <= last; at += 4) {
    const word = view.getInt32(at, true) ^ 0x22222222;
    const found = (word - 0x01010101) & ~word & -0x7f7f7f80;
    if (found !== 0) return at + ((31 - Math.clz32(found & -found)) >> 3);
  }
  while (at < end && bytes[at] !== 0x22) at += 1;
  return at;
}

/** Equal for equal texts, and odd. Of long ones the ends. */
export function hashOf(view: DataView, bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  if (hash >= 16) hash = Math.imul(view.getInt32(from, true), 0x9e3779b1) + Math.imul(view.getInt32(to - 4, true), 0x85ebca6b);
  else for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x9e3779b1);
  return (hash ^ (hash >>> 15)) | 1;
}

/** Of all bytes, where there is no id: even, where those of ids are odd, and never 0. */
export function wholeHashOf(view: DataView, from: number, to: number): number {
  let hash = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4) hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1) ^ (hash >>> 15);
  for (; at < to; at++) hash = Math.imul(hash ^ view.getInt8(at), 0x9e3779b1);
  return hash & ~1 || 2;
}
