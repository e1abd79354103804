/**
 * The place of the first quotation mark at or behind `from`; `end` where there is none before it, or a control character is, which
 * no JSON string may have. Four bytes at a step: the lowest byte whose top bit the subtraction sets is one that was 0x22.
 */
export function findQuote(view: DataView, bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  for (const last = end - 4; at <= last; at += 4) {
    const given = view.getInt32(at, true);
    const word = given ^ 0x22222222;
    const found = (word - 0x01010101) & ~word & -0x7f7f7f80;
    const control = (given - 0x20202020) & ~given & -0x7f7f7f80;
    if ((found | control) !== 0) break;
  }
  return stopAt(bytes, at, end);
}

function stopAt(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at] !== 0x22 && (bytes[at] as number) >= 0x20) at += 1;
  return at < end && bytes[at] === 0x22 ? at : end;
}

/** Whether a number of JSON, true or false stands between two places. */
export function isBare(bytes: Uint8Array, from: number, to: number): boolean {
  let at = from;
  // Most numbers are whole ones.
  while (at < to && (bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) at += 1;
  if (at === to && to > from) return bytes[from] !== 0x30 || to === from + 1;
  return bare.test(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1"));
}

const bare = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false)$/;

/** Equal for equal texts, and odd: of an id. */
export const hashOf = (view: DataView, from: number, to: number): number => mixed(view, from, to) | 1;

/** Of all bytes, where there is no id: even, where those of ids are odd, and never 0. */
export const wholeHashOf = (view: DataView, from: number, to: number): number => mixed(view, from, to) & ~1 || 2;

function mixed(view: DataView, from: number, to: number): number {
  let hash = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4) hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1) ^ (hash >>> 15);
  for (; at < to; at++) hash = Math.imul(hash ^ view.getInt8(at), 0x9e3779b1) ^ (hash >>> 15);
  return hash ^ (hash >>> 13);
}
