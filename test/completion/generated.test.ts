import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { programNames, script, scriptFiles } from "../../src/completion/scripts.ts";
import { describeCommand } from "../../src/cli/describe.ts";
import { vault } from "../../src/commands/program.ts";
import { codeBlocks } from "../support/markdown.ts";
import { marks, reference, withReference } from "../support/reference.ts";
import { runVault } from "../support/run-vault.ts";
import { isInstalled } from "../support/shells.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (...path: string[]): string => readFileSync(join(root, ...path), "utf8");
const readme = read("README.md");
const tree = describeCommand(vault);

describe("what npm run completions writes is up to date", () => {
  test.each(["bash", "zsh", "fish"] as const)("the script of %s, as vault completion prints it", async (shell) => {
    expect(read("completions", scriptFiles[shell])).toBe(script(shell));
    expect(await runVault(["completion", shell])).toMatchObject({ code: 0, stdout: script(shell), stderr: "" });
    const { stdout } = await runVault(["completion", shell, "--json"]);
    expect(JSON.parse(stdout)).toEqual({ shell, script: script(shell) });
  });

  test("no other file is there", () => {
    expect(readdirSync(join(root, "completions")).toSorted()).toEqual(Object.values(scriptFiles).toSorted());
  });

  test("the names are those that npm installs", () => {
    expect(Object.keys((JSON.parse(read("package.json")) as { bin: object }).bin)).toEqual(programNames);
  });

  test.skipIf(!readme.includes(marks.begin))("the reference of the README (skipped where it has none)", () => {
    expect(withReference(readme, tree)).toBe(readme);
  });

  test("a reference would hold every command and every flag", () => {
    const text = withReference(`before\n${marks.begin}\n${marks.end}\nafter\n`, tree);
    expect(text).toBe(`before\n${marks.begin}\n\n${reference(tree)}\n${marks.end}\nafter\n`);
    const flags = [tree, ...tree.commands].flatMap(({ options }) => options.map(({ flags }) => `| \`${flags}\` |`));
    expect(flags.filter((flag) => !text.includes(flag) && !flag.includes("--help"))).toEqual([]);
    for (const { name } of tree.commands) expect(text).toContain(`### \`vault ${name}`);
  });
});

describe.skipIf(!isInstalled("shellcheck"))("shellcheck has nothing to say (skipped where there is none) of", () => {
  const check = (code: string, dialect: string, ...more: string[]): string =>
    spawnSync("shellcheck", ["--shell", dialect, "--norc", ...more, "-"], { input: code, encoding: "utf8" }).stdout;

  test("the script of bash", () => {
    expect(check(script("bash"), "bash")).toBe("");
  });

  /** Snippets by section, which share a shell: later ones use variables of earlier ones. */
  const sections = readme.split(/^(?=## )/m).flatMap((section) => {
    const fenced = codeBlocks(section).flatMap(({ info, code }) => (/^(sh|bash|shell)\b/.test(info) ? [code] : []));
    const indented = section.replaceAll(/^```.*?^```$/gms, "").match(/(?:^ {4}\S.*\n)+/gm) ?? [];
    const snippets = [...fenced, ...indented.map((block) => block.replaceAll(/^ {4}/gm, ""))];
    return snippets.length > 0 ? [{ title: section.split("\n")[0] ?? "", code: `${snippets.join("\n")}\n` }] : [];
  });

  test.each(sections)("the snippets of the README below $title", ({ code }) => {
    expect(check(code, "sh")).toBe("");
  });
});
