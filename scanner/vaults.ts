import { noRoom, noUuid, uuidLength } from "../src/audit/read/scan/scanner-constants";
import { vaultTable } from "./memory";

/**
 * Numbers vaults from 0 in the order of appearance, by their uuids in lower case. A hash table comes first, whose slots have the number of
 * a vault plus 1, or 0 if free; then the uuids, in order. There are twice as many slots as vaults.
 */
let slots: u32 = 4096;
let uuids: usize = vaultTable + 4 * slots;

/** Number of vaults. */
export let vaults: i32 = 0;

/** Maximum number of vaults. */
export let maxVaults: i32 = i32.MAX_VALUE;
/** Whether only the first vault is wanted: all others have the number 1, without being remembered. */
export let onlyFirst: bool = false;

export function limitVaults(most: i32): void {
  maxVaults = most;
}

export function wantOnlyFirst(): void {
  onlyFirst = true;
}

/** Returns the number of the vault whose uuid, in either case, is at an address; `noUuid` or `noRoom` if it has none. */
export function vaultAt(address: usize): i32 {
  const first = v128.load(address);
  const second = v128.load(address, 16);
  const last = v128.load(address, 20);
  if (v128.any_true(i8x16.lt_u(i8x16.min_u(i8x16.min_u(first, second), last), i8x16.splat(0x20))))
    return noUuid;
  const lower = toLowerCase(first);
  const lowerSecond = toLowerCase(second);
  const lowerLast = toLowerCase(last);
  let slot = slotOf(lower, lowerSecond, lowerLast);
  while (true) {
    const number = load<i32>(vaultTable + 4 * slot) - 1;
    if (number < 0)
      return isUuid(lower) && isUuid(lowerSecond) && isUuid(lowerLast)
        ? add(slot, lower, lowerSecond, lowerLast)
        : noUuid;
    const uuid = uuidOf(number);
    const differing = v128.or(
      v128.xor(lower, v128.load(uuid)),
      v128.xor(lowerSecond, v128.load(uuid, 16)),
    );
    if (!v128.any_true(v128.or(differing, v128.xor(lowerLast, v128.load(uuid, 20))))) return number;
    slot = (slot + 1) & (slots - 1);
  }
}

/** Returns the address of a vault's uuid. */
export function uuidOf(number: i32): usize {
  return uuids + uuidLength * number;
}

/** Makes room for twice as many vaults. Returns false if memory cannot grow. */
export function growVaults(): bool {
  const more = 2 * slots;
  const moved = vaultTable + 4 * more;
  const missing = <i32>((moved + uuidLength * (more / 2) + 0xffff) >> 16) - memory.size();
  if (missing > 0 && memory.grow(missing) < 0) return false;
  memory.copy(moved, uuids, uuidLength * vaults);
  memory.fill(vaultTable, 0, 4 * more);
  slots = more;
  uuids = moved;
  for (let number = 0; number < vaults; number++) {
    const uuid = uuidOf(number);
    let slot = slotOf(v128.load(uuid), v128.load(uuid, 16), v128.load(uuid, 20));
    while (load<i32>(vaultTable + 4 * slot) !== 0) slot = (slot + 1) & (slots - 1);
    store<i32>(vaultTable + 4 * slot, number + 1);
  }
  return true;
}

function add(slot: u32, first: v128, second: v128, last: v128): i32 {
  if (onlyFirst) return 1;
  if (vaults === maxVaults || vaults === slots / 2) return noRoom;
  const uuid = uuidOf(vaults);
  v128.store(uuid, first);
  v128.store(uuid, second, 16);
  v128.store(uuid, last, 20);
  store<i32>(vaultTable + 4 * slot, vaults + 1);
  return vaults++;
}

/** Converts ASCII letters to lower case, without changing digits and dashes. */
function toLowerCase(block: v128): v128 {
  return v128.or(block, i8x16.splat(0x20));
}

/** Whether a block has only hexadecimal digits and dashes. */
function isUuid(block: v128): bool {
  const isDigit = i8x16.lt_u(i8x16.sub(block, i8x16.splat(0x30)), i8x16.splat(10));
  const isLetter = i8x16.lt_u(i8x16.sub(block, i8x16.splat(0x61)), i8x16.splat(6));
  return i8x16.all_true(v128.or(v128.or(isDigit, isLetter), i8x16.eq(block, i8x16.splat(0x2d))));
}

/** Hashes a uuid as a sum of products, which the CPU can compute in parallel, unlike a chain. */
function slotOf(first: v128, second: v128, last: v128): u32 {
  const sum =
    i64x2.extract_lane(first, 0) * 0x9e3779b97f4a7c15 +
    i64x2.extract_lane(first, 1) * 0xc2b2ae3d27d4eb4f +
    i64x2.extract_lane(second, 0) * 0x165667b19e3779f9 +
    i64x2.extract_lane(second, 1) * 0x85ebca77c2b2ae63 +
    i64x2.extract_lane(last, 1) * 0x27d4eb2f165667c5;
  return ((<u32>(sum >>> 32)) ^ (<u32>(sum >>> 47))) & (slots - 1);
}
