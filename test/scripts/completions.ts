// npm run completions: writes what is generated from the command tree, completions/ and the reference in README.md.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { script, scriptFiles } from "../../src/completion/scripts.ts";
import { describeCommand } from "../../src/cli/describe.ts";
import { vault } from "../../src/commands/program.ts";
import { withReference } from "../support/reference.ts";

const root = join(import.meta.dirname, "..", "..");
for (const shell of ["bash", "zsh", "fish"] as const) {
  writeFileSync(join(root, "completions", scriptFiles[shell]), script(shell));
}
const readme = join(root, "README.md");
const tree = describeCommand(vault);
writeFileSync(readme, withReference(readFileSync(readme, "utf8"), tree));
