// npm run package: makes one executable of the program and its runtime.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
const out = join(root, "release");
const program = join(out, "vault");
const scratch = mkdtempSync(join(tmpdir(), "vault-package-"));
const [code, home] = [join(scratch, "code"), join(scratch, "home")];
/** What people and scripts do all the time: the executable has compiled code of what this calls. */
const usual = `
  vault --help
  vault __complete get ''
  vault status
  vault status --json
  vault guard
  vault get $VAULT --reveal
  vault get $VAULT --json
  vault sandbox audit --export "$HOME/items.ndjson"
  vault audit-replay "$HOME/items.ndjson"
  vault audit-replay "$HOME/items.ndjson" --json`;
/**
 * Compiled code has hashes by a seed that V8 draws. It is fixed where the code is made, so that two
 * builds of one commit give the same bytes; the executable draws its own, and takes the code.
 */
const fixedSeed = "--random-seed=1";

/**
 * Loads the chunks of the build, and writes what was compiled at the end, with what earlier runs
 * have compiled.
 */
const tracing = `
  const { existsSync, readFileSync, writeFileSync } = require("fs");
  const fileOf = (name) => ${JSON.stringify(code)} + "/" + name;
  const codeOf = (name) => (existsSync(fileOf(name)) ? readFileSync(fileOf(name)) : undefined);
  const chunkOf = (name) => readFileSync(${JSON.stringify(dist)} + "/" + name, "utf8");
  const { load, scripts } = loader("/", chunkOf, { get: codeOf });
  process.on("exit", () => {
    for (const [name, script] of scripts) writeFileSync(fileOf(name), script.createCachedData());
  });`;

/** Loads the chunks and their compiled code from the assets. */
const fromAssets = `
  const { getAsset, getAssetKeys, getRawAsset } = require("node:sea");
  const assets = getAssetKeys();
  const codeOf = (name) =>
    assets.includes(name + ".code") ? new Uint8Array(getRawAsset(name + ".code")) : undefined;
  const { load } = loader("/", (name) => getAsset(name, "utf8"), { get: codeOf });`;

/** Writes the launcher as one file; it takes the program from `load`. */
async function writeLauncher(file: string, load: string): Promise<void> {
  const text = `
    const { loader } = require(${JSON.stringify(join(root, "bin", "compiled-code.js"))});
    ${load}
    exports.load = () => ({ program: load("vault.cjs"), keep: () => undefined });`;
  const loading = join(root, "bin", "load.js");
  const bundle = await rolldown({
    input: join(root, "bin", "vault.js"),
    platform: "node",
    plugins: [{ name: "load-program", load: (id) => (id === loading ? text : undefined) }],
  });
  await bundle.write({ format: "cjs", file });
  await bundle.close();
}

/** Makes the executable, with the compiled code that there is. */
function make(main: string): void {
  const [config, blob] = [join(scratch, "sea.json"), join(scratch, "blob")];
  const chunks = readdirSync(dist).filter((chunk) => chunk.endsWith(".cjs"));
  const assets: Record<string, string> = {};
  for (const chunk of chunks) assets[chunk] = join(dist, chunk);
  for (const chunk of readdirSync(code)) assets[`${chunk}.code`] = join(code, chunk);
  writeFileSync(
    config,
    JSON.stringify({
      main: basename(main),
      output: blob,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      assets,
    }),
  );
  run(process.execPath, [fixedSeed, "--experimental-sea-config", config]);
  copyFileSync(process.execPath, program);
  const injector = join(root, "node_modules", "postject", "dist", "cli.js");
  run(process.execPath, [
    injector,
    program,
    "NODE_SEA_BLOB",
    blob,
    "--sentinel-fuse",
    "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2",
  ]);
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): void {
  const options = { cwd: scratch, env, encoding: "utf8" } as const;
  const { status, stderr, stdout } = spawnSync(command, args, options);
  if (status !== 0)
    throw new Error(
      `${command} ${args.join(" ")} ended with ${String(status)}: ${stdout}${stderr}`,
    );
}

if (process.platform !== "linux")
  throw new Error("the single executable is made on Linux only; elsewhere install the npm package");
rmSync(out, { recursive: true, force: true });
for (const each of [out, code, home]) mkdirSync(each, { recursive: true });
try {
  const [tracer, main] = [join(scratch, "tracer.cjs"), join(scratch, "main.cjs")];
  await writeLauncher(tracer, tracing);
  await writeLauncher(main, fromAssets);
  // The sandbox itself is not traced: it ends last, and knows nothing of what the others compiled.
  const script = `set -e; vault() { "${process.execPath}" ${fixedSeed} "${tracer}" "$@"; }${usual}`;
  const vault = join(root, "bin", "vault.js");
  run(process.execPath, [vault, "sandbox", "exec", "--", "sh", "-c", script], {
    PATH: process.env["PATH"],
    HOME: home,
  });
  make(main);
} finally {
  rmSync(scratch, { recursive: true });
}
