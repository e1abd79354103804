"use strict";
// Required before the program (NODE_OPTIONS): at its end, writes to MEMORY_FILE how many kilobytes it had at most.

const fs = require("node:fs");

const file = process.env.MEMORY_FILE;
process.on("exit", () => fs.writeFileSync(file, String(process.resourceUsage().maxRSS)));
