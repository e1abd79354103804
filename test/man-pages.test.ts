import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pathOf } from "../src/cli/commander.ts";
import { topics } from "../src/cli/topics.ts";
import { topicText } from "./support/markdown.ts";
import { manPages } from "../packaging/man.ts";
import { tempDir } from "./support/cleanup.ts";
import { below, program } from "./support/program.ts";

const pages = await manPages("0.0.0", "2026-11-22");
const page = (name: string): string => pages[name] ?? "";

/** As it is read: without macros and escapes. */
const read = (source: string): string =>
  source
    .replaceAll("\\&", "")
    .replaceAll("\\-", "-")
    .replaceAll("\\e", "\\")
    .replaceAll(/\\\[u([0-9A-F]+)\]/g, (_, code: string) =>
      String.fromCodePoint(Number.parseInt(code, 16)),
    );

test("each command has a page with all its flags and commands, each topic one, and no other is there", () => {
  const commands = [program, ...below(program)];
  for (const command of commands.slice(1)) {
    const text = read(page(`${pathOf(command).join("-")}.1`));
    const shown = [
      ...command.options.map(({ flags }) => flags),
      ...command.commands.map((each) => each.name()),
      ...command.descriptor.examples,
    ];
    expect(shown.filter((each) => !text.includes(`\n  ${each}`))).toEqual([]);
  }
  expect(Object.keys(pages)).toHaveLength(commands.length + Object.keys(topics).length);
});

test.each(Object.keys(topics))("the page of %s has its text as it is", (topic) => {
  const [_title, _blank, ...lines] = topicText(topic).split("\n");
  expect(read(page(`vault-${topic}.7`))).toContain(lines.join("\n"));
});

test("no line of a text is a request", () => {
  const requests = /^\.(?!TH |SH [A-Z ]+$|in 0$|EX$|EE$)|^'/m;
  for (const text of Object.values(pages)) expect(text).not.toMatch(requests);
});

describe("there is no warning", () => {
  const folder = tempDir("man");
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, name), text);
  const lacks = (program: string): boolean => spawnSync(program, ["--version"]).error !== undefined;

  test.skipIf(lacks("mandoc"))("of mandoc (skipped where there is none)", () => {
    expect(
      spawnSync("mandoc", ["-Tlint", "-W", "style", ...readdirSync(folder)], {
        cwd: folder,
        encoding: "utf8",
      }).stdout,
    ).toBe("");
  });

  test.skipIf(lacks("groff"))("of groff (skipped where there is none)", () => {
    expect(
      spawnSync("groff", ["-t", "-man", "-Tutf8", "-ww", ...readdirSync(folder)], {
        cwd: folder,
        encoding: "utf8",
      }).stderr,
    ).toBe("");
  });
});
