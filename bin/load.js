"use strict";
// Loads the program: the build, or the sources of a checkout that was never built. A command loads
// a chunk by the compiled code of all functions that it called the last time. Node's own cache
// leaves out functions within functions, which are nearly all: in bare starts, `get` takes 3.1 with
// this one, 3.9 with that and 4.3 without any; `status` 1.7, 2.1 and 2.3; `--version` gains 0.05.

const fs = require("fs");
const path = require("path");
const { getAsset, isSea } = require("node:sea");
const { Script } = require("vm");

const root = path.dirname(__dirname);
const built = `${root}/dist`;

/** The text of a file of the build, which the single executable has as assets. */
const read = (name) =>
  isSea() ? getAsset(name, "utf8") : fs.readFileSync(`${built}/${name}`, "utf8");

/** Loads the program. `keep` writes what was compiled, for the next time. */
function load(process) {
  if (!isSea() && !fs.existsSync(`${built}/vault.cjs`))
    return { program: require(`${root}/src/main.ts`), keep: () => undefined };
  const cache = openCache(process);
  const code = cache === null ? new Map() : readCode(cache);
  const loaded = new Map();
  const held = new Map();
  let build;
  /**
   * The text of a chunk, if it is of the build that was started: another one has other names. The
   * chunks that it names in its second line are read with it, and run when they are needed: once a
   * start is sent, the program may be gone.
   */
  const readChunk = (name) => {
    if (held.has(name)) return held.get(name);
    let text = "";
    try {
      text = read(name);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
    const ofBuild = text.slice(0, text.indexOf("\n") + 1);
    build ??= ofBuild;
    if (ofBuild === "" || ofBuild !== build) {
      const what = text === "" ? "is missing" : "is of another build";
      throw Object.assign(new Error(`${name} ${what}`), { code: "ERR_REPLACED" });
    }
    const [, names] = /^.*\n\/\/holds (.*)/.exec(text) ?? [];
    for (const each of names?.split(" ") ?? []) held.set(each, readChunk(each));
    return text;
  };
  const loadChunk = (name) => {
    const known = loaded.get(name);
    if (known !== undefined) return known.chunk.exports;
    const filename = `${built}/${name}`;
    const text = `(function (exports, require, module, __filename, __dirname) {${readChunk(name)}\n})`;
    const script = new Script(text, { filename, cachedData: code.get(name) });
    const chunk = { exports: {} };
    loaded.set(name, { chunk, script });
    const within = (id) => (id.startsWith("./") ? loadChunk(id.slice(2)) : require(id));
    try {
      script.runInThisContext().call(chunk.exports, chunk.exports, within, chunk, filename, built);
    } catch (error) {
      loaded.delete(name);
      throw error;
    }
    return chunk.exports;
  };
  return {
    program: loadChunk("vault.cjs"),
    // V8 rejects code of other flags: all of it from the first chunk on, or what was loaded while a
    // command had changed them, which is no reason to write.
    keep() {
      const isKnown = [...loaded.keys()].every((name) => code.has(name));
      if (cache === null || (isKnown && !loaded.get("vault.cjs").script.cachedDataRejected)) return;
      for (const [name, { script }] of loaded) code.set(name, script.createCachedData());
      writeCode(cache, code);
    },
  };
}

/**
 * The file for the compiled code of a command, with a key of what compiled it: V8 compares no more
 * of the text than its length. What is cached is run: only in a folder of ours that belongs to this
 * very user (root with another user's HOME has none) and that nobody else can reach; else null.
 */
function openCache({ arch, argv, env, getuid, version }) {
  const home = env.HOME || "";
  const caches = env.XDG_CACHE_HOME || `${home}/.cache`;
  if (home === "" || !path.isAbsolute(caches)) return null;
  const folder = `${caches}/vaultsvc`;
  const command = /^[\w-]{1,20}$/.exec(argv[2] || "none")?.[0] ?? "other";
  try {
    for (const each of [caches, folder])
      if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 });
    const stat = fs.lstatSync(folder);
    if (!stat.isDirectory() || stat.uid !== getuid() || (stat.mode & 0o77) !== 0) return null;
    return { file: `${folder}/${command}`, key: `${read("build")} ${version} ${arch}` };
  } catch {
    return null;
  }
}

/** A line of JSON, then the code of each chunk, and all of it again. Synced before it has its name. */
function writeCode({ file, key }, code) {
  const fresh = `${file}.${process.pid}`;
  const chunks = [...code].map(([name, bytes]) => [name, bytes.length]);
  const bytes = [Buffer.from(`${JSON.stringify({ key, chunks })}\n`), ...code.values()];
  try {
    const options = { flag: "wx", mode: 0o600, flush: true };
    fs.writeFileSync(fresh, Buffer.concat([...bytes, ...bytes]), options);
    fs.renameSync(fresh, file);
  } catch {
    fs.rmSync(fresh, { force: true });
  }
}

/**
 * The code by chunk; none where the file is not as it was written: V8 runs what it is given, and
 * one flipped bit ends the process. Two copies are compared, because a checksum would load zlib,
 * which takes a tenth of a bare start.
 */
function readCode({ file, key }) {
  try {
    const whole = fs.readFileSync(file);
    const bytes = whole.subarray(0, whole.length / 2);
    let at = bytes.indexOf(10) + 1;
    const written = JSON.parse(bytes.toString("utf8", 0, at));
    if (written.key !== key || !bytes.equals(whole.subarray(bytes.length))) return new Map();
    return new Map(
      written.chunks.map(([name, length]) => [name, bytes.subarray(at, (at += length))]),
    );
  } catch {
    return new Map();
  }
}

module.exports = { load };
