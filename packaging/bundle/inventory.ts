import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin } from "rolldown";

const src = join(import.meta.dirname, "..", "..", "src");

/** The name of the package that a module belongs to, or null for our own. */
export function packageOf(id: string): string | null {
  const match = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
  return match?.[1] ?? null;
}

/** The folder of the package that a module belongs to, or null for our own and what the bundler makes. */
function folderOf(id: string): string | null {
  return /^[^\0]*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? null;
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

/**
 * Writes THIRD-PARTY-NOTICES.md: name, version and licence of each package of which something is
 * bundled. Throws for one without.
 */
export function writeNotices(): Plugin {
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

/**
 * Writes dist/chunks.json: which packages each chunk holds, and which files of ours. The tests of
 * start-up read it.
 */
export function listChunks(): Plugin {
  return {
    name: "list-chunks",
    generateBundle(_options, bundle) {
      const chunks: Record<string, { packages: string[]; sources: string[] }> = {};
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        const packages = chunk.moduleIds.map(packageOf).filter((name) => name !== null);
        const sources = chunk.moduleIds
          .filter((id) => packageOf(id) === null && !id.startsWith("\0"))
          .map((id) => relative(src, id));
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
