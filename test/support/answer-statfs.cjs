"use strict";
// Required before the program (NODE_OPTIONS), and by the tests, whose folders are in memory: all lies on ext4, as with users, but
// for the folder STATFS_FOLDER and what is in it on a file system of the type STATFS_TYPE, by its number, or on one of
// STATFS_BLOCKS free blocks of as many. The mounts of a network are nothing that a test can have anywhere.

const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { statfsSync } = fs;
fs.statfsSync = (path, ...rest) => {
  const facts = statfsSync(path, ...rest);
  facts.type = 0xef53;
  const { STATFS_FOLDER, STATFS_TYPE, STATFS_BLOCKS } = process.env;
  if (!`${path}/`.startsWith(`${STATFS_FOLDER}/`)) return facts;
  if (STATFS_TYPE !== undefined) facts.type = Number(STATFS_TYPE);
  if (STATFS_BLOCKS !== undefined) facts.blocks = facts.bavail = Number(STATFS_BLOCKS);
  return facts;
};
syncBuiltinESMExports();
