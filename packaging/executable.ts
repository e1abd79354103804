// npm run package: makes one executable of the program and its runtime, and an archive of it with
// what belongs to it.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const out = join(root, "release");
const program = join(out, "vault");
const name = `vault-${process.platform}-${process.arch}`;
const scratch = mkdtempSync(join(tmpdir(), "vault-package-"));
const [code, home] = [join(scratch, "code"), join(scratch, "home")];
/** What people and scripts do all the time; of each chunk, the code is that of the last one. */
const usual = ["--help", "status", "status --json", "get $VAULT --reveal", "get $VAULT --json"];

/**
 * The launcher as one file, with the chunks from the assets. With `trace` it writes what it has
 * compiled at its end, with the functions that were called.
 */
async function launcher(trace: boolean): Promise<string> {
  const writing = `process.on("exit", () => {
    for (const [name, script] of scripts)
      require("fs").writeFileSync(${JSON.stringify(code)} + "/" + name, script.createCachedData());
  });`;
  const fromAssets = `
    const { loader } = require(${JSON.stringify(join(root, "bin", "compiled-code.js"))});
    const { getAsset, getRawAsset } = require("node:sea");
    const codeOf = (name) => {
      const bytes = new Uint8Array(getRawAsset(name + ".code"));
      return bytes.length > 0 ? bytes : undefined;
    };
    const { load, scripts } = loader("/", (name) => getAsset(name, "utf8"), { get: codeOf });
    ${trace ? writing : ""}
    exports.load = () => ({ program: load("vault.cjs"), keep: () => undefined });`;
  const loading = join(root, "bin", "load.js");
  const bundle = await rolldown({
    input: join(root, "bin", "vault.js"),
    platform: "node",
    plugins: [{ name: "from-assets", load: (id) => (id === loading ? fromAssets : undefined) }],
  });
  const { output } = await bundle.generate({ format: "cjs" });
  await bundle.close();
  return output[0].code;
}

/** Makes the executable, with the compiled code that there is. */
function make(main: string): void {
  const file = (name: string): string => join(scratch, name);
  const [mainFile, none, config, blob] = [
    file("main.cjs"),
    file("none"),
    file("sea.json"),
    file("blob"),
  ];
  writeFileSync(mainFile, main);
  writeFileSync(none, "");
  const chunks = readdirSync(join(root, "dist")).filter((chunk) => chunk.endsWith(".cjs"));
  const compiled = readdirSync(code);
  const assets = Object.fromEntries(
    chunks.flatMap((chunk) => [
      [chunk, join(root, "dist", chunk)],
      [`${chunk}.code`, compiled.includes(chunk) ? join(code, chunk) : none],
    ]),
  );
  writeFileSync(
    config,
    JSON.stringify({
      main: mainFile,
      output: blob,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      assets,
    }),
  );
  run(process.execPath, ["--experimental-sea-config", config]);
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
  const { status, stderr, stdout } = spawnSync(command, args, { env, encoding: "utf8" });
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
  make(await launcher(true));
  const line = usual.map((words) => `vault ${words}`).join(" && ");
  run(program, ["sandbox", "exec", "--", "sh", "-c", line], {
    PATH: process.env["PATH"],
    HOME: home,
  });
  make(await launcher(false));
  pack();
} finally {
  rmSync(scratch, { recursive: true });
}

/** Puts the executable into an archive, with what belongs to it. */
function pack(): void {
  const folder = join(scratch, name);
  mkdirSync(folder);
  copyFileSync(program, join(folder, "vault"));
  for (const part of [
    "completions",
    "man",
    "README.md",
    "CHANGELOG.md",
    "THIRD-PARTY-NOTICES.md",
  ]) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  const runtime = join(
    root,
    "node_modules",
    "node",
    "node_modules",
    `node-${process.platform}-${process.arch}`,
  );
  copyFileSync(join(runtime, "LICENSE"), join(folder, "LICENSE-Node.txt"));
  run("tar", ["-C", scratch, "-czf", join(out, `${name}.tar.gz`), name]);
  process.stdout.write(`release/vault, release/${name}.tar.gz\n`);
}
