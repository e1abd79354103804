"use strict";
// Required before the program (NODE_OPTIONS): the folder STATFS_FOLDER and what is in it lie on a file system of the type
// STATFS_TYPE, by its number. The mounts of a network are nothing that a test can have anywhere.

const fs = require("node:fs");

const { statfsSync } = fs;
fs.statfsSync = (path, ...rest) => {
  const facts = statfsSync(path, ...rest);
  if (`${path}/`.startsWith(`${process.env.STATFS_FOLDER}/`))
    facts.type = Number(process.env.STATFS_TYPE);
  return facts;
};
