"use strict";
// Required before the program (NODE_OPTIONS): on SIGUSR2 every time limit of TIME_OUT_MS that is running ends at once. So a call that is
// never answered times out without being waited for, and one that is answered never does, however busy the machine is.

const { timeout } = AbortSignal;
const limit = Number(process.env.TIME_OUT_MS);
for (const name of ["TIME_OUT_MS", "NODE_OPTIONS"]) delete process.env[name];

const running = new Set();

AbortSignal.timeout = (milliseconds) => {
  if (milliseconds !== limit) return timeout.call(AbortSignal, milliseconds);
  const controller = new AbortController();
  running.add(controller);
  return controller.signal;
};

process.on("SIGUSR2", () => {
  for (const controller of running)
    controller.abort(new DOMException("the time limit is over", "TimeoutError"));
  running.clear();
});
