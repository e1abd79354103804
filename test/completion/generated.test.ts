import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { script, scriptFiles } from "../../src/completion/scripts.ts";
import { completeCommand } from "../../src/cli/program.ts";
import { codeBlocks, readme, topicTexts } from "../support/markdown.ts";
import { runVault } from "../support/run-vault.ts";
import { program } from "../support/program.ts";
import { isInstalled } from "./support.ts";
import { withTables } from "../scripts/generate.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (...path: string[]): string => readFileSync(join(root, ...path), "utf8");

describe("what npm run generate writes is up to date", () => {
  test.each(["bash", "zsh", "fish"] as const)(
    "the script of %s, as vault completion prints it",
    async (shell) => {
      expect(script(shell)).toContain(` ${completeCommand} `);
      expect(await runVault(["completion", shell])).toMatchObject({
        code: 0,
        stdout: script(shell),
        stderr: "",
      });
      const { stdout } = await runVault(["completion", shell, "--json"]);
      expect(JSON.parse(stdout)).toEqual({ shell, script: script(shell) });
    },
  );

  test("no other file is there", () => {
    expect(readdirSync(join(root, "completions")).toSorted()).toEqual(
      Object.values(scriptFiles).toSorted(),
    );
  });

  test.each(["bash", "zsh", "fish"] as const)(
    "the script of %s is for the names that npm installs",
    (shell) => {
      const { bin } = JSON.parse(read("package.json")) as { bin: object };
      const [first = ""] = script(shell).match(/^# Completion of .*/m) ?? [];
      expect(first).toContain(`of ${Object.keys(bin).join(" and ")} for ${shell}: `);
    },
  );

  test.each(["environment", "exit-codes", "output"])("the table of the topic %s", (name) => {
    const text = topicTexts[name] ?? "";
    expect(text).toContain("written by npm run generate -->\n\n|");
    expect(withTables(text)).toBe(text);
    const emptied = text.replace(/^\|.*\n/gm, "");
    expect(withTables(emptied)).not.toBe(emptied);
  });

  test("every flag of all commands has its row in one of them", () => {
    const tables = `${topicTexts["environment"]}${topicTexts["output"]}`;
    expect(
      program.options.map(({ flags }) => `| \`${flags}\` |`).filter((row) => !tables.includes(row)),
    ).toEqual([]);
  });
});

describe.skipIf(!isInstalled("shellcheck"))(
  "shellcheck has nothing to say (skipped where there is none) of",
  () => {
    const check = (code: string, dialect: string, ...more: string[]): string =>
      spawnSync("shellcheck", ["--shell", dialect, "--norc", ...more, "-"], {
        input: code,
        encoding: "utf8",
      }).stdout;

    test("the script of bash", () => {
      expect(check(script("bash"), "bash")).toBe("");
    });

    const documents = Object.entries({ README: readme, ...topicTexts });

    /** Snippets of one document are pasted into one shell, so that later ones use what earlier ones set; recipes into one each. */
    const sections = documents.flatMap(([name, document]) =>
      document
        .split(name === "recipes" ? /^(?=## )/m : /(?!)/)
        .map((text) => ({ title: `${name} ${text.split("\n")[0]}`, text })),
    );
    const snippets = sections.flatMap(({ title, text }) => {
      const fenced = codeBlocks(text).flatMap(({ info, code }) => (info === "sh" ? [code] : []));
      const indented = text.replaceAll(/^```.*?^```$/gms, "").match(/(?:^ {4}\S.*\n)+/gm) ?? [];
      const found = [...fenced, ...indented.map((block) => block.replaceAll(/^ {4}/gm, ""))];
      return found.length > 0 ? [{ title, code: `${found.join("\n")}\n` }] : [];
    });

    test.each(snippets)("the snippets of $title", ({ code }) => {
      expect(check(code, "sh")).toBe("");
    });
  },
);
