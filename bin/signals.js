"use strict";
// Which signals interrupt the program.

const fs = require("fs");

/**
 * The signals that interrupt the program; not SIGHUP where it was started to survive that. Node
 * makes an ignored signal end the process again before any of our code runs, so that only traces
 * are left: nohup's name in `_` (bash, zsh, ksh), standard input that can only be written to (GNU
 * nohup on a terminal), or a parent, like a script under nohup, that ignores it itself (the last
 * two on Linux).
 */
exports.heededSignals = (process) => {
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
};

function contentOf(file) {
  try {
    return fs.readFileSync(file, "latin1");
  } catch (error) {
    return "";
  }
}
