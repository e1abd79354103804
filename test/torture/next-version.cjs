"use strict";
// Required before the program (NODE_OPTIONS): makes it the program of a later version, whose schema has one migration more.

const Module = require("node:module");

const { _load } = Module;
const changed = new Set();
Module._load = function (request, ...rest) {
  const loaded = _load.call(this, request, ...rest);
  if (!request.startsWith("./") || typeof loaded !== "object" || loaded === null) return loaded;
  for (const scripts of Object.values(loaded)) {
    if (!Array.isArray(scripts) || changed.has(scripts) || !/CREATE TABLE meta/.test(scripts[0])) continue;
    changed.add(scripts);
    scripts.push(`
      ALTER TABLE vaults ADD COLUMN note TEXT;
      CREATE TABLE credentials_next (
        vault INTEGER NOT NULL REFERENCES vaults (id), generation INTEGER NOT NULL, standing TEXT NOT NULL, proven INTEGER NOT NULL,
        sealed TEXT, fingerprint TEXT NOT NULL, device TEXT, created_at TEXT NOT NULL, elsewhere INTEGER NOT NULL DEFAULT 0,
        refused INTEGER NOT NULL DEFAULT 0, placed TEXT, PRIMARY KEY (vault, generation)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO credentials_next SELECT * FROM credentials;
      DROP TABLE credentials;
      ALTER TABLE credentials_next RENAME TO credentials;
      CREATE INDEX credentials_kept ON credentials (vault, generation) WHERE sealed IS NOT NULL;
      CREATE UNIQUE INDEX one_current_pair ON credentials (vault) WHERE standing = 'current';
    `);
  }
  return loaded;
};
