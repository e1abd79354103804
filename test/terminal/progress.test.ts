import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import {
  createProgressBar,
  measuredSeconds,
  type Progress,
  progressLine,
} from "../../src/terminal/progress.ts";

interface Reading {
  done: number;
  total: number;
}

const progressOf = ({ done, total }: Reading, seconds: number | undefined): Progress => ({
  share: total === 0 ? undefined : done / total,
  secondsLeft: seconds === undefined ? undefined : Math.ceil((seconds * (total - done)) / done),
  facts: [`${done} done`, "271 MB"],
});

const progressText = (
  { elapsedMs, ...reading }: Reading & { elapsedMs: number },
  columns: number,
): string => progressLine(progressOf(reading, measuredSeconds(elapsedMs)), columns);

const half = { done: 271, total: 470, elapsedMs: 900 };

describe("the text of a progress bar", () => {
  test.each([
    [80, "██████████████░░░░░░░░░░   57 %  1 second left  271 done  271 MB"],
    [60, "███████████░░░░░░░░   57 %  1 second left  271 done  271 MB"],
    [20, "███████░░░░░   57 %"],
    [7, " 57 %"],
  ])("in %i columns", (columns, expected) => {
    expect(progressText(half, columns)).toBe(expected);
  });

  test.each([
    [{ done: 0, total: 9, elapsedMs: 0 }, "░░░░░░░░░░░░░░░░░░░░░░░░    0 %  0 done  271 MB"],
    [{ done: 0, total: 0, elapsedMs: 0 }, "0 done  271 MB"],
    [
      { done: 1, total: 400, elapsedMs: 2000 },
      "░░░░░░░░░░░░░░░░░░░░░░░░    0 %  13 minutes left  1 done  271 MB",
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
    const bar = createProgressBar(terminal, () => time, progressOf);
    return { bar, written, pass: (ms: number) => (time += ms), terminal };
  }

  test("is drawn at most ten times a second, in place, and erased", () => {
    const { bar, written, pass } = drawing();
    for (let n = 0; n <= 100; n += 1) {
      bar.update({ done: n, total: 100 });
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
    bar.update({ done: 1, total: 100 });
    bar.clear();
    terminal.columns = 10;
    bar.update({ done: 2, total: 100 });
    expect(written.slice(1)).toEqual(["\r\u001B[K", "\r  2 %\u001B[K"]);
  });

  test("is erased while others write, and then drawn again", async () => {
    const { bar, written, pass } = drawing();
    await bar.around(async () => void written.push("first\n"));
    bar.update({ done: 1, total: 100 });
    const line = written.at(-1);
    const second = bar.around(async () => {
      pass(1000);
      bar.update({ done: 90, total: 100 });
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
    const bar = createProgressBar(undefined, () => 0, progressOf);
    bar.update({ done: 1, total: 2 });
    expect(() => bar.clear()).not.toThrow();
  });
});
