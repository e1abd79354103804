"use strict";
// Required before the program (NODE_OPTIONS): its clock is CLOCK_SHIFT milliseconds off, and jumps by CLOCK_JUMP more when it is looked
// at for the CLOCK_JUMP_AT-th time. What the program starts keeps the right time.

const { now: real } = Date;
const shift = Number(process.env.CLOCK_SHIFT ?? 0);
const jump = Number(process.env.CLOCK_JUMP ?? 0);
const jumpAt = Number(process.env.CLOCK_JUMP_AT ?? 0);
for (const name of ["CLOCK_SHIFT", "CLOCK_JUMP", "CLOCK_JUMP_AT", "NODE_OPTIONS"])
  delete process.env[name];

let looks = 0;
function now() {
  looks += 1;
  return real() + shift + (jumpAt > 0 && looks >= jumpAt ? jump : 0);
}

globalThis.Date = class extends Date {
  constructor(...given) {
    if (given.length === 0) super(now());
    else super(...given);
  }
  static now() {
    return now();
  }
};

const log = process.env.CLOCK_LOG;
delete process.env.CLOCK_LOG;
if (log !== undefined)
  process.on("exit", () => require("node:fs").writeFileSync(log, String(looks)));
