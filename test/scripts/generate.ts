// npm run generate: writes what is generated from the command tree and the definitions: completions/, the tables of the topics, and
// the list of man pages in package.json, where npm takes no folder. npm run man: writes the man pages of the package, man/.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { script, scriptFiles } from "../../src/completion/scripts.ts";
import { describeCommand } from "../../src/cli/describe.ts";
import { vault } from "../../src/commands/program.ts";
import { manPages, withTables } from "./written-pages.ts";

const root = join(import.meta.dirname, "..", "..");

function generate(): void {
  for (const shell of ["bash", "zsh", "fish"] as const) {
    writeFileSync(join(root, "completions", scriptFiles[shell]), script(shell));
  }
  const tree = describeCommand(vault);
  const topics = join(root, "src", "cli", "topics");
  for (const name of readdirSync(topics).filter((name) => name.endsWith(".md"))) {
    const file = join(topics, name);
    writeFileSync(file, withTables(readFileSync(file, "utf8"), tree));
  }
  const manifest = join(root, "package.json");
  const man = Object.keys(manPages("", "")).map((name) => `man/${name}`);
  writeFileSync(
    manifest,
    `${JSON.stringify({ ...(JSON.parse(readFileSync(manifest, "utf8")) as object), man }, null, 2)}\n`,
  );
}

function writeMan(): void {
  const folder = join(root, "man");
  const built = new Date(Number(process.env["SOURCE_DATE_EPOCH"] ?? Date.now() / 1000) * 1000);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, text] of Object.entries(
    manPages(packageJson.version, built.toISOString().slice(0, 10)),
  )) {
    writeFileSync(join(folder, name), text);
  }
}

if (process.argv[2] === "man") writeMan();
else generate();
