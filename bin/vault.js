#!/usr/bin/env node
"use strict";
// The entry. This file and pinned-runtime.js parse on any Node (nothing newer than ES5): an old one must be able to say
// what it lacks. CommonJS, because an ESM entry costs a sixth of a bare start.

var fs = require("fs");
var path = require("path");

var version = process.versions.node.split(".");
// The same range as `engines` in package.json.
var fit =
  +version[0] > 24 ||
  (+version[0] === 24 && +version[1] >= 15) ||
  (+version[0] === 22 && +version[1] >= 19);

// Its default opens the inspector, by which any user of this machine can run code in this process.
process.on("SIGUSR1", function () {});
var signals = heededSignals();

if (fit) {
  dieWithLauncher();
  hideExperimentalWarnings();
  if (process.platform === "win32") say("vault is untested on Windows");
  run();
} else {
  require("./pinned-runtime.js").continueOnPinned(process, say, signals);
}

function run() {
  var built = path.dirname(__dirname) + "/dist";
  var entry = built + "/vault.cjs";
  var isBuilt = fs.existsSync(entry);
  // What --version runs is too little.
  var chunks =
    isBuilt && process.argv[2] !== "--version"
      ? ownFile("chunks.js").fromFolder(built, cacheFile(built))
      : null;
  var program = chunks ? chunks.load("vault.cjs") : isBuilt ? require(entry) : fromSources();
  var host = program.createHost(process, signals);

  process.on("uncaughtException", function (error) {
    fail(
      error instanceof Error ? error[host.env.VAULTSVC_DEBUG ? "stack" : "message"] : String(error),
    );
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
      if (chunks && code === 0) chunks.save();
      signals.forEach(function (signal) {
        process.removeAllListeners(signal);
      });
      process.exit(code);
    });
  }
  // oxlint-disable-next-line promise/prefer-await-to-then, promise/catch-or-return -- ES5
  program.main(process.argv.slice(2), host).then(leave);
}

/** What a file beside this one exports. To find a file, `require` takes a millisecond. */
function ownFile(name) {
  var file = __dirname + "/" + name;
  var loaded = { exports: {} };
  var text = "(function (module, require) {" + fs.readFileSync(file, "utf8") + "\n})";
  require("vm").runInThisContext(text, { filename: file })(loaded, require);
  return loaded.exports;
}

/**
 * The signals that interrupt the program; not SIGHUP where it was started to survive that. Node makes an ignored signal end the
 * process again before any of our code runs, so that only traces are left: nohup's name in `_` (bash, zsh, ksh), standard input
 * that can only be written to (GNU nohup on a terminal), or a parent, like a script under nohup, that ignores it itself (the
 * last two on Linux).
 */
function heededSignals() {
  var isIgnored =
    /(^|\/)nohup$/.test(process.env._ || "") ||
    /^flags:\s*[0-7]*1$/m.test(contentOf("/proc/self/fdinfo/0")) ||
    /^SigIgn:\s*[0-9a-f]*[13579bdf]$/m.test(contentOf("/proc/" + process.ppid + "/status"));
  if (!isIgnored) return ["SIGINT", "SIGTERM", "SIGHUP"];
  process.on("SIGHUP", function () {});
  return ["SIGINT", "SIGTERM"];
}

function contentOf(file) {
  try {
    return fs.readFileSync(file, "latin1");
  } catch (error) {
    return "";
  }
}

/**
 * The file for the compiled code of a build and a command, or null. What is cached is run: only in a folder of ours that belongs to this
 * very user (root with another user's HOME has none) and that nobody else can reach.
 */
function cacheFile(built) {
  var home = process.env.HOME || "";
  var caches = process.env.XDG_CACHE_HOME || home + "/.cache";
  var word = process.argv[2] || "none";
  if (home === "" || !path.isAbsolute(caches) || process.getuid === undefined) return null;
  var folder = caches + "/vaultsvc";
  try {
    var build = fs.readFileSync(built + "/build", "latin1");
    if (!fs.existsSync(folder)) makePrivate([caches, folder]);
    var stat = fs.lstatSync(folder);
    var mine = stat.isDirectory() && stat.uid === process.getuid() && (stat.mode & 63) === 0;
    if (!mine) return null;
    var command = /^[\w-]{1,20}$/.test(word) ? word : "other";
    return folder + "/" + build + "-" + process.version + "-" + process.arch + "/" + command;
  } catch (error) {
    return null;
  }
}

function makePrivate(folders) {
  folders.forEach(function (folder) {
    if (!fs.existsSync(folder)) fs.mkdirSync(folder, 448); // 0700
  });
}

/** A checkout that was never built. */
function fromSources() {
  var src = path.join(__dirname, "..", "src");
  return {
    createHost: require(path.join(src, "host.ts")).createHost,
    main: require(path.join(src, "main.ts")).main,
  };
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
    if (type === "ExperimentalWarning" && /SQLite|Type Stripping|require\(\)/.test(String(warning)))
      return;
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
