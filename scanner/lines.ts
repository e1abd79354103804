import { ended, uuidLength } from "../src/audit/read/scan/scanner-constants";
import { kindOf } from "./kinds";
import {
  actions,
  eventKinds,
  idHashes,
  lineNumbers,
  outcomes,
  locations,
  shapes,
  times,
  vaultNumbers,
} from "./memory";
import { textNumber } from "./texts";
import { isoLength, isUsual, timeAt } from "./time";
import { endOfBare, endOfString, isPlainBare, hashBytes } from "./values";
import { vaultAt } from "./vaults";

// Indexes in `roles` (src/audit/read/item.ts).
const timeRole: i32 = 0;
const actionRole: i32 = 1;
const vaultRole: i32 = 2;
const outcomeRole: i32 = 3;
const idRole: i32 = 8;
const descriptionRole: i32 = 9;

const quote: u8 = 0x22;
const carriageReturn: u8 = 0x0d;

/** Shape of the previous line, which the next line usually has, too. */
let last: i32 = 0;

/** Address of the line at which `scan` stopped. */
export let stoppedAt: usize = 0;

/** Whether that line has a known shape. */
export let hasKnownShape: bool = false;

// Number of items so far; location and number of the line at address 0, counted back from the first line.
let count: i32 = 0;
let firstLocation: f64 = 0;
let firstLine: f64 = 0;

/**
 * Reads at most `room` lines. Stops at a line that is incomplete, has an unknown shape or has values that it cannot read; with
 * `needsVault`, also at an item without a vault. Writes the items to the columns and returns their number. `location` and `number` are
 * those of the first line.
 */
export function scan(
  from: usize,
  end: usize,
  room: i32,
  location: f64,
  number: f64,
  needsVault: bool,
): i32 {
  count = 0;
  firstLocation = location - <f64>from;
  firstLine = number;
  let at = from;
  while (count < room && at < end) {
    const next = readLine(at, end, needsVault);
    if (next === 0) break;
    at = next;
    count++;
  }
  stoppedAt = at;
  return count;
}

/** Reads a line. Returns the address after it, or 0. */
function readLine(from: usize, end: usize, needsVault: bool): usize {
  hasKnownShape = false;
  const known = load<i32>(shapes);
  if (last < known) {
    const next = readAs(shapeOf(last), from, end, needsVault);
    if (next !== 0) return next;
  }
  for (let index = 0; index < known; index++) {
    if (index === last) continue;
    const next = readAs(shapeOf(index), from, end, needsVault);
    if (next === 0) continue;
    last = index;
    return next;
  }
  return 0;
}

function shapeOf(index: i32): usize {
  return shapes + load<u32>(shapes + 4 + 4 * index);
}

function readAs(shape: usize, from: usize, end: usize, needsVault: bool): usize {
  let piece = shape;
  let at = from;
  let isReadable = true;
  let time: f64 = NaN;
  let vault: i32 = -1;
  let action: i32 = -1;
  let outcome: i32 = -1;
  let idHash: i32 = 0;
  let described: usize = 0;
  let describedTo: usize = 0;
  while (true) {
    const behind = at + load<i32>(piece);
    if (behind > end) return 0;
    const role = load<i32>(piece, 8);
    const isText = load<i32>(piece, 12) === 1;
    const blocks = piece + 16;
    piece = blocks + 32 * load<i32>(piece, 4);
    if (!isPiece(at, blocks, piece)) return 0;
    at = behind;
    if (role === ended) {
      hasKnownShape = true;
      if (!isReadable || isNaN(time) || action < 0 || (vault < 0 && needsVault)) return 0;
      if (idHash === 0) {
        idHash = hashBytes(from, at - (load<u8>(at - 2) === carriageReturn ? 2 : 1)) & ~1;
        if (idHash === 0) idHash = 2;
      }
      add(from, time, vault, kindOf(action, outcome, described, describedTo), idHash);
      return at;
    }
    const start = at;
    if (
      isText &&
      role === vaultRole &&
      at + uuidLength < end &&
      load<u8>(at + uuidLength) === quote
    )
      at += uuidLength;
    else if (isText && role === timeRole && isUsual(at)) at += isoLength;
    else at = isText ? endOfString(at, end) : endOfBare(at, end);
    if (at >= end) return 0;
    if (role < 0) continue;
    if (!isText && !isPlainBare(start, at)) return 0;
    switch (role) {
      case timeRole:
        time = timeAt(start, at);
        break;
      case actionRole:
      case outcomeRole: {
        const number =
          at === start ? -1 : textNumber(role === actionRole ? actions : outcomes, start, at);
        isReadable = isReadable && number >= 0;
        if (role === actionRole) action = number;
        else outcome = number;
        break;
      }
      case vaultRole:
        vault = at - start === uuidLength ? vaultAt(start) : -1;
        isReadable = isReadable && vault >= 0;
        break;
      case idRole:
        if (at > start) idHash = hashBytes(start, at) | 1;
        break;
      case descriptionRole:
        described = start;
        describedTo = at;
        break;
      default:
    }
  }
}

/** Whether the text at an address matches the blocks of a piece under their masks. */
function isPiece(from: usize, blocks: usize, blocksEnd: usize): bool {
  let at = from;
  let differing = i8x16.splat(0);
  for (let block = blocks; block < blocksEnd; block += 32, at += 16) {
    differing = v128.or(
      differing,
      v128.and(v128.xor(v128.load(at), v128.load(block)), v128.load(block, 16)),
    );
  }
  return !v128.any_true(differing);
}

function add(from: usize, time: f64, vault: i32, kind: i32, idHash: i32): void {
  store<f64>(times + 8 * count, time);
  store<f64>(locations + 8 * count, firstLocation + <f64>from);
  store<f64>(lineNumbers + 8 * count, firstLine + <f64>count);
  store<i32>(vaultNumbers + 4 * count, vault);
  store<i32>(idHashes + 4 * count, idHash);
  store<u8>(eventKinds + count, kind);
}
