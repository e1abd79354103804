import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Step } from "./service.ts";
import { isWhole, sample, tried } from "../../support/campaign.ts";
import { cases, nameOf, tryCase, type Case, type Operation, type Row } from "./cases.ts";

const columns: Record<keyof Row, string> = {
  fault: "what the call meets",
  which: "call",
  exit: "exit",
  retry: "retry",
  says: "message",
  exchange: "exchange",
  guard: "guard",
  service: "service",
  next: "next",
  hints: "by the hints",
};

const head = (
  operation: Operation,
): string => `# Every fault at every call of \`vault ${operation}\`

Written by \`npm run torture\`, which compares it (\`TORTURE=whole npx vitest run test/torture/faults-${operation}.test.ts -u\` rewrites it).
A vault with verified credentials, nothing open. One call meets the fault: the first start (or end call), the second, or every one. For there to be
a second call, the answer to the first is lost on the way, after processing.

- **exit**: exit code and error code. With \`every\`, the exit codes of three more runs that meet the same follow.
- **message**: of the error; where there is none, the warnings on stderr.
- **exchange**: its state after the first run; \`open\` where something is left to settle.
- **guard**: the program's own counters: unacknowledged starts/failed attempts.
- **service**: starts/end calls/acknowledged exchanges that it processed; its counters, as those of the guard.
- **next**: the same command once more, the service being well: exit code, and what it settled.
- **by the hints**: the commands that the hint names, and the hints after it, with their exit codes, until all is in step.
`;

/** One row, its cells as wide as they are: what a short run compares. */
const line = (row: Row): string =>
  `| ${(Object.keys(columns) as (keyof Row)[]).map((key) => cell(row[key])).join(" | ")} |`;

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** The whole document, in the order of the cases. */
function render(operation: Operation, rows: Record<Step, readonly Row[]>): string {
  const section = (title: string, of: readonly Row[]): string => `\n## ${title}\n\n${table(of)}`;
  return (
    head(operation) +
    section(`At \`${operation}-start\``, rows.start) +
    section(`At \`${operation}-end\``, rows.end)
  );
}

function table(rows: readonly Row[]): string {
  const keys = Object.keys(columns) as (keyof Row)[];
  const widths = keys.map((key) =>
    Math.max(columns[key].length, ...rows.map((row) => cell(row[key]).length)),
  );
  const write = (cells: readonly string[]): string =>
    `| ${cells.map((text, index) => text.padEnd(widths[index] ?? 0)).join(" | ")} |\n`;
  const title = write(keys.map((key) => columns[key]));
  const rule = write(widths.map((width) => "-".repeat(width)));
  return title + rule + rows.map((row) => write(keys.map((key) => cell(row[key])))).join("");
}

/** The rows of a section as `line` has them. */
function linesOf(file: string, step: Step): string[] {
  const [, start = "", end = ""] = readFileSync(file, "utf8").split(/^## /m);
  const rows = (step === "start" ? start : end).split("\n").filter((text) => text.startsWith("|"));
  return rows.slice(2).map((text) => text.replaceAll(/ +(?=\|)/g, " "));
}

/** The table of one operation: the whole campaign writes or compares all of it, the short one some of its rows. */
export function faultSuite(operation: Operation, most: number): void {
  const file = join(import.meta.dirname, "..", `faults-${operation}.md`);
  const all = cases(operation);
  const found = new Map<string, Row>();

  describe.concurrent(`every fault at every call of ${operation}`, () => {
    it.each(sample(all, most).map((one) => [nameOf(one), one] as const))(
      "%s",
      async (name, one: Case) => {
        const row = await tryCase(one);
        found.set(name, row);
        if (isWhole) return;
        const index = all
          .filter(({ step }) => step === one.step)
          .findIndex((other) => nameOf(other) === name);
        expect(line(row).replaceAll(/ +(?=\|)/g, " ")).toBe(linesOf(file, one.step)[index]);
        tried("faults at a call", 1);
      },
    );
  });

  describe.runIf(isWhole)(`the table of ${operation}`, () => {
    it("is the one in the repository", async () => {
      const rows = (step: Case["step"]): Row[] =>
        all.filter((one) => one.step === step).flatMap((one) => found.get(nameOf(one)) ?? []);
      expect(found.size).toBe(all.length);
      await expect(
        render(operation, { start: rows("start"), end: rows("end") }),
      ).toMatchFileSnapshot(file);
      tried("faults at a call", found.size);
    });
  });

  afterAll(() => found.clear());
}
