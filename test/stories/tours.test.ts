import { symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { codeBlocks, readme, topicText } from "../support/markdown.ts";
import { startInPty } from "../support/pty.ts";
import { vaultFile } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const root = join(import.meta.dirname, "..", "..");

interface Step {
  code: string;
  heading: string;
  /** What the document says that the block prints. */
  claim?: { info: string; code: string } | undefined;
}

function stepsOf(markdown: string): Step[] {
  const blocks = codeBlocks(markdown);
  return blocks.flatMap(({ info, code, heading }, index) => {
    const next = blocks[index + 1];
    return info === "sh"
      ? [{ code, heading, claim: next?.info.startsWith("text") === true ? next : undefined }]
      : [];
  });
}

/** What differs from run to run, and how long after it a date was printed. */
function withoutChance(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "«uuid»")
    .replaceAll(/\b(vault-)?[0-9A-HJKMNP-TV-Z]{26}\b/g, "«exchange»")
    .replaceAll(/sha256:[0-9a-f]{12}/g, "«fingerprint»")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d \((now|\d+ seconds? ago)\)/g, "«just now»")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? /g, "«date» ")
    .replaceAll(
      /«date» UTC \((just now|in \d+ (second|minute)s?|\d+ seconds? ago)\)/g,
      "«about now»",
    )
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "«time»")
    .replaceAll(/127\.0\.0\.1:\d+/g, "«address»")
    .replaceAll(/ +$/gm, "")
    .trim();
}

/**
 * In one shell session on a terminal of 80 columns, as a reader pastes them: the first block opens the shell that reads the others. A
 * mark and the exit code behind each block.
 */
async function paste([opening, ...steps]: readonly Step[]): Promise<string[]> {
  const temporary = tempDir("tour");
  const script = join(temporary, "tour.sh");
  const mark = "=== exit";
  writeFileSync(script, steps.map(({ code }) => `${code}\necho "${mark} $?"\n`).join(""));
  symlinkSync(vaultFile, join(temporary, "vault"));
  const path = `${temporary}:${dirname(process.execPath)}:${process.env["PATH"]}`;
  const { text } = await startInPty(["/bin/sh", "-c", `${opening?.code} ${script}`], {
    cwd: root,
    env: { PATH: path, TMPDIR: temporary, HOME: temporary },
    // Nothing is longer than the screen: its conclusion would be there twice.
    rows: 200,
    timeoutMs: 120_000,
  }).exit;
  const banner = /^This is a private sandbox[^]*? is gone\.\n/;
  expect(text).toMatch(banner);
  return text.replace(banner, "").split(new RegExp(`(?<=^${mark} \\d+)\n`, "m"));
}

describe.each([
  { document: "the README", all: stepsOf(readme) },
  { document: "the tour", all: stepsOf(topicText("tour")) },
])("$document", ({ all }) => {
  const steps = all.slice(1);
  let outputs: string[] = [];
  beforeAll(async () => {
    outputs = await paste(all);
  });

  test.each(steps.map((step, index) => ({ ...step, index })))(
    "block $index, $heading",
    ({ index, claim }) => {
      expect(outputs[index]).toMatch(/^=== exit 0$/m);
      const printed = outputs[index]?.replace(/=== exit 0$/, "") ?? "";
      const lines = (text: string): string[] => {
        const all = withoutChance(text).split("\n");
        return claim?.info === "text unordered" ? all.toSorted((a, b) => a.localeCompare(b)) : all;
      };
      expect(lines(printed)).toEqual(lines(claim?.code ?? ""));
    },
  );
});
