#!/usr/bin/env node
"use strict";
// Finds a fit runtime, loads the program and runs it. This file, signals.js and pinned-runtime.js
// parse on any Node (nothing newer than ES5): an old one must be able to say what it lacks.
// CommonJS, because an ESM entry costs a sixth of a bare start.

var signals = require("./signals.js").heededSignals(process);

if (isFit(process.versions.node.split("."))) run();
else require("./pinned-runtime.js").continueOnPinned(process, signals);

/** The same range as `engines` in package.json. */
function isFit(version) {
  var major = +version[0];
  var minor = +version[1];
  return major > 24 || (major === 24 && minor >= 15) || (major === 22 && minor >= 19);
}

function run() {
  if (process.env.VAULTSVC_LAUNCHER !== undefined)
    require("./pinned-runtime.js").dieWithLauncher(process);
  hideExperimentalWarnings();
  if (process.platform === "win32") process.stderr.write("vault is untested on Windows\n");

  var loaded = require("./load.js").load(process);
  var host = loaded.program.createHost(process, signals);
  // oxlint-disable-next-line promise/prefer-await-to-then, promise/catch-or-return -- ES5
  loaded.program.main(process.argv.slice(2), host).then(leave);

  // Leaving does not wait for idle sockets; all output is written by then. It does wait for reads
  // that block in a thread: a signal ends those, once nobody listens for it any more.
  function leave(code) {
    host.flush().then(function () {
      if (code === 0) loaded.keep();
      signals.forEach(function (signal) {
        process.removeAllListeners(signal);
      });
      process.exit(code);
    });
  }
}

/**
 * On Node 22, SQLite, type stripping and require() of a module are called experimental. Other
 * warnings are shown.
 */
function hideExperimentalWarnings() {
  var emitWarning = process.emitWarning;
  process.emitWarning = function (warning, type) {
    if (type === "ExperimentalWarning" && /SQLite|Type Stripping|require\(\)/.test(String(warning)))
      return;
    emitWarning.apply(process, arguments);
  };
}
