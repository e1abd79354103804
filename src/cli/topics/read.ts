import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the text of a topic, as a terminal shows it. In a build, a module that holds all texts takes the place of this one (packaging/bundle.ts). */
export const readTopic = (topic: string): string =>
  readFileSync(join(import.meta.dirname, `${topic}.md`), "utf8");
