"use strict";
// Loads the chunks of the build by compiled code of all their functions. Node's own cache leaves
// out functions within functions, which are nearly all: a `get` takes 100 ms with this one and 127
// with that.

const fs = require("fs");
const path = require("path");
const { Script } = require("vm");

/**
 * Makes what stands for `require` of a chunk, and a record of all that was compiled. `read` returns
 * a chunk's text, `code` has the compiled code of some chunks by name: V8 compares no more of the
 * text than its length.
 */
function loader(folder, read, code) {
  const loaded = new Map();
  const scripts = new Map();
  const load = (name) => {
    const known = loaded.get(name);
    if (known !== undefined) return known.exports;
    const chunk = { exports: {} };
    loaded.set(name, chunk);
    const filename = `${folder}/${name}`;
    const text = `(function (exports, require, module, __filename, __dirname) {${read(name)}\n})`;
    const script = new Script(text, { filename, cachedData: code.get(name) });
    scripts.set(name, script);
    const within = (id) => (id.startsWith("./") ? load(id.slice(2)) : require(id));
    script.runInThisContext().call(chunk.exports, chunk.exports, within, chunk, filename, folder);
    return chunk.exports;
  };
  return { load, scripts };
}

/**
 * Loads the program from a folder of chunks, with the compiled code that an earlier run of the same
 * command has kept.
 */
function loadCompiled(folder, process) {
  const file = cacheFile(folder, process);
  const code = file === null ? new Map() : readCode(file);
  const { load, scripts } = loader(
    folder,
    (name) => fs.readFileSync(`${folder}/${name}`, "utf8"),
    code,
  );
  const program = load("vault.cjs");
  return {
    program,
    /**
     * Writes the compiled code of all that was loaded, unless the cache has it. Without a cache, it
     * goes without. V8 rejects code of other flags: all of it from the first chunk on, or what was
     * loaded while a command had changed them, which is no reason to write.
     */
    keep() {
      const isKnown = [...scripts.keys()].every((name) => code.has(name));
      if (file === null || (isKnown && !scripts.get("vault.cjs").cachedDataRejected)) return;
      for (const [name, script] of scripts) code.set(name, script.createCachedData());
      writeCode(file, code, process);
    },
  };
}

/**
 * The file for the compiled code of a build and a command, or null. What is cached is run: only in
 * a folder of ours that belongs to this very user (root with another user's HOME has none) and that
 * nobody else can reach.
 */
function cacheFile(built, { arch, argv, env, getuid, version }) {
  const home = env.HOME || "";
  const caches = env.XDG_CACHE_HOME || `${home}/.cache`;
  if (home === "" || !path.isAbsolute(caches) || getuid === undefined) return null;
  const folder = `${caches}/vaultsvc`;
  try {
    const build = fs.readFileSync(`${built}/build`, "latin1");
    for (const each of [caches, folder])
      if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 });
    const stat = fs.lstatSync(folder);
    if (!stat.isDirectory() || stat.uid !== getuid() || (stat.mode & 0o77) !== 0) return null;
    const command = /^[\w-]{1,20}$/.exec(argv[2] || "none")?.[0] ?? "other";
    return `${folder}/${build}-${version}-${arch}/${command}`;
  } catch {
    return null;
  }
}

/** A line of JSON, then the code of each chunk, and all of it again. Synced before it has its name. */
function writeCode(file, code, process) {
  const fresh = `${file}.${process.pid}`;
  const chunks = [...code].map(([name, bytes]) => [name, bytes.length]);
  try {
    const folder = path.dirname(file);
    const isNew = fs.mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined;
    const descriptor = fs.openSync(fresh, "wx", 0o600);
    const bytes = Buffer.concat([Buffer.from(`${JSON.stringify(chunks)}\n`), ...code.values()]);
    fs.writeFileSync(descriptor, Buffer.concat([bytes, bytes]));
    fs.fsyncSync(descriptor);
    fs.closeSync(descriptor);
    fs.renameSync(fresh, file);
    if (isNew) removeOld(path.dirname(folder));
  } catch {
    fs.rmSync(fresh, { force: true });
  }
}

/**
 * Removes what builds have left to which nothing was added for a month: most were updated. One that
 * is still used writes its code again.
 */
function removeOld(folder) {
  const oldest = Date.now() - 30 * 24 * 3600 * 1000;
  for (const name of fs.readdirSync(folder)) {
    const build = path.join(folder, name);
    if (fs.statSync(build).mtimeMs < oldest) fs.rmSync(build, { recursive: true, force: true });
  }
}

/**
 * The code by chunk; none where the file is not as it was written: V8 runs what it is given, and
 * one flipped bit ends the process. Two copies are compared, because a checksum would load zlib,
 * which takes a tenth of a bare start.
 */
function readCode(file) {
  try {
    const whole = fs.readFileSync(file);
    const bytes = whole.subarray(0, whole.length / 2);
    if (!bytes.equals(whole.subarray(bytes.length))) return new Map();
    let at = bytes.indexOf(10) + 1;
    const chunks = JSON.parse(bytes.toString("utf8", 0, at));
    return new Map(chunks.map(([name, length]) => [name, bytes.subarray(at, (at += length))]));
  } catch {
    return new Map();
  }
}

module.exports = { loadCompiled, loader };
