"use strict";
// Required before the program (NODE_OPTIONS): a file that takes the place of another one has the same name in each run, so that a
// crash point is found again by it.

const crypto = require("node:crypto");

const { randomBytes } = crypto;
crypto.randomBytes = (size, ...rest) =>
  size === 8 ? Buffer.alloc(size, 7) : randomBytes(size, ...rest);
require("node:module").syncBuiltinESMExports();
