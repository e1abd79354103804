"use strict";
// Required before the program (NODE_OPTIONS): makes it the program of a later version, whose schema has one migration more.

const { Script } = require("node:vm");

const { runInThisContext } = Script.prototype;
// Each chunk of the program is a function of its exports.
Script.prototype.runInThisContext = function (...options) {
  const chunk = runInThisContext.call(this, ...options);
  return function (exports, ...rest) {
    chunk.call(this, exports, ...rest);
    addMigration(exports);
  };
};

function addMigration(exports) {
  for (const scripts of Object.values(exports)) {
    if (!Array.isArray(scripts) || typeof scripts[1] !== "function") continue;
    scripts.push(`
      ALTER TABLE vaults ADD COLUMN note TEXT;
      CREATE TABLE runs_next AS SELECT * FROM runs;
      DROP TABLE runs;
      ALTER TABLE runs_next RENAME TO runs;
      CREATE UNIQUE INDEX runs_by_name ON runs (service, run, uuid);
    `);
  }
}
