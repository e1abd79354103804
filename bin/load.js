"use strict";
// Which program runs: the build, by its compiled code, or the sources.

const fs = require("fs");
const path = require("path");

/** Loads the program. `keep` writes what was compiled, for the next time. */
function load(process) {
  const root = path.dirname(__dirname);
  const built = `${root}/dist`;
  const nothing = () => undefined;
  // A checkout that was never built.
  if (!fs.existsSync(`${built}/vault.cjs`))
    return {
      program: { ...require(`${root}/src/host.ts`), ...require(`${root}/src/main.ts`) },
      keep: nothing,
    };
  // --version is too short to gain from the cache.
  if (process.argv[2] === "--version")
    return { program: require(`${built}/vault.cjs`), keep: nothing };
  return require("./compiled-code.js").loadCompiled(built, process);
}

module.exports = { load };
