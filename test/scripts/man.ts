// npm run man: writes the man pages of the package, man/, from the command tree and the topics.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { manPages } from "./written-pages.ts";

const folder = join(import.meta.dirname, "..", "..", "man");
const built = new Date(Number(process.env["SOURCE_DATE_EPOCH"] ?? Date.now() / 1000) * 1000);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [name, text] of Object.entries(
  manPages(packageJson.version, built.toISOString().slice(0, 10)),
)) {
  writeFileSync(join(folder, name), text);
}
