import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const root = join(import.meta.dirname, "..", "..");
const folder = join(root, "src", "cli", "topics");

export const readme = readFileSync(join(root, "README.md"), "utf8");

/** The Markdown of each topic of `vault help`, by its name. */
export const topicTexts: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder)
    .filter((file) => file.endsWith(".md"))
    .map((file) => [basename(file, ".md"), readFileSync(join(folder, file), "utf8")]),
);

/** @throws for a topic that does not exist */
export function topicText(name: string): string {
  const text = topicTexts[name];
  if (text === undefined) throw new Error(`there is no topic "${name}"`);
  return text;
}
