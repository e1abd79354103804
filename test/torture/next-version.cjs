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
    if (!Array.isArray(scripts) || !/CREATE TABLE meta/.test(scripts[0])) continue;
    scripts.push(`
      ALTER TABLE vaults ADD COLUMN note TEXT;
      CREATE TABLE credentials_next (
        vault INTEGER NOT NULL REFERENCES vaults (id), generation INTEGER NOT NULL, standing TEXT NOT NULL, proven INTEGER NOT NULL,
        sealed TEXT, fingerprint TEXT NOT NULL, device TEXT, createdAt TEXT NOT NULL, elsewhere INTEGER NOT NULL DEFAULT 0,
        refused INTEGER NOT NULL DEFAULT 0, placed TEXT, ended INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (vault, generation)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO credentials_next SELECT * FROM credentials;
      DROP TABLE credentials;
      ALTER TABLE credentials_next RENAME TO credentials;
      CREATE INDEX credentials_kept ON credentials (vault, generation) WHERE sealed IS NOT NULL;
      CREATE UNIQUE INDEX one_current_pair ON credentials (vault) WHERE standing = 'current';
    `);
  }
}
