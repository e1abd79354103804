import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { codeBlocks, section } from "../support/markdown.ts";
import { startInPty } from "../support/pty.ts";
import { tempDir } from "../support/temp-dir.ts";

const root = join(import.meta.dirname, "..", "..");
const blocks = codeBlocks(section(readFileSync(join(root, "README.md"), "utf8"), "A five-minute tour"));

/** A block to run, with what the README says that it prints. */
const steps = blocks.flatMap(({ info, code, heading }, index) => {
  const next = blocks[index + 1];
  return info === "sh" ? [{ code, heading, claim: next?.info.startsWith("text") === true ? next : undefined }] : [];
});

/** What differs from run to run, and how long after it a date was printed. */
function withoutChance(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "«uuid»")
    .replaceAll(/\b(vault-)?[0-9A-HJKMNP-TV-Z]{26}\b/g, "«exchange»")
    .replaceAll(/sha256:[0-9a-f]{12}/g, "«fingerprint»")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d \((now|\d+ seconds? ago)\)/g, "«just now»")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d /g, "«date» ")
    .replaceAll(/127\.0\.0\.1:\d+/g, "«address»")
    .replaceAll(/ +$/gm, "")
    .trim();
}

/** In one shell session on a terminal of 80 columns, as a reader pastes them; a mark and the exit code behind each block. */
async function runTour(): Promise<string[]> {
  const temporary = tempDir("tour");
  const script = join(temporary, "tour.sh");
  const mark = "=== exit";
  writeFileSync(script, steps.map(({ code }) => `${code}\necho "${mark} $?"\n`).join(""));
  const path = `${dirname(process.execPath)}:${process.env["PATH"]}`;
  const { text } = await startInPty(["/bin/sh", script], { cwd: root, env: { PATH: path, TMPDIR: temporary, HOME: temporary } }).exit;
  return text.split(new RegExp(`(?<=^${mark} \\d+)\n`, "m"));
}

describe("the tour of the README", () => {
  let outputs: string[] = [];
  beforeAll(async () => {
    outputs = await runTour();
  });

  test.each(steps.map((step, index) => ({ ...step, index })))("block $index, $heading", ({ index, claim }) => {
    expect(outputs[index]).toMatch(/^=== exit 0$/m);
    const printed = outputs[index]?.replace(/=== exit 0$/, "") ?? "";
    const lines = (text: string): string[] => {
      const all = withoutChance(text).split("\n");
      return claim?.info === "text unordered" ? all.toSorted((a, b) => a.localeCompare(b)) : all;
    };
    expect(lines(printed)).toEqual(lines(claim?.code ?? ""));
  });
});
