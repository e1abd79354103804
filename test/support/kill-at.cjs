"use strict";
// Required before the program (NODE_OPTIONS): numbers the steps in which the program changes the world or hears from it, and
// ends it with SIGKILL before step KILL_AT; the last one is its exit. Between two steps nothing happens outside of the
// process, so "before" one is "after" the one before it. Writes the steps, a line each, to the file named by KILL_LOG.
// With KILL_SIGNAL it is that signal, once, and the program goes on as it sees fit.

const fs = require("node:fs");
const net = require("node:net");
const { DatabaseSync } = require("node:sqlite");

// A number, or `NAME>NAME`: the first step of the second name after one of the first.
const killAt = process.env.KILL_AT;
const [former, wanted] = killAt.split(">");
const log = process.env.KILL_LOG;
const signal = process.env.KILL_SIGNAL ?? "SIGKILL";
// What the program starts must not die with it, and must not inherit this.
for (const name of ["KILL_AT", "KILL_LOG", "KILL_SIGNAL", "NODE_OPTIONS"]) delete process.env[name];

const steps = [];
const { writeFileSync } = fs;

function before(name) {
  const isMet = wanted === undefined ? steps.length + 1 === Number(killAt) : name === wanted;
  const isKilled = isMet && (wanted === undefined || steps.includes(former));
  steps.push(name);
  if (!isKilled) return;
  writeFileSync(log, steps.join("\n"));
  do process.kill(process.pid, signal);
  while (signal === "SIGKILL");
}

process.on("exit", () => {
  before("exit");
  writeFileSync(log, steps.join("\n"));
});

// SQLite: what takes a lock, and what makes a change durable. A transaction that only reads changes nothing.
const { exec, prepare } = DatabaseSync.prototype;
const written = new WeakMap();

DatabaseSync.prototype.exec = function (sql) {
  if (/\bBEGIN (IMMEDIATE|EXCLUSIVE)/.test(sql)) written.set(this, new Set());
  if (/\bBEGIN EXCLUSIVE/.test(sql)) before("lock");
  const tables = written.get(this);
  if (tables !== undefined && /\b(COMMIT|ROLLBACK)\b/.test(sql)) {
    written.delete(this);
    before(`commit ${[...tables].sort().join("+")}`);
  }
  return exec.call(this, sql);
};

DatabaseSync.prototype.prepare = function (sql, ...rest) {
  const [, table] = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM) (\w+)/.exec(sql) ?? [];
  if (table !== undefined) written.get(this)?.add(table);
  const statement = prepare.call(this, sql, ...rest);
  if (table === undefined || this.isTransaction) return statement;
  const { run } = statement;
  statement.run = (...values) => {
    before(`commit ${table}`);
    return run.apply(statement, values);
  };
  return statement;
};

// Sockets; standard output is one where it is a pipe of Node's making.
const { _writeGeneric, push } = net.Socket.prototype;

net.Socket.prototype._writeGeneric = function (...given) {
  // While connecting it only asks to be called again.
  if (this.connecting) return _writeGeneric.apply(this, given);
  before(this._handle?.fd === 1 ? "stdout" : "send");
  return _writeGeneric.apply(this, given);
};

net.Socket.prototype.push = function (chunk, ...rest) {
  if (chunk) before("receive");
  return push.call(this, chunk, ...rest);
};

// Files that are made durable: the key, the database, --credentials-out; not the cache of compiled code, which one run in many writes.
const { XDG_CACHE_HOME: caches = "none" } = process.env;
const cached = new Set();
const { openSync } = fs;
fs.openSync = (path, ...rest) => {
  const descriptor = openSync(path, ...rest);
  if (String(path).startsWith(caches)) cached.add(descriptor);
  else cached.delete(descriptor);
  return descriptor;
};
for (const name of ["fsyncSync", "linkSync", "renameSync"]) {
  const original = fs[name];
  fs[name] = (file, ...rest) => {
    if (!cached.has(file) && !String(file).startsWith(caches)) before(name);
    return original(file, ...rest);
  };
}
