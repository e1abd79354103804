import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Plugin } from "rolldown";

const root = join(import.meta.dirname, "..", "..");

/** The texts of the topics are read from files in a checkout, and are part of the program here. */
export function embedTopics(): Plugin {
  const folder = join(root, "src", "cli", "topics");
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
export function onlyVersion(): Plugin {
  const file = join(root, "package.json");
  return {
    name: "only-version",
    load: (id) => {
      if (id !== file) return undefined;
      const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
      return { code: JSON.stringify({ version }), moduleType: "json" };
    },
  };
}
