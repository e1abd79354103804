import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { machineWithVaults, vaults } from "../completion/support.ts";
import { runVault, vaultBin, type RunOptions, type RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

interface Loaded {
  result: RunResult;
  /** The chunks that were loaded. */
  files: string[];
  /** Packages of which any file was loaded, from whichever chunk. */
  packages: string[];
  /** Names of our own source files in the chunks that were loaded. */
  sources: string[];
  /** Node's own public modules, as `node:sqlite`. */
  builtins: string[];
}

type Chunks = Record<string, { packages: string[]; sources: string[] }>;

const hook = join(import.meta.dirname, "fixtures", "list-loaded.cjs");

const dist = join(dirname(vaultBin), "..", "dist");
const readChunks = (): Chunks =>
  JSON.parse(readFileSync(join(dist, "chunks.json"), "utf8")) as Chunks;

/** Runs the built program and says what it loaded on the way, by the runtime's own account. */
async function loadedBy(args: readonly string[], options: RunOptions = {}): Promise<Loaded> {
  const list = join(tempDir("loaded"), "list.json");
  const env = { ...options.env, NODE_OPTIONS: `--require=${hook}`, LIST_LOADED: list };
  const result = await runVault(args, { ...options, env });
  const { files, builtins } = JSON.parse(readFileSync(list, "utf8")) as {
    files: string[];
    builtins: string[];
  };
  const chunks = readChunks();
  const loaded = files.filter((file) => dirname(file) === dist).map((file) => basename(file));
  const used = loaded.map((file) => chunks[file]);
  return {
    result,
    files: loaded,
    packages: [...new Set(used.flatMap((chunk) => chunk?.packages ?? []))].sort(),
    sources: [...new Set(used.flatMap((chunk) => chunk?.sources ?? []))].sort(),
    builtins: builtins.map((name) => `node:${name}`),
  };
}

/** What costs time and is needed by few commands; node:net and node:http pull in half of the runtime. */
const costly =
  /^(zod|conf|ajv|chalk|@inquirer\/.*|node:(sqlite|http|https|tls|stream|crypto|zlib))$/;

test.each([
  ["--version"],
  ["--help"],
  ["get", "--help"],
  ["ack", "--help"],
  ["audit-replay", "--help"],
  ["sandbox", "--help"],
  ["sandbox", "start", "--help"],
  ["help", "settings"],
  ["help", "--json"],
  ["completion", "bash"],
  ["__complete", ""],
  ["__complete", "get", "--kind", ""],
  ["__complete", "ack", "--"],
  ["__complete", "--profile", ""],
])("vault %s %s %s loads nothing costly", async (...args) => {
  const { result, packages, builtins } = await loadedBy(args);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  // Tests connect their children by a socket, which needs it; a pipe, a file or a terminal does not.
  const streamsOfSockets = ["node:net", "node:stream"];
  expect(
    [...packages, ...builtins].filter(
      (name) => costly.test(name) && !streamsOfSockets.includes(name),
    ),
  ).toEqual([]);
});

test("of what costs, completion of vaults loads SQLite alone", async () => {
  const { result, packages, builtins } = await loadedBy(["__complete", "get", ""], {
    stateDir: (await machineWithVaults()).stateDir,
  });
  expect(result.stdout).toContain(vaults[0].uuid);
  const streamsOfSockets = ["node:net", "node:stream"];
  expect(
    [...packages, ...builtins].filter(
      (name) => costly.test(name) && !streamsOfSockets.includes(name),
    ),
  ).toEqual(["node:sqlite"]);
});

test("--version loads one file, and no package at all", async () => {
  const { files, packages, sources } = await loadedBy(["--version"]);
  expect(files).toEqual(["vault.cjs"]);
  expect(packages).toEqual([]);
  expect(sources).not.toContain("cli/program.ts");
});

test("the list sees what is loaded", async () => {
  const { packages, builtins } = await loadedBy(["status", "--json"], {
    stateDir: tempDir("state"),
    configDir: tempDir("config"),
  });
  expect(packages).toContain("commander");
  expect([...packages, ...builtins].some((name) => costly.test(name))).toBe(true);
});

test("compiled code is cached in a private folder of this user, and only there", async () => {
  const home = tempDir("home");
  const cache = join(home, ".cache", "vaultsvc");
  await runVault(["--help"], { env: { HOME: home, XDG_CACHE_HOME: undefined } });
  expect(statSync(cache).mode & 0o777).toBe(0o700);
  expect(readdirSync(cache)).toEqual(["--help"]);
  expect(statSync(join(cache, "--help")).mode & 0o777).toBe(0o600);

  const shared = tempDir("shared");
  mkdirSync(join(shared, "vaultsvc"));
  chmodSync(join(shared, "vaultsvc"), 0o770);
  expect(await runVault(["--help"], { env: { XDG_CACHE_HOME: shared } })).toMatchObject({
    code: 0,
    stderr: "",
  });
  expect(readdirSync(join(shared, "vaultsvc"))).toEqual([]);
  expect(
    await runVault(["--help"], { env: { HOME: join(home, "missing"), XDG_CACHE_HOME: undefined } }),
  ).toMatchObject({
    code: 0,
    stderr: "",
  });
  expect(existsSync(join(home, "missing"))).toBe(false);
});

/** `status` of a user without vaults, and the file with its compiled code. */
function cachedStatus() {
  const home = tempDir("home");
  const [stateDir, configDir] = [tempDir("state"), tempDir("config")];
  const status = async () =>
    await runVault(["status", "--json"], {
      env: { HOME: home, XDG_CACHE_HOME: undefined },
      stateDir,
      configDir,
    });
  return { status, file: join(home, ".cache", "vaultsvc", "status") };
}

test("compiled code that is not whole, or of something else, is compiled anew", async () => {
  const { status, file } = cachedStatus();
  expect(await status()).toMatchObject({ code: 0 });
  const whole = readFileSync(file);
  const headOf = (bytes: Buffer) =>
    JSON.parse(bytes.toString("utf8", 0, bytes.indexOf("\n"))) as {
      key: string;
      chunks: [name: string, length: number][];
    };
  const { key, chunks } = headOf(whole);
  const others = [
    Buffer.alloc(0),
    Buffer.from("?\n"),
    whole.subarray(0, whole.indexOf("\n") + 1000),
    Buffer.from(`${JSON.stringify({ key, chunks: chunks.slice(0, 1) })}\n`),
    // Of another build.
    Buffer.from(whole.toString("latin1").replaceAll(key, key.replaceAll(/./g, "0")), "latin1"),
  ];
  for (const other of others) {
    writeFileSync(file, other);
    expect(await status()).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining('"vaults"') as string,
    });
    const written = headOf(readFileSync(file));
    expect(written.key).toBe(key);
    expect(written.chunks.map(([name]) => name)).toEqual(chunks.map(([name]) => name));
  }
});

test("compiled code with one bit flipped is not run, and is replaced", async () => {
  const { status, file } = cachedStatus();
  const expected = await status();
  expect(expected).toMatchObject({ code: 0, stderr: "" });
  for (const part of [0.002, 0.2, 0.5, 0.8, 0.9999]) {
    const whole = readFileSync(file);
    const at = Math.floor(whole.length * part);
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(flipped.readUInt8(at) ^ 16, at);
    writeFileSync(file, flipped);
    expect(await status()).toEqual(expected);
    expect(readFileSync(file).equals(flipped)).toBe(false);
  }
});

test("a command reads few files", async () => {
  const { files } = await loadedBy(["status", "--json"], {
    stateDir: tempDir("state"),
    configDir: tempDir("config"),
  });
  expect(files.length).toBeLessThanOrEqual(7);
});

test("status of known vaults reads few files, and loads no schemas", async () => {
  const { stateDir } = await machineWithVaults();
  const { files, packages } = await loadedBy(["status", "--json"], { stateDir });
  expect(files.length).toBeLessThanOrEqual(8);
  expect(packages).toEqual(["commander"]);
});

test("audit-replay reads a state without what opens it", async () => {
  const { result, sources } = await loadedBy(["audit-replay", "--json"], {
    stateDir: (await machineWithVaults()).stateDir,
  });
  expect(result).toMatchObject({ code: 0 });
  expect(sources).toContain("store/sqlite/history.ts");
  expect(sources).not.toContain("store/sqlite/store.ts");
});

/** Chunks that a chunk loads: those it `needs` at once, and those it loads `later`, when they are used. */
function loadsOf(chunk: string): { needs: string[]; later: string[] } {
  const code = readFileSync(join(dist, chunk), "utf8");
  const found = [...code.matchAll(/(then\(\(\)=>[^()]*\(?)?require\(.\.\/([\w-]+\.cjs).\)/g)];
  const names = (isLater: boolean): string[] =>
    found.flatMap(([, later, name = ""]) => ((later !== undefined) === isLater ? [name] : []));
  return { needs: names(false), later: names(true) };
}

test("what becomes of a start is in chunks that are loaded or held before: a new build may have others", () => {
  const chunks = readChunks();
  const sourcesOf = (names: readonly string[]) => names.flatMap((name) => chunks[name]?.sources);
  const entry = "exchange.cjs";
  const [, holds = ""] =
    /^\/\/.*\n\/\/holds (.*)/.exec(readFileSync(join(dist, entry), "utf8")) ?? [];
  const held = holds.split(" ");
  const { needs, later } = loadsOf(entry);
  expect(sourcesOf([entry, ...needs])).toEqual(
    expect.arrayContaining(["exchange/run.ts", "exchange/end.ts", "store/sqlite/store.ts"]),
  );
  expect(sourcesOf(held)).toEqual(
    expect.arrayContaining(["exchange/refusals.ts", "exchange/dispositions.ts"]),
  );
  // Loaded before a start is sent, where the command line or the settings ask for it.
  const before = ["dry-run", "field-paths", "input", "jwt", "many", "run"];
  const known = new Set([entry, ...needs, ...held, ...before.map((name) => `${name}.cjs`)]);
  expect(
    [...later, ...held.flatMap((name) => Object.values(loadsOf(name)).flat())].filter(
      (it) => !known.has(it),
    ),
  ).toEqual([]);
});
