"use strict";
// Required before the program (NODE_OPTIONS): when it leaves, writes what was loaded since to the file named by LIST_LOADED.

const { writeFileSync } = require("node:fs");
const { builtinModules } = require("node:module");
const vm = require("node:vm");

// The launcher compiles the chunks by itself.
const chunks = [];
const { Script } = vm;
vm.Script = class extends Script {
  constructor(text, options) {
    super(text, options);
    chunks.push(options.filename);
  }
};

const before = new Set(process.moduleLoadList);
const known = new Set(["sqlite", ...builtinModules]);

process.on("exit", () => {
  const added = process.moduleLoadList.filter((entry) => !before.has(entry));
  const names = added.map((entry) => entry.replace("NativeModule ", "").replace(/^node:/, ""));
  const builtins = names.filter((name) => known.has(name));
  writeFileSync(
    process.env.LIST_LOADED,
    JSON.stringify({ files: [...Object.keys(require.cache), ...chunks], builtins }),
  );
});
