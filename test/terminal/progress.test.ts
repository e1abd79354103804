import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { readingProgress } from "../../src/commands/audit-replay/inputs.ts";
import { createProgressBar, measuredSeconds, progressLine } from "../../src/terminal/progress.ts";

const half = { bytes: 271_000_000, total: 470_000_000, items: 1_204_331, elapsedMs: 900 };

const progressText = (
  { elapsedMs, ...reading }: typeof half | (Omit<typeof half, "total"> & { total: null }),
  columns: number,
): string => progressLine(readingProgress(reading, measuredSeconds(elapsedMs)), columns);

describe("the text of a progress bar", () => {
  test.each([
    [80, "██████████████░░░░░░░░░░   57 %  1 second left  1,204,331 items  271 MB"],
    [120, "██████████████░░░░░░░░░░   57 %  1 second left  1,204,331 items  271 MB"],
    [64, "█████████░░░░░░░   57 %  1 second left  1,204,331 items  271 MB"],
    [20, "███████░░░░░   57 %"],
    [7, " 57 %"],
  ])("in %i columns", (columns, expected) => {
    expect(progressText(half, columns)).toBe(expected);
  });

  test.each([
    [
      { ...half, bytes: 0, items: 0, elapsedMs: 0 },
      "░░░░░░░░░░░░░░░░░░░░░░░░    0 %  0 items  0 MB",
    ],
    [{ ...half, bytes: 470_000_000 }, "████████████████████████  100 %  1,204,331 items  470 MB"],
    // A file that grows while it is read.
    [{ ...half, bytes: 990_000_000 }, "████████████████████████  100 %  1,204,331 items  990 MB"],
    [{ ...half, total: null }, "1,204,331 items  271 MB"],
    [{ ...half, total: 0, bytes: 0, items: 0 }, "0 items  0 MB"],
    [
      { bytes: 1_000_000, total: 400_000_000, items: 900, elapsedMs: 2000 },
      "░░░░░░░░░░░░░░░░░░░░░░░░    0 %  13 minutes left  900 items  1 MB",
    ],
  ])("of %j", (progress, expected) => {
    expect(progressText(progress, 120)).toBe(expected);
  });

  test("never fills the last column, in which a terminal may wrap", () => {
    for (let columns = 1; columns < 140; columns += 1)
      expect(stringWidth(progressText(half, columns))).toBeLessThan(columns);
  });
});

describe("the bar", () => {
  function drawing() {
    const written: string[] = [];
    let time = 0;
    const terminal = { columns: 40, write: (text: string) => written.push(text) };
    const bar = createProgressBar(terminal, () => time, readingProgress);
    return { bar, written, pass: (ms: number) => (time += ms), terminal };
  }

  test("is drawn at most ten times a second, in place, and erased", () => {
    const { bar, written, pass } = drawing();
    for (let n = 0; n <= 100; n += 1) {
      bar.update({ bytes: n, total: 100, items: n });
      pass(10);
    }
    expect(written).toHaveLength(11);
    for (const text of written)
      expect([text.startsWith("\r"), text.endsWith("\u001B[K"), text.split("\r").length]).toEqual([
        true,
        true,
        2,
      ]);
    bar.clear();
    expect(written.at(-1)).toBe("\r\u001B[K");
    bar.clear();
    expect(written).toHaveLength(12);
  });

  test("comes back at the next update after something else was written, in the width that the terminal has then", () => {
    const { bar, written, terminal } = drawing();
    bar.update({ bytes: 1, total: 100, items: 1 });
    bar.clear();
    terminal.columns = 10;
    bar.update({ bytes: 2, total: 100, items: 2 });
    expect(written.slice(1)).toEqual(["\r\u001B[K", "\r  2 %\u001B[K"]);
  });

  test("is erased while others write, and then drawn again", async () => {
    const { bar, written, pass } = drawing();
    await bar.around(async () => void written.push("first\n"));
    bar.update({ bytes: 1, total: 100, items: 1 });
    const line = written.at(-1);
    const second = bar.around(async () => {
      pass(1000);
      bar.update({ bytes: 90, total: 100, items: 90 });
      written.push("second\n");
    });
    const third = bar.around(
      async () => await Promise.reject(Object.assign(new Error("no"), { code: "EIO" })),
    );
    await second;
    await expect(third).rejects.toMatchObject({ code: "EIO" });
    expect(written).toEqual(["first\n", line, "\r\u001B[K", "second\n", line]);
    bar.clear();
    await bar.around(async () => void written.push("last\n"));
    expect(written.slice(5)).toEqual(["\r\u001B[K", "last\n"]);
  });

  test("is nothing without a terminal", () => {
    const bar = createProgressBar(undefined, () => 0, readingProgress);
    bar.update({ bytes: 1, total: 2, items: 1 });
    expect(() => bar.clear()).not.toThrow();
  });
});
