#!/usr/bin/env node
"use strict";
// The entry. This file and pinned-runtime.js parse on any Node (nothing newer than ES5): an old one must be able to say
// what it lacks. CommonJS, because an ESM entry costs a sixth of a bare start.

var fs = require("fs");
var path = require("path");

var version = process.versions.node.split(".");
// The same range as `engines` in package.json.
var fit = +version[0] > 24 || (+version[0] === 24 && +version[1] >= 15) || (+version[0] === 22 && +version[1] >= 19);

if (fit) {
  dieWithLauncher();
  hideExperimentalWarnings();
  if (process.platform === "win32") say("vault is untested on Windows");
  run();
} else {
  require("./pinned-runtime.js").continueOnPinned(process, say);
}

function run() {
  var program = path.join(__dirname, "..", "dist", "main.cjs");
  var extension = fs.existsSync(program) ? ".cjs" : ".ts";
  // A checkout that was never built runs from its sources.
  var folder = path.join(__dirname, "..", extension === ".cjs" ? "dist" : "src");
  var host = require(path.join(folder, "host" + extension)).createHost(process);

  process.on("uncaughtException", function (error) {
    fail(error instanceof Error ? error[host.env.VAULTSVC_DEBUG ? "stack" : "message"] : String(error));
  });
  // Otherwise the runtime would end with 0, which means "acknowledged".
  process.on("beforeExit", function () {
    fail("nothing is left to wait for");
  });

  // Through the host: what it prints is redacted.
  function fail(message) {
    host.stderr.write("vault: unexpected failure: " + message + "\n");
    leave(1);
  }

  // Leaving does not wait for idle sockets; all output is written by then. It does wait for reads that block in a thread: a
  // signal ends those, once nobody listens for it any more.
  function leave(code) {
    host.flush().then(function () {
      ["SIGINT", "SIGTERM", "SIGHUP"].forEach(function (signal) {
        process.removeAllListeners(signal);
      });
      process.exit(code);
    });
  }
  // oxlint-disable-next-line promise/prefer-await-to-then, promise/catch-or-return -- ES5
  require(path.join(folder, "main" + extension))
    .main(process.argv.slice(2), host)
    .then(leave);
}

/**
 * When an old Node's launcher is killed outright, nothing can be forwarded: this process must not go on unattended. The
 * marker names the launcher's pid, so that another program's fork() is left alone, and is not inherited any further.
 */
function dieWithLauncher() {
  var launcher = process.env.VAULTSVC_LAUNCHER;
  if (launcher === undefined) return;
  delete process.env.VAULTSVC_LAUNCHER;
  if (launcher !== String(process.ppid) || !process.connected) return;
  process.on("disconnect", function () {
    process.kill(process.pid, "SIGKILL");
  });
  process.channel.unref();
}

/** On Node 22, SQLite, type stripping and require() of a module are called experimental. Other warnings are shown. */
function hideExperimentalWarnings() {
  var emitWarning = process.emitWarning;
  process.emitWarning = function (warning, type) {
    if (type === "ExperimentalWarning" && /SQLite|Type Stripping|require\(\)/.test(String(warning))) return;
    emitWarning.apply(process, arguments);
  };
}

function say(line) {
  try {
    fs.writeSync(2, line + "\n");
  } catch (error) {
    // Nobody listens.
  }
}
