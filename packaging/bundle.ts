import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin } from "rolldown";
import { readTopic } from "../src/cli/topics/read.ts";
import { topics } from "../src/cli/topics.ts";
import { script, scriptFiles } from "../src/completion/scripts.ts";

const src = join(import.meta.dirname, "..", "src");

/** What reads a text from a file in a checkout has all of them in a build. */
export function embedTexts(): Plugin {
  const module = <Name extends string>(
    read: (name: Name) => string,
    names: Readonly<Record<Name, unknown>>,
  ): string => {
    const texts = (Object.keys(names) as Name[]).map((name) => [name, read(name)]);
    return `const texts = ${JSON.stringify(Object.fromEntries(texts))};
      export const ${read.name} = (name) => texts[name];`;
  };
  const modules: Readonly<Record<string, string>> = {
    [join(src, "cli", "topics", "read.ts")]: module(readTopic, topics),
    [join(src, "completion", "scripts.ts")]: module(script, scriptFiles),
  };
  return { name: "embed-texts", load: (id) => modules[id] };
}

/**
 * Loads at the first use of what was imported: builtins, some of which cost a part of a bare start
 * (crypto and net a fifth of one, child_process a sixth, zlib a tenth, stream a twentieth), and of
 * which each chunk would copy all properties (a twentieth of completion); and in commands other
 * chunks, of which their help and completion need none. The help of `ack` takes 1.8 bare starts so,
 * and 3.1 with all that it runs; `config list` 2.0 and 3.0.
 */
export function lazyImports(): Plugin {
  const isCommand = (id: string): boolean => id.startsWith(join(src, "commands"));
  // The default of a builtin is the builtin.
  const later = `const later$ = (load, loaded) => new Proxy({}, {
      get: (_, name) => (name in (loaded ??= load()) ? loaded[name] : loaded),
    });\n`;
  const imports =
    /^(?:let|const) (\w+) = (require\("(?:\.\/)?([^"]+)"\));\n(?:\1 = \S+\(\1, 1\);\n)?/gm;
  return {
    name: "lazy-imports",
    renderChunk(code, { moduleIds }) {
      const isLazy = (id: string): boolean =>
        id.startsWith("node:") || (id.endsWith(".cjs") && moduleIds.every(isCommand));
      return (
        later +
        code.replaceAll(imports, (line, variable: string, load: string, id: string) =>
          isLazy(id) ? `const ${variable} = later$(() => ${load});\n` : line,
        )
      );
    },
  };
}

/**
 * Adds to a build what is in it: which packages and files of ours each chunk holds (chunks.json,
 * for the tests of start-up), the notices of these packages, and what tells it from other builds,
 * which is also the first line of each chunk. The second one names those that are `held` with it.
 */
export function inventory(held: Readonly<Record<string, string>>): Plugin {
  return {
    name: "inventory",
    generateBundle(_options, bundle) {
      const add = (fileName: string, source: string): string =>
        this.emitFile({ type: "asset", fileName, source });
      const chunks = Object.values(bundle).filter((each) => each.type === "chunk");
      const packages = new Map<string, string>();
      const contents = chunks.map(({ fileName, moduleIds }) => {
        const found = moduleIds.flatMap((id) => {
          const [folder, name] = /^[^\0]*\/node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/.exec(id) ?? [];
          return folder === undefined || name === undefined ? [] : [[name, folder] as const];
        });
        for (const [name, folder] of found) packages.set(name, folder);
        const own = moduleIds.filter((id) => id.startsWith("/") && !id.includes("/node_modules/"));
        const sources = own.map((id) => relative(src, id)).sort();
        return [fileName, { packages: [...new Set(found.map(([name]) => name))].sort(), sources }];
      });
      add("chunks.json", JSON.stringify(Object.fromEntries(contents), null, 2));
      const notices = [...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(noticeOf);
      const head = "# Third-party notices\n\nThe program contains parts of these packages.\n\n";
      add("THIRD-PARTY-NOTICES.md", head + notices.join("\n"));
      const texts = chunks.map(({ fileName, code }) => `${fileName}\0${code}`);
      const build = hash("sha256", texts.join("")).slice(0, 16);
      add("build", build);
      for (const chunk of chunks) {
        const names = held[chunk.name];
        const holds = names === undefined ? "" : `//holds ${names}\n`;
        chunk.code = `//${build}\n${holds}${chunk.code}`;
      }
    },
  };
}

/** Name, version and licence of a package: files of their own, or the last section of its README. */
function noticeOf([name, folder]: readonly [name: string, folder: string]): string {
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const { version, license } = JSON.parse(read("package.json")) as Record<string, string>;
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const section = /^## license\n(.*)/ims;
  const texts = files.length > 0 ? files.map(read) : [section.exec(read("README.md"))?.[1]];
  if (texts.includes(undefined)) throw new Error(`${name} has no licence to be shipped with it`);
  const quoted = texts.map((text) => `\`\`\`\`text\n${text?.trim()}\n\`\`\`\`\n`);
  return `## ${name} ${version}\n\nLicense: ${license}\n\n${quoted.join("\n")}`;
}
