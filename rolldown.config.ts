import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { defineConfig, type Plugin } from "rolldown";

/** The name of the package that a module belongs to, or null for our own. */
function packageOf(id: string): string | null {
  const match = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
  return match?.[1] ?? null;
}

/** The folder of the package that a module belongs to, or null for our own. */
function folderOf(id: string): string | null {
  return /.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? null;
}

/** The texts of a package's licences: files of their own, or the last section of its README. */
function licencesIn(folder: string): string[] {
  const files = readdirSync(folder);
  const texts = (names: readonly string[]): string[] => names.map((file) => readFileSync(join(folder, file), "utf8"));
  const own = texts(files.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)));
  if (own.length > 0) return own;
  return texts(files.filter((file) => file === "README.md")).flatMap((readme) => /^## license\n(.*)/ims.exec(readme)?.slice(1) ?? []);
}

/** Writes THIRD-PARTY-NOTICES.md: name, version and licence of each package of which something is bundled. Throws for one without. */
function writeNotices(): Plugin {
  const section = (folder: string): { name: string; text: string } => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, string>;
    const licences = licencesIn(folder);
    if (name === undefined || licences.length === 0) throw new Error(`${folder} has no licence that could be shipped with it`);
    const texts = licences.map((text) => `\`\`\`\`text\n${text.trim()}\n\`\`\`\`\n`);
    return { name, text: `## ${name} ${version}\n\nLicense: ${license}\n\n${texts.join("\n")}` };
  };
  return {
    name: "write-notices",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
      const folders = new Set(modules.map(folderOf).filter((folder) => folder !== null));
      const sections = [...folders].map(section).sort((a, b) => (a.name < b.name ? -1 : 1));
      const head = "# Third-party notices\n\nThe program contains parts of these packages.\n\n";
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY-NOTICES.md", source: head + sections.map(({ text }) => text).join("\n") });
    },
  };
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
        const sources = chunk.moduleIds
          .filter((id) => packageOf(id) === null && !id.startsWith("\0"))
          .map((id) => relative(join(import.meta.dirname, "src"), id));
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

/** The texts of the topics are read from files in a checkout, and are part of the program here. */
function embedTopics(): Plugin {
  const folder = join(import.meta.dirname, "src", "cli", "topics");
  return {
    name: "embed-topics",
    load(id) {
      if (id !== join(folder, "read.ts")) return undefined;
      const files = readdirSync(folder).filter((file) => file.endsWith(".md"));
      const texts = Object.fromEntries(files.map((file) => [basename(file, ".md"), readFileSync(join(folder, file), "utf8")]));
      return `const texts = ${JSON.stringify(texts)}; export const readTopic = (topic) => texts[topic];`;
    },
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
export default defineConfig({
  input: { vault: "launcher-entry" },
  // What the entry shares with chunks stays in it.
  preserveEntrySignatures: "allow-extension",
  platform: "node",
  // The one optional dependency: it brings a binary of each platform, and is looked for when a key is in the system's keyring.
  external: ["@napi-rs/keyring"],
  // With this build flag undici leaves out its second HTTP parser; the client uses the first.
  transform: { define: { esbuildDetection: "1" } },
  plugins: [launcherEntry(), embedTopics(), lazyChildProcess(), withoutHttp2(), listChunks(), writeNotices()],
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
