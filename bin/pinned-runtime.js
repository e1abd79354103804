"use strict";
// Continues on the runtime that is installed beside the program, where its own is too old. ES5
// only.

var fs = require("fs");
var path = require("path");
var childProcess = require("child_process");

/**
 * Continues on the runtime that `npm ci` installs beside the program: same arguments, environment,
 * folder and descriptors; its exit code or its signal become ours, and `signals` are forwarded to
 * it, as are those that `vault run` passes on. Without one, says in one line what is needed and exits 1.
 */
exports.continueOnPinned = function (process, signals) {
  var runtime = pinnedRuntime();
  if (runtime === null) return refuse(process);
  var descriptors = inheritedDescriptors(process);
  var child = childProcess.spawn(
    runtime,
    [path.join(__dirname, "vault.js")].concat(process.argv.slice(2)),
    {
      stdio: descriptors,
      env: withMarker(process, signals),
    },
  );
  child.on("error", function () {
    refuse(process);
  });
  // A terminal's Ctrl-C reaches both processes and so arrives twice there: the host takes signals
  // within 100 ms for one.
  signals.concat(["SIGQUIT", "SIGUSR1", "SIGUSR2"]).forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal);
    });
  });
  child.on("exit", function (code, signal) {
    if (signal === null) return process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // Only a signal that does not end a process comes here.
    setTimeout(function () {
      process.exit(1);
    }, 1000);
  });
};

/**
 * When an old Node's launcher is killed outright, nothing can be forwarded: this process must not
 * go on unattended. The marker names the launcher's pid, so that another program's fork() is left
 * alone, and is not inherited any further.
 */
exports.dieWithLauncher = function (process) {
  var launcher = process.env.VAULTSVC_LAUNCHER;
  delete process.env.VAULTSVC_LAUNCHER;
  if (launcher !== String(process.ppid) || !process.connected) return;
  process.on("disconnect", function () {
    process.kill(process.pid, "SIGKILL");
  });
  process.channel.unref();
};

/** The pinned runtime's executable, or null where it is not installed. */
function pinnedRuntime() {
  try {
    var executable = path.join(path.dirname(require.resolve("node/package.json")), "bin", "node");
    return fs.statSync(executable).isFile() ? executable : null;
  } catch (error) {
    return null;
  }
}

function refuse(process) {
  var old = +process.versions.node.split(".")[0] <= 22;
  say(
    "vault needs Node " +
      (old ? "22.19" : "24.15") +
      " or newer (this is " +
      process.versions.node +
      "): " +
      (isCheckout()
        ? "install it, or run npm ci beside this program to get the pinned one"
        : "install Node 24 (or 22), or use the vault executable, which needs no Node " +
          "(npm run package makes it from the sources)"),
  );
  process.exit(1);
}

/**
 * Whether there is something beside the program that `npm ci` can install: the packed program has
 * no lock file.
 */
function isCheckout() {
  return fs.existsSync(path.join(__dirname, "..", "package-lock.json"));
}

/**
 * Standard streams, one channel whose end tells the child that we are gone, and the descriptors
 * that arguments or settings name (@/dev/fd/3): Node closes the others in a child.
 */
function inheritedDescriptors(process) {
  var descriptors = ["inherit", "inherit", "inherit"];
  var texts = process.argv.slice(2);
  for (var name in process.env) if (name.indexOf("VAULTSVC_") === 0) texts.push(process.env[name]);
  texts.forEach(function (text) {
    var match = /\/(?:dev|proc\/self)\/fd\/(\d{1,3})$/.exec(text);
    if (match !== null && +match[1] > 2 && isOpen(+match[1])) descriptors[+match[1]] = +match[1];
  });
  var free = 3;
  while (descriptors[free] !== undefined) free += 1;
  descriptors[free] = "ipc";
  for (var i = 3; i < descriptors.length; i += 1)
    if (descriptors[i] === undefined) descriptors[i] = "ignore";
  return descriptors;
}

function isOpen(descriptor) {
  try {
    fs.fstatSync(descriptor);
    return true;
  } catch (error) {
    return false;
  }
}

function withMarker(process, signals) {
  var env = {};
  for (var name in process.env) env[name] = process.env[name];
  env.VAULTSVC_LAUNCHER = String(process.pid);
  // Of what we have seen, the child would see this alone.
  if (signals.indexOf("SIGHUP") === -1) env._ = "nohup";
  return env;
}

function say(line) {
  try {
    fs.writeSync(2, line + "\n");
  } catch (error) {
    // Nobody listens.
  }
}
