"use strict";
// Continues on the runtime that `npm ci` installs beside the program, where its own is too old.

const { spawn } = require("child_process");
const fs = require("fs");
const path = require("path");

/**
 * Continues on the pinned runtime: same arguments, environment, folder and descriptors; its exit
 * code or its signal become ours, and `signals` are forwarded to it, as are those that `vault run`
 * passes on. Without one, says in one line what is needed and exits 1.
 */
exports.continueOnPinned = (process, signals) => {
  let runtime;
  try {
    runtime = require.resolve("node/bin/node");
  } catch (error) {
    return refuse(process);
  }
  const program = ["end-with-launcher.js", "vault.js"].map((name) => path.join(__dirname, name));
  const child = spawn(runtime, ["--require", ...program, ...process.argv.slice(2)], {
    // One channel, whose end tells the child that we are gone.
    stdio: ["inherit", "inherit", "inherit", ...given(), "ipc"],
    // Of what we have seen of nohup, the child would see this alone.
    env: signals.includes("SIGHUP") ? process.env : { ...process.env, _: "nohup" },
  });
  child.on("error", () => refuse(process));
  // A terminal's Ctrl-C reaches both processes and so arrives twice there: the host takes signals
  // within 100 ms for one.
  for (const signal of [...signals, "SIGQUIT", "SIGUSR1", "SIGUSR2"])
    process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal === null) return process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // Only a signal that does not end a process comes here.
    setTimeout(() => process.exit(1), 1000);
  });
};

function refuse(process) {
  const { node } = process.versions;
  process.stderr.write(
    `vault needs Node 22.19 (22.x), or 24.15 and newer; this is ${node}: install Node 24, or in a checkout run npm ci\n`,
  );
  process.exitCode = 1;
}

/** Those that a user may have opened for the program (@/dev/fd/3): Node closes them in a child. */
function given() {
  const at = Array.from({ length: 100 }, (_, index) => index + 3);
  return at.map((each) => (fs.existsSync(`/dev/fd/${each}`) ? each : "ignore"));
}
