import { basename, join } from "node:path";
import { defineConfig, type Plugin } from "rolldown";

/** The name of the package that a module belongs to, or null for our own. */
function packageOf(id: string): string | null {
  const match = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
  return match?.[1] ?? null;
}

/** Writes dist/chunks.json: which packages each chunk holds, and which files of ours. The tests of start-up read it. */
function listChunks(): Plugin {
  return {
    name: "list-chunks",
    generateBundle(_options, bundle) {
      const chunks: Record<string, { packages: string[]; sources: string[] }> = {};
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        const packages = chunk.moduleIds.map(packageOf).filter((name) => name !== null);
        const sources = chunk.moduleIds.filter((id) => packageOf(id) === null && !id.startsWith("\0")).map((id) => basename(id));
        chunks[chunk.fileName] = { packages: [...new Set(packages)].sort(), sources: sources.sort() };
      }
      this.emitFile({ type: "asset", fileName: "chunks.json", source: `${JSON.stringify(chunks, null, 2)}\n` });
    },
  };
}

/**
 * commander imports node:child_process for subcommands that are programs of their own. We have none, and loading it takes a
 * sixth of a bare start.
 */
function lazyChildProcess(): Plugin {
  const id = "\0lazy-child-process";
  return {
    name: "lazy-child-process",
    resolveId: (source, importer) => (source === "node:child_process" && packageOf(importer ?? "") === "commander" ? id : undefined),
    load: (loaded) =>
      loaded === id ? `export default { spawn: (...args) => process.getBuiltinModule("node:child_process").spawn(...args) };` : undefined,
  };
}

/** undici's HTTP/2 needs node:http2, which takes as long to load as a bare start; the client never asks for it. */
function withoutHttp2(): Plugin {
  const id = "\0without-http2";
  return {
    name: "without-http2",
    resolveId: (source, importer) => (source.endsWith("/client-h2.js") && packageOf(importer ?? "") === "undici" ? id : undefined),
    load: (loaded) => (loaded === id ? `module.exports = () => { throw new Error("HTTP/2 is not part of this program"); };` : undefined),
  };
}

/** One entry for bin/vault.js, so that `--version` reads one file. */
function launcherEntry(): Plugin {
  return {
    name: "launcher-entry",
    resolveId: (source) => (source === "launcher-entry" ? join(import.meta.dirname, source) : undefined),
    load: (id) =>
      basename(id) === "launcher-entry" ? `export { main } from "./src/main.ts"; export { createHost } from "./src/host.ts";` : undefined,
  };
}

/** Split CommonJS, which starts fastest; what is imported dynamically becomes a chunk of its own, loaded by `require`. */
const program = defineConfig({
  input: { vault: "launcher-entry" },
  // What the entry shares with chunks stays in it.
  preserveEntrySignatures: "allow-extension",
  platform: "node",
  // The one optional dependency: it brings a binary of each platform, and is looked for when a key is in the system's keyring.
  external: ["@napi-rs/keyring"],
  // With this build flag undici leaves out its second HTTP parser; the client uses the first.
  transform: { define: { esbuildDetection: "1" } },
  plugins: [launcherEntry(), lazyChildProcess(), withoutHttp2(), listChunks()],
  output: {
    dir: "dist",
    format: "cjs",
    cleanDir: true,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
    dynamicImportInCjs: false,
    minify: true,
    sourcemap: false,
  },
});

/** What a thread runs is a program of its own, so that it loads nothing but what it needs. */
const scanThread = defineConfig({
  input: { "scan-thread": "src/audit/scan-thread.ts" },
  platform: "node",
  output: { dir: "dist", format: "cjs", entryFileNames: "[name].cjs", minify: true, sourcemap: false },
});

export default [program, scanThread];
