// npm run build: bundles the program into dist.
import { existsSync, realpathSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build as bundle } from "rolldown";
import { embedTexts, inventory, lazyImports } from "./packaging/bundle.ts";
import { trimUndici } from "./packaging/undici.ts";

const root = import.meta.dirname;
const dist = join(root, "dist");

/**
 * What commands load one after the other, as one chunk: each file costs them half a millisecond.
 * `program` is what completion needs, too, `database` what reads a state without its key, with the
 * rules of lockout, `state` what opens one, `protocol` what checks by the schemas of the interface,
 * with zod, and `exchange` what a call needs besides. What an exchange loads once its start is sent
 * is in one of these, or `held`: a later build may have others by then. Each chunk is named by
 * modules, most of them imported dynamically, and holds what these import and no chunk before it
 * holds. What the entry imports stays in it.
 */
const joined: Readonly<Record<string, string>> = {
  main: "main",
  program: "commands/program input/flags",
  app: "app",
  database: "exchange/counting store/sqlite/database",
  state:
    "exchange/context exchange/next-action files/lock-file settings/profile-secrets " +
    "store/sqlite/store terminal/secrets",
  protocol: "exchange/recovery exchange/start/start protocol/answers protocol/fields",
  audit: "audit/replay audit/meaning/journal",
  tables: "terminal/tables",
  emulator: "sandbox/control sandbox/seeds sandbox/server",
  exchange: "handover/handover runs/one exchange/lock-vault service/client settings/transport",
  "vault-name": "cli/vault-name",
  input: "input/ask input/contents",
  "pass-on": "exchange/credentials handover/credentials-out handover/pass-on",
  refusals: "exchange/refusals",
  status: "commands/status commands/status/vault-status",
};

/** What the launcher reads with a chunk, and runs only when it is needed. */
const held = {
  exchange: "refusals.cjs dispositions.cjs vault-view.cjs tables.cjs pass-on.cjs vault-name.cjs",
};

/** The file of a module. Throws where it has moved: it would leave its chunk unnoticed. */
const source = (module: string): string => realpathSync(join(root, "src", `${module}.ts`));

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
    plugins: [embedTexts(), trimUndici(), lazyImports(), inventory(held)],
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
        groups: Object.entries(joined).map(([name, modules]) => {
          const files = modules.split(" ").map(source);
          return { name, test: (id) => files.includes(id) };
        }),
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
