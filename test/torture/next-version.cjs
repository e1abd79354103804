"use strict";
// Required before the program (NODE_OPTIONS): makes it the program of a later version, whose schema has one migration more.

const vm = require("node:vm");

const next = `
  ALTER TABLE vaults ADD COLUMN note TEXT;
  CREATE TABLE runs_next AS SELECT * FROM runs;
  DROP TABLE runs;
  ALTER TABLE runs_next RENAME TO runs;
  CREATE UNIQUE INDEX runs_by_name ON runs (service, run, uuid);
`;

/** The list of migrations, as the bundle has it. */
const migrations = /(?<=const [\w$]+=)\[\(\)=>void 0,([\w$]+)\]/;

// Each chunk of the program is a script.
vm.Script = class extends vm.Script {
  constructor(text, options) {
    super(
      text.replace(
        migrations,
        (_, second) => `[()=>void 0,${second},db=>db.exec(${JSON.stringify(next)})]`,
      ),
      options,
    );
  }
};
