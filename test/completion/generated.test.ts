import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { script, scriptFiles } from "../../src/completion/scripts.ts";
import { completeCommand } from "../../src/cli/program.ts";
import { checkDocument } from "../support/documents.ts";
import { codeBlocks, readme, topicBlocks, topicText, topicTexts } from "../support/markdown.ts";
import { runVault } from "../support/run-vault.ts";
import { program } from "../support/program.ts";
import { isInstalled } from "./support.ts";
import { withTable } from "../scripts/generate.ts";

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
      const document: unknown = JSON.parse(stdout);
      checkDocument("completion", document);
      expect(document).toEqual({ shell, script: script(shell) });
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

  test.each(["settings", "exit-codes"])("the table of the topic %s", (topic) => {
    const text = topicText(topic);
    expect(withTable(topic, text)).toBe(text);
    const emptied = text.replace(/^( {6}.*\n)+/m, "      no table\n");
    expect(withTable(topic, emptied)).toBe(text);
  });

  test("every flag of all commands stands in the topic of settings", () => {
    const text = topicText("settings");
    expect(
      program.options.flatMap(({ long }) => long ?? []).filter((flag) => !text.includes(flag)),
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

    test("the script of bash, and the one that makes packages", () => {
      expect(check(script("bash"), "bash")).toBe("");
      expect(check(read("packaging", "package.sh"), "bash")).toBe("");
    });

    /** Snippets of one document are pasted into one shell, so that later ones use what earlier ones set; recipes into one each. */
    const sections = Object.entries(topicTexts).flatMap(([name, document]) =>
      document
        .split(name === "recipes" ? /^(?=## )/m : /(?!)/)
        .map((text) => ({ title: `${name} ${text.split("\n")[0]}`, blocks: topicBlocks(text) })),
    );
    const snippets = [{ title: "the README", blocks: codeBlocks(readme) }, ...sections].flatMap(
      ({ title, blocks }) => {
        const code = blocks.flatMap(({ info, code }) => (info === "sh" ? [`${code}\n`] : []));
        return code.length > 0 ? [{ title, code: code.join("") }] : [];
      },
    );

    test.each(snippets)("the snippets of $title", ({ code }) => {
      expect(check(code, "sh")).toBe("");
    });
  },
);
