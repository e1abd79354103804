import { ask, counted } from "../src/audit/read/scan/scanner-constants";
import { classify, classifyDescribed, count } from "./host";
import { actions, descriptions, kinds, outcomes } from "./memory";
import { forgetTexts, textNumber } from "./texts";

/**
 * Hash table of kinds by the numbers of action, outcome and description, so that each combination is classified once. A slot has these
 * numbers, of one byte each, and the answer plus 1; a free slot is 0.
 */
const slots: u32 = 4096;
const maxKnown: i32 = 3000;
let known: i32 = 0;

const notAsked: u32 = 0xff;

/** Returns the kind of an item by action, outcome (-1 for none) and the description between two addresses (`from` is 0 for none). */
export function kindOf(action: i32, outcome: i32, from: usize, to: usize): i32 {
  const said = action | ((outcome + 1) << 8);
  let answer = answerTo(said | (notAsked << 16));
  if (answer < 0) answer = remember(said | (notAsked << 16), classify(action, outcome));
  if (answer === ask) answer = describedKindOf(said, action, outcome, from, to);
  if ((answer & counted) === 0) return answer;
  count(action, answer & ~counted);
  return answer & ~counted;
}

function describedKindOf(said: u32, action: i32, outcome: i32, from: usize, to: usize): i32 {
  const description = from === 0 ? 0 : textNumber(descriptions, from, to) + 1;
  if (from !== 0 && description === 0) return classifyDescribed(action, outcome, from, to);
  const key = said | (description << 16);
  const answer = answerTo(key);
  return answer < 0 ? remember(key, classifyDescribed(action, outcome, from, to)) : answer;
}

/** Returns the answer for a key, or -1 if it is unknown. */
function answerTo(key: u32): i32 {
  let slot = slotOf(key);
  while (true) {
    const found = load<u32>(kinds + 4 * slot);
    if (found === 0) return -1;
    if (found >> 8 === key) return (found & 0xff) - 1;
    slot = (slot + 1) & (slots - 1);
  }
}

function remember(key: u32, answer: i32): i32 {
  if (known === maxKnown) return answer;
  known++;
  let slot = slotOf(key);
  while (load<u32>(kinds + 4 * slot) !== 0) slot = (slot + 1) & (slots - 1);
  store<u32>(kinds + 4 * slot, (key << 8) | (answer + 1));
  return answer;
}

function slotOf(key: u32): u32 {
  return (key * 0x9e3779b1) >> 20;
}

/** Forgets all texts and kinds. */
export function forgetKinds(): void {
  known = 0;
  memory.fill(kinds, 0, 4 * slots);
  forgetTexts(actions);
  forgetTexts(outcomes);
  forgetTexts(descriptions);
}
