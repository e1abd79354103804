// Part of `npm version`: what is unreleased gets the new version and the day in CHANGELOG.md, and README.md names the new file.
import { readFileSync, writeFileSync } from "node:fs";

const { npm_old_version: from = "", npm_new_version: to = "" } = process.env;
const day = new Date().toISOString().slice(0, 10);

for (const [file, old, fresh] of [
  ["CHANGELOG.md", "## [Unreleased]\n", `## [Unreleased]\n\n## [${to}] - ${day}\n`],
  ["README.md", `vault-${from}.tgz`, `vault-${to}.tgz`],
] as const) {
  const text = readFileSync(file, "utf8");
  if (!text.includes(old)) throw new Error(`${file} does not have ${JSON.stringify(old)}`);
  writeFileSync(file, text.replace(old, fresh));
}
