"use strict";
// Required before a program: at its end, writes to MEMORY_FILE how many kilobytes it had at most.

const fs = require("node:fs");

/** Of this process alone: `maxRSS` begins with what the one that has started it had. */
function peakKilobytes() {
  const status = fs.existsSync("/proc/self/status")
    ? fs.readFileSync("/proc/self/status", "utf8")
    : "";
  return /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? String(process.resourceUsage().maxRSS);
}

const file = process.env.MEMORY_FILE;
process.on("exit", () => fs.writeFileSync(file, peakKilobytes()));
