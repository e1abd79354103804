// npm run build: bundles the program into dist.
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build as bundle, type ChunkingContext } from "rolldown";
import { embedTexts, inventory, lazyBuiltins, lazyChunks } from "./packaging/bundle.ts";
import { trimUndici, undiciSwitch } from "./packaging/undici.ts";

const root = import.meta.dirname;
const dist = join(root, "dist");

/**
 * What commands load one after the other, as one chunk: each file costs them half a millisecond.
 * `program` is what completion needs, too, `database` what reads a state without its key, with the
 * rules of lockout, `names` what finds a vault by its name, `state` what opens one, and `exchange`
 * what a call needs besides. Each chunk is named by modules, most of them imported dynamically, and
 * holds what these import.
 */
const joined: readonly (readonly [chunk: string, modules: readonly string[]])[] = [
  ["program", ["commands/program", "input/flags", "completion/candidates", "cli/own-files"]],
  ["app", ["app"]],
  ["database", ["store/sqlite/snapshot"]],
  ["names", ["cli/vault-name"]],
  [
    "state",
    [
      "commands/status/vault-status",
      "exchange/start/start",
      "files/lock-file",
      "protocol/answers",
      "protocol/fields",
      "settings/profile-secrets",
      "store/sqlite/store",
      "terminal/narrator",
    ],
  ],
  ["audit", ["audit/replay", "audit/meaning/journal"]],
  ["emulator", ["sandbox/control", "sandbox/seeds", "sandbox/server"]],
  [
    "exchange",
    [
      "handover/handover",
      "runs/vaults",
      "exchange/lock-vault",
      "service/client",
      "settings/transport",
    ],
  ],
  // What these import is loaded at its first use (packaging/bundle), and in the chunks above.
  ["program", ["commands/get", "commands/run", "commands/status", "commands/update"]],
];

/**
 * The first of the joined chunks whose modules import this one, or null. What the entry itself
 * imports stays in it.
 */
function joinedChunk(id: string, context: ChunkingContext): string | null {
  if (reachable.size === 0) {
    const source = (name: string): string => join(root, "src", `${name}.ts`);
    for (const [name, roots] of [["", ["main"]], ...joined] as const) {
      const todo = roots.map(source);
      const moved = todo.find((each) => !existsSync(each));
      if (moved !== undefined) throw new Error(`${moved} is not there`);
      for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
        if (reachable.has(next)) continue;
        reachable.set(next, name);
        todo.push(...(context.getModuleInfo(next)?.importedIds ?? []));
      }
    }
  }
  return reachable.get(id) || null;
}
const reachable = new Map<string, string>();

/**
 * Bundles the program into a folder: split CommonJS, which starts fastest; what is imported
 * dynamically becomes a chunk of its own, loaded by `require`.
 */
async function bundleTo(dir: string): Promise<void> {
  await bundle({
    cwd: root,
    input: { vault: "src/main.ts" },
    logLevel: "silent",
    // What the entry shares with chunks stays in it.
    preserveEntrySignatures: "allow-extension",
    platform: "node",
    // What cli-table3 would color borders with: its tables have none here.
    resolve: { alias: { "@colors/colors/safe": false } },
    transform: { define: undiciSwitch },
    plugins: [embedTexts(), trimUndici(), lazyBuiltins(), lazyChunks(), inventory()],
    output: {
      dir,
      format: "cjs",
      entryFileNames: "[name].cjs",
      chunkFileNames: "[name].cjs",
      dynamicImportInCjs: false,
      minify: true,
      // Texts of one byte for each character take half the memory.
      charset: "ascii",
      codeSplitting: {
        groups: [{ name: joinedChunk, debugName: "joined" }],
        includeDependenciesRecursively: false,
      },
    },
  });
}

/**
 * Builds the program into a folder of its own and swaps that in, whole: who starts the program
 * meanwhile gets the former one, which also stays where the build fails. The notices of what is
 * bundled lie beside package.json afterwards.
 */
export async function build(): Promise<void> {
  const fresh = `${dist}.new-${process.pid}`;
  const former = `${dist}.old-${process.pid}`;
  try {
    await bundleTo(fresh);
    renameSync(join(fresh, "THIRD-PARTY-NOTICES.md"), join(root, "THIRD-PARTY-NOTICES.md"));
    if (existsSync(dist)) renameSync(dist, former);
    renameSync(fresh, dist);
  } finally {
    for (const folder of [fresh, former]) rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  await build();
  process.stdout.write("Built dist\n");
}
