import { symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { codeBlocks, readme, topicBlocks, topicText, type CodeBlock } from "../support/markdown.ts";
import { startInPty } from "../support/pty.ts";
import { vaultFile } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const root = join(import.meta.dirname, "..", "..");

interface Step {
  code: string;
  heading: string;
  /** What the document says that the block prints. */
  claim?: CodeBlock | undefined;
}

function stepsOf(blocks: readonly CodeBlock[]): Step[] {
  return blocks.flatMap((block, index): Step[] => {
    const { info, code, heading } = block;
    const next = blocks[index + 1];
    if (info === "console") return [sessionOf(block)];
    return info === "sh"
      ? [{ code, heading, claim: next?.info === "text" ? next : undefined }]
      : [];
  });
}

/** Of a block that shows a session: commands behind `$`, and what they print. */
function sessionOf({ code, heading, info }: CodeBlock): Step {
  const lines = code.split("\n");
  const typed = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  const printed = lines.filter((line) => !line.startsWith("$ "));
  return { code: typed.join("\n"), heading, claim: { info, code: printed.join("\n"), heading } };
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
 * In one shell session on a terminal of so many columns, as a reader pastes them: `opening` starts the shell that reads them. A mark
 * and the exit code behind each block.
 */
async function paste(opening: string, steps: readonly Step[], columns: number): Promise<string[]> {
  const temporary = tempDir("tour");
  const script = join(temporary, "tour.sh");
  const mark = "=== exit";
  writeFileSync(script, steps.map(({ code }) => `${code}\necho "${mark} $?"\n`).join(""));
  symlinkSync(vaultFile, join(temporary, "vault"));
  const path = `${temporary}:${dirname(process.execPath)}:${process.env["PATH"]}`;
  const { text } = await startInPty(["/bin/sh", "-c", `${opening} ${script}`], {
    cwd: root,
    env: { PATH: path, TMPDIR: temporary, HOME: temporary },
    columns,
    // Nothing is longer than the screen: its conclusion would be there twice.
    rows: 200,
    timeoutMs: 120_000,
  }).exit;
  const banner = /^This is a private sandbox[^]*? is gone\.\n/;
  expect(text).toMatch(banner);
  return text.replace(banner, "").split(new RegExp(`(?<=^${mark} \\d+)\n`, "m"));
}

describe.each([
  { document: "the README", all: stepsOf(codeBlocks(readme)), columns: 80 },
  // Without what stands before it, output fits into a topic.
  { document: "the tour", all: stepsOf(topicBlocks(topicText("tour"))), columns: 72 },
])("$document", ({ all, columns }) => {
  const opening = all.find(({ code }) => code.endsWith("sandbox exec -- sh"));
  const steps = all.filter((step) => step !== opening);
  let outputs: string[] = [];
  beforeAll(async () => {
    outputs = await paste(opening?.code ?? "none opens a shell", steps, columns);
  });

  test.each(steps.map((step, index) => ({ ...step, index })))(
    "block $index, $heading",
    ({ index, claim }) => {
      expect(outputs[index]).toMatch(/^=== exit 0$/m);
      const printed = outputs[index]?.replace(/=== exit 0$/, "") ?? "";
      expect(withoutChance(printed)).toBe(withoutChance(claim?.code ?? ""));
    },
  );
});
