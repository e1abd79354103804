import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { defineConfig, type ChunkingContext, type Plugin } from "rolldown";
import { trimUndici, undiciSwitch } from "./packaging/bundle/undici.ts";

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
  const texts = (names: readonly string[]): string[] =>
    names.map((file) => readFileSync(join(folder, file), "utf8"));
  const own = texts(files.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)));
  if (own.length > 0) return own;
  return texts(files.filter((file) => file === "README.md")).flatMap(
    (readme) => /^## license\n(.*)/ims.exec(readme)?.slice(1) ?? [],
  );
}

/** Writes THIRD-PARTY-NOTICES.md: name, version and licence of each package of which something is bundled. Throws for one without. */
function writeNotices(): Plugin {
  const section = (folder: string): { name: string; text: string } => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    ) as Record<string, string>;
    const licences = licencesIn(folder);
    if (name === undefined || licences.length === 0)
      throw new Error(`${folder} has no licence that could be shipped with it`);
    const texts = licences.map((text) => `\`\`\`\`text\n${text.trim()}\n\`\`\`\`\n`);
    return { name, text: `## ${name} ${version}\n\nLicense: ${license}\n\n${texts.join("\n")}` };
  };
  return {
    name: "write-notices",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) =>
        chunk.type === "chunk" ? chunk.moduleIds : [],
      );
      const folders = new Set(modules.map(folderOf).filter((folder) => folder !== null));
      const sections = [...folders].map(section).sort((a, b) => (a.name < b.name ? -1 : 1));
      const head = "# Third-party notices\n\nThe program contains parts of these packages.\n\n";
      this.emitFile({
        type: "asset",
        fileName: "THIRD-PARTY-NOTICES.md",
        source: head + sections.map(({ text }) => text).join("\n"),
      });
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
        chunks[chunk.fileName] = {
          packages: [...new Set(packages)].sort(),
          sources: sources.sort(),
        };
      }
      this.emitFile({
        type: "asset",
        fileName: "chunks.json",
        source: `${JSON.stringify(chunks, null, 2)}\n`,
      });
    },
  };
}

/**
 * Builtins that cost a part of a bare start, and are loaded at the first use of what was imported: crypto and net a fifth of one, zlib a
 * tenth, and child_process a sixth, which commander imports for subcommands that are programs of their own.
 */
function lazyBuiltins(): Plugin {
  const own = ["node:crypto", "node:net", "node:zlib"];
  const prefix = "\0lazy:";
  return {
    name: "lazy-builtins",
    resolveId(source, importer = "") {
      const by = packageOf(importer);
      const isLazy =
        by === "commander"
          ? source === "node:child_process"
          : own.includes(source) && by !== "undici";
      return isLazy ? `${prefix}${source}` : undefined;
    },
    load(id) {
      if (!id.startsWith(prefix)) return undefined;
      const builtin = id.slice(prefix.length);
      const all = process.getBuiltinModule(builtin) as object;
      const names = Object.entries(all).flatMap(([name, value]) =>
        typeof value === "function" ? [name] : [],
      );
      const load = `() => process.getBuiltinModule(${JSON.stringify(builtin)})`;
      const lazy = `(name) => function (...args) { const f = load()[name]; return new.target ? Reflect.construct(f, args) : f(...args); }`;
      const exported = names.map((name) => `export const ${name} = lazy("${name}");`);
      return `const load = ${load};\nconst lazy = ${lazy};\n${exported.join("\n")}\nexport default { ${names.join(", ")} };\n`;
    },
  };
}

/** The defaults of builtins, which commander imports: rolldown would copy all properties of each, `process` with its getters. */
function plainBuiltins(): Plugin {
  const prefix = "\0plain:";
  return {
    name: "plain-builtins",
    resolveId: (source, importer = "") =>
      packageOf(importer) === "commander" &&
      ["node:fs", "node:path", "node:process"].includes(source)
        ? `${prefix}${source}`
        : undefined,
    load: (id) =>
      id.startsWith(prefix)
        ? `export default process.getBuiltinModule(${JSON.stringify(id.slice(prefix.length))});`
        : undefined,
  };
}

/** A chunk gives others what they import by one object: a getter for each takes a `get` two milliseconds. No export of ours changes later. */
function plainExports(): Plugin {
  const getter =
    /Object\.defineProperty\(exports,"([\w$]+)",\{enumerable:!0,get:function\(\)\{return ([^{}]+)\}\}\)/g;
  const getters = new RegExp(`${getter.source}(?:,${getter.source})*`, "g");
  const plain = (run: string): string =>
    `Object.assign(exports,{${run.replaceAll(getter, "$1:$2")}})`;
  return {
    name: "plain-exports",
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle))
        if (chunk.type === "chunk") chunk.code = chunk.code.replaceAll(getters, plain);
    },
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
      const texts = Object.fromEntries(
        files.map((file) => [basename(file, ".md"), readFileSync(join(folder, file), "utf8")]),
      );
      return `const texts = ${JSON.stringify(texts)}; export const readTopic = (topic) => texts[topic];`;
    },
  };
}

/** Of package.json, the program uses the version. */
function onlyVersion(): Plugin {
  const file = join(import.meta.dirname, "package.json");
  return {
    name: "only-version",
    load: (id) => {
      if (id !== file) return undefined;
      const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
      return { code: JSON.stringify({ version }), moduleType: "json" };
    },
  };
}

/** One entry for bin/vault.js, so that `--version` reads one file. */
function launcherEntry(): Plugin {
  return {
    name: "launcher-entry",
    resolveId: (source) =>
      source === "launcher-entry" ? join(import.meta.dirname, source) : undefined,
    load: (id) =>
      basename(id) === "launcher-entry"
        ? `export { main } from "./src/main.ts"; export { createHost } from "./src/host.ts";`
        : undefined,
  };
}

/** The commit of this checkout, with a mark if files have changed since. */
function commit(): string {
  const { status, stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--exclude=*"], {
    encoding: "utf8",
    cwd: import.meta.dirname,
  });
  return status === 0 ? stdout.trim() : "unknown";
}

/**
 * What commands load one after the other, as one chunk: each file costs them half a millisecond. The first chunks are what completion
 * needs, too; `options` is what every command needs, `database` what reads a state without its key, `state` what opens it, and `exchange`
 * what a call needs besides. Each chunk is named by modules, most of them imported dynamically, and holds what these import.
 */
const joined: Record<string, string[]> = {
  program: ["commands/program", "completion/candidates", "cli/describe"],
  app: ["app"],
  options: ["cli/parse-options", "commands/exchange/writable-file", "terminal/count"],
  database: ["store/sqlite/known-vaults", "store/journal/history"],
  state: [
    "cli/vault-name",
    "commands/status/vault-status",
    "exchange/context",
    "exchange/start/start",
    "files/lock-file",
    "settings/device",
    "settings/profile-secrets",
    "store/keys/known-states",
    "store/sqlite/store",
    "terminal/narrator",
  ],
  exchange: [
    "commands/exchange/outputs",
    "commands/exchange/look-up",
    "commands/exchange/run",
    "exchange/lock-vault",
    "service/open-service",
    "settings/transport/client-options",
    "settings/transport/transport",
  ],
};

/** The first of the joined chunks whose modules import this one, or null. What the entry itself imports stays in it. */
function joinedChunk(id: string, context: ChunkingContext): string | null {
  if (reachable.size === 0) {
    const source = (name: string): string => join(import.meta.dirname, "src", `${name}.ts`);
    for (const [name, roots] of [["", ["main", "host"]], ...Object.entries(joined)] as const) {
      const todo = roots.map(source);
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

/** Split CommonJS, which starts fastest; what is imported dynamically becomes a chunk of its own, loaded by `require`. */
export default defineConfig({
  input: { vault: "launcher-entry" },
  // What the entry shares with chunks stays in it.
  preserveEntrySignatures: "allow-extension",
  platform: "node",
  // The one optional dependency: it brings a binary of each platform, and is looked for when a key is in the system's keyring.
  external: ["@napi-rs/keyring"],
  transform: { define: { VAULT_BUILD: JSON.stringify(commit()), ...undiciSwitch } },
  plugins: [
    launcherEntry(),
    onlyVersion(),
    embedTopics(),
    trimUndici(),
    lazyBuiltins(),
    plainBuiltins(),
    plainExports(),
    listChunks(),
    writeNotices(),
  ],
  output: {
    dir: "dist",
    format: "cjs",
    cleanDir: true,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
    dynamicImportInCjs: false,
    minify: true,
    sourcemap: false,
    // Texts of one byte for each character take half the memory.
    charset: "ascii",
    codeSplitting: {
      groups: [{ name: joinedChunk, debugName: "joined" }],
      includeDependenciesRecursively: false,
    },
  },
});
