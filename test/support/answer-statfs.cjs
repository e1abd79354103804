"use strict";
// Required before the program (NODE_OPTIONS), and by the tests, whose folders are in memory: all lies on a disk, as with users, but
// for the folder FAR_FOLDER and what is in it on a file system of the type FAR_TYPE, as mountinfo names it, or on one of FAR_BLOCKS
// free blocks of as many. The mounts of a network are nothing that a test can have anywhere.

const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { readFileSync, statfsSync, statSync } = fs;
const { FAR_FOLDER, FAR_TYPE, FAR_BLOCKS } = process.env;
const isFar = (path) => FAR_FOLDER !== undefined && `${path}/`.startsWith(`${FAR_FOLDER}/`);

fs.statfsSync = (path, ...rest) => {
  const facts = statfsSync(path, ...rest);
  if (isFar(path) && FAR_BLOCKS !== undefined) facts.blocks = facts.bavail = Number(FAR_BLOCKS);
  return facts;
};
fs.statSync = (path, ...rest) => {
  const stats = statSync(path, ...rest);
  if (isFar(path) && typeof stats?.dev === "number") stats.dev = 0xfff;
  return stats;
};
fs.readFileSync = (path, ...rest) =>
  path === "/proc/self/mountinfo"
    ? `27 1 15:255 / /far rw - ${FAR_TYPE ?? "ext4"} far rw\n`
    : readFileSync(path, ...rest);
syncBuiltinESMExports();
