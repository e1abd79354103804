/** Equal for equal texts, and odd: of an id. */
export const hashOf = (view: DataView, from: number, to: number): number => mixed(view, from, to) | 1;

/** Of all that a record says, of a line without its end, where there is no id: even, where those of ids are odd, and never 0. */
export const wholeHashOf = (view: DataView, from: number, to: number): number => mixed(view, from, to) & ~1 || 2;

/** The scanner makes the same of them (scanner/values.ts). */
function mixed(view: DataView, from: number, to: number): number {
  let hash = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4) hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1) ^ (hash >>> 15);
  for (; at < to; at++) hash = Math.imul(hash ^ view.getInt8(at), 0x9e3779b1) ^ (hash >>> 15);
  return hash ^ (hash >>> 13);
}
