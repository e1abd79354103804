"use strict";
// Required before the program (NODE_OPTIONS): on SIGUSR2 every timer of TIME_OUT_MS that is running goes off at once. So a call that is
// never answered times out without being waited for, and one that is answered never does, however busy the machine is.

const { setTimeout: real, clearTimeout: clear } = globalThis;
const limit = Number(process.env.TIME_OUT_MS);
for (const name of ["TIME_OUT_MS", "NODE_OPTIONS"]) delete process.env[name];

const running = new Map();

globalThis.setTimeout = (callback, milliseconds, ...given) => {
  const timer = real(callback, milliseconds, ...given);
  if (milliseconds === limit) running.set(timer, callback);
  return timer;
};

globalThis.clearTimeout = (timer) => {
  running.delete(timer);
  clear(timer);
};

process.on("SIGUSR2", () => {
  const due = Array.from(running);
  running.clear();
  for (const [timer, callback] of due) {
    clear(timer);
    callback();
  }
});
