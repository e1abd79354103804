#!/usr/bin/env node
"use strict";
// Finds a fit runtime, loads the program and runs it. This file and pinned-runtime.js are written
// for Node 12: an old one must be able to say what it lacks.
// CommonJS, because an ESM entry costs a sixth of a bare start.

const fs = require("fs");

const signals = heededSignals();
const [major, minor] = process.versions.node.split(".").map(Number);

// The same range as `engines` in package.json.
if (major > 24 || (major === 24 && minor >= 15) || (major === 22 && minor >= 19)) run();
else require("./pinned-runtime.js").continueOnPinned(process, signals);

function run() {
  hideExperimentalWarnings();
  const loaded = require("./load.js").load(process);
  const host = loaded.program.createHost(process, signals);
  // oxlint-disable-next-line promise/prefer-await-to-then, promise/catch-or-return -- never rejects
  loaded.program.main(process.argv.slice(2), host).then(leave);

  // Leaving does not wait for idle sockets; all output is written by then. It does wait for reads
  // that block in a thread: a signal ends those, once nobody listens for it any more.
  async function leave(code) {
    await host.flush();
    if (code === 0) loaded.keep();
    for (const signal of signals) process.removeAllListeners(signal);
    process.exit(code);
  }
}

/** On Node 22, SQLite, type stripping and require() of a module are called experimental. */
function hideExperimentalWarnings() {
  const { emitWarning } = process;
  process.emitWarning = (warning, type, ...more) => {
    if (type !== "ExperimentalWarning") emitWarning.call(process, warning, type, ...more);
  };
}

/**
 * The signals that interrupt the program; not SIGHUP where it was started to survive that. Node
 * makes an ignored signal end the process again before any of our code runs, so that only traces
 * are left: nohup's name in `_` (bash, zsh, ksh), standard input that can only be written to (GNU
 * nohup on a terminal), or a parent, like a script under nohup, that ignores it itself (the last
 * two on Linux).
 */
function heededSignals() {
  // Its default opens the inspector, by which any user of this machine can run code in this
  // process.
  process.on("SIGUSR1", () => {});
  const isIgnored =
    /(^|\/)nohup$/.test(process.env._ || "") ||
    /^flags:\s*[0-7]*1$/m.test(contentOf("/proc/self/fdinfo/0")) ||
    /^SigIgn:\s*[0-9a-f]*[13579bdf]$/m.test(contentOf(`/proc/${process.ppid}/status`));
  if (!isIgnored) return ["SIGINT", "SIGTERM", "SIGHUP"];
  process.on("SIGHUP", () => {});
  return ["SIGINT", "SIGTERM"];
}

function contentOf(file) {
  try {
    return fs.readFileSync(file, "latin1");
  } catch (error) {
    return "";
  }
}
