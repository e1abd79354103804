import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Plugin } from "rolldown";
import { scriptFiles } from "../../src/completion/scripts.ts";

const root = join(import.meta.dirname, "..", "..");

/** The texts of topics and completion scripts are read from files in a checkout, and are part of the program here. */
export function embedTexts(): Plugin {
  const topics = join(root, "src", "cli", "topics");
  const textOf = (file: string): string => readFileSync(file, "utf8");
  const embedded: Readonly<Record<string, () => string>> = {
    [join(topics, "read.ts")]: () => {
      const files = readdirSync(topics).filter((file) => file.endsWith(".md"));
      const texts = files.map((file) => [basename(file, ".md"), textOf(join(topics, file))]);
      return `export const readTopic = (topic) => texts[topic];${textsOf(texts)}`;
    },
    [join(root, "src", "completion", "scripts.ts")]: () => {
      const texts = Object.entries(scriptFiles).map(([shell, file]) => [
        shell,
        textOf(join(root, "completions", file)),
      ]);
      return `export const script = (shell) => texts[shell];${textsOf(texts)}`;
    },
  };
  return { name: "embed-texts", load: (id) => embedded[id]?.() };
}

const textsOf = (texts: readonly (readonly string[])[]): string =>
  `const texts = ${JSON.stringify(Object.fromEntries(texts))};`;

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
