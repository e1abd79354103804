import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { wantsColor, createPalette, plain } from "../../src/terminal/palette.ts";
import { shownCardNumber } from "../../src/terminal/secrets.ts";
import { factsTable, listTable, oneLineTable, rowsTable } from "../../src/terminal/tables.ts";
import { printingParts } from "../support/fake-host.ts";
import { relativeTime, localTime, when } from "../../src/terminal/time.ts";

test.each([
  ["4111111111111111", "•••• •••• •••• 1111", "4111 1111 1111 1111"],
  ["378282246310005", "••• •••• •••• 0005", "3782 8224 6310 005"],
  ["6304000000000000000", "••• •••• •••• •••• 0000", "6304 0000 0000 0000 000"],
  ["4222222222222", "• •••• •••• 2222", "4222 2222 2222 2"],
  ["41111111", "•••• 1111", "4111 1111"],
  // While it is typed.
  ["3782822", "••• 2822", "3782 822"],
  ["37", "37", "37"],
  ["", "", ""],
])(
  "the card number %s: the last four digits stand together where the others are masked",
  (number, masked, revealed) => {
    expect(shownCardNumber(number, false)).toBe(masked);
    expect(shownCardNumber(number, true)).toBe(revealed);
  },
);

test("a card number of the service that is none is shown in time that grows with its length alone", () => {
  const start = performance.now();
  expect(shownCardNumber("9".repeat(400_000), false)).toMatch(/ 9999$/);
  expect(performance.now() - start).toBeLessThan(2000);
});

describe("color", () => {
  test.each([
    [{ choice: undefined, isTTY: true, env: {} }, true],
    [{ choice: undefined, isTTY: false, env: {} }, false],
    [{ choice: undefined, isTTY: true, env: { NO_COLOR: "1" } }, false],
    [{ choice: undefined, isTTY: true, env: { NO_COLOR: "" } }, true],
    [{ choice: undefined, isTTY: true, env: { TERM: "dumb" } }, false],
    [{ choice: undefined, isTTY: false, env: { FORCE_COLOR: "1" } }, true],
    [{ choice: undefined, isTTY: true, env: { FORCE_COLOR: "0" } }, false],
    [{ choice: undefined, isTTY: true, env: { FORCE_COLOR: "1", NO_COLOR: "1" } }, false],
    [{ choice: undefined, isTTY: false, env: { FORCE_COLOR: "1", TERM: "dumb" } }, true],
    [{ choice: true, isTTY: false, env: { NO_COLOR: "1" } }, true],
    [{ choice: false, isTTY: true, env: { FORCE_COLOR: "1" } }, false],
  ])("%j is %s", ({ choice, isTTY, env }, expected) => {
    expect(wantsColor(choice, isTTY, env)).toBe(expected);
  });

  test("a palette paints by meaning, or not at all", async () => {
    const palette = await createPalette(true);
    expect(palette.bad("x")).toBe("\u001B[31mx\u001B[39m");
    expect(await createPalette(false)).toBe(plain);
    expect(plain.bad("x")).toBe("x");
  });
});

describe("times", () => {
  const now = Date.parse("2026-11-21T13:02:30Z");
  const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

  test.each([
    [0, "just now"],
    [999, "now"],
    [-9999, "just now"],
    [-40_000, "40 seconds ago"],
    [-108_000, "1 minute ago"],
    [1000, "in 1 second"],
    [119_999, "in 1 minute"],
    [4 * minute, "in 4 minutes"],
    [-2 * hour, "2 hours ago"],
    [47 * hour, "in 47 hours"],
    [3 * day + 23 * hour, "in 3 days"],
    [-70 * day, "2 months ago"],
    [800 * day, "in 2 years"],
  ])("%d ms away is %s", (offset, expected) => {
    expect(relativeTime(now + offset, now)).toBe(expected);
  });

  test.each([
    ["Europe/Berlin", "2026-11-21 14:02 GMT+1", "2026-07-02 00:00 GMT+2"],
    ["America/New_York", "2026-11-21 08:02 GMT-5", "2026-07-01 18:00 GMT-4"],
    ["Asia/Kolkata", "2026-11-21 18:32 GMT+5:30", "2026-07-02 03:30 GMT+5:30"],
  ])("are local in %s, across a change of the clocks", (zone, winter, summer) => {
    const module = join(import.meta.dirname, "../../src/terminal/time.ts");
    const script = `import { localTime } from ${JSON.stringify(module)}; for (const at of [${now}, ${Date.UTC(2026, 6, 1, 22)}]) console.log(localTime(at));`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      env: { TZ: zone },
      encoding: "utf8",
    });
    expect(run.stdout).toBe(`${winter}\n${summer}\n`);
  });

  test("an instant is followed by its distance", () => {
    expect(localTime(now)).toBe("2026-11-21 13:02 UTC");
    expect(when("2026-11-24T13:02:30+00:00", now)).toBe("2026-11-24 13:02 UTC (in 3 days)");
  });

  test("a text that is no date stays as it is", () => {
    expect(when("soon", now)).toBe("soon");
  });
});

test("a result in sentences is broken at spaces on a terminal, and not elsewhere", async () => {
  const line = `${"x".repeat(36)}  imported as generation 1 (credit-card/offline), unverified (sha256:1f0c94d2a3b8)`;
  for (const [isTTY, lines] of [
    [true, 2],
    [false, 1],
  ] as const) {
    const { app, written } = printingParts({ isTTY });
    await app.io.output.printDone({}, line);
    const said = written.stdout.join("").trimEnd();
    expect(said.split("\n")).toHaveLength(lines);
    expect(said.replace("\n  ", " ")).toBe(line);
  }
});

describe("tables", () => {
  const uuid = "2b0d7b3d-7f3b-4f0b-9f43-0c1a5b0d9e11";

  test("facts: labels in a column, long values under themselves", async () => {
    const table = factsTable(
      [
        ["Vault", uuid],
        ["Name", "王小明"],
        ["Note", "one two three four five six seven"],
      ],
      { palette: plain, isTTY: true, columns: 48 },
    );
    expect(table).toBe(
      `  Vault  ${uuid}\n  Name   王小明\n  Note   one two three four five six seven\n`,
    );
    expect(
      factsTable([["Note", "one two three four"]], { palette: plain, isTTY: true, columns: 20 }),
    ).toBe("  Note  one two\n        three four\n");
  });

  test("texts are wrapped at spaces, else behind slashes and dashes, else anywhere; no character is lost", () => {
    const wrap = (text: string, columns: number): string[] =>
      rowsTable([[text]], columns, 0)
        .trimEnd()
        .split("\n");
    expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
    expect(wrap("credit-card/offline", 12)).toEqual(["credit-card/", "offline"]);
    expect(wrap("漢字漢字漢字", 9)).toEqual(["漢字漢字", "漢字"]);
    expect(wrap("  indented\n\nand a gap", 12)).toEqual(["  indented", "", "and a gap"]);
    expect(wrap("  an indented line", 12)).toEqual(["  an", "  indented", "  line"]);
    const long = "xe\u0301👍🏽".repeat(50);
    expect(wrap(long, 16).join("")).toBe(long);
  });

  test("each line of a wrapped cell has its color, and none reaches the cell beside it", async () => {
    const { dim, bad, strong } = await createPalette(true);
    const paint = (text: string): string => bad(strong(text));
    const table = rowsTable(
      [
        [
          { text: "a", paint: dim },
          { text: "one two three", paint: dim },
        ],
        [
          { text: "b", paint },
          { text: "four five six", paint },
        ],
      ],
      15,
    );
    expect(table.split("\n")).toEqual([
      `  ${dim("a")}  ${dim("one two")}`,
      `     ${dim("three")}`,
      `  ${paint("b")}  ${paint("four five")}`,
      `     ${paint("six")}`,
      "",
    ]);
  });

  test("a list of many rows is in line over its whole length", () => {
    const many = Array.from({ length: 250 }, (_, n) => [String(n), "one\ntwo", "x".repeat(n % 7)]);
    const lines = listTable(["n", "Lines", "Note"], many, {
      palette: plain,
      isTTY: true,
      columns: 80,
    }).split("\n");
    expect(lines).toHaveLength(2 + 2 * 250 + 1);
    expect(lines.slice(2, -1).filter((_, n) => n % 2 === 0)).toEqual(
      many.map(([n = "", , note = ""]) => `  ${n.padEnd(3)}  one    ${note}`.trimEnd()),
    );
  });

  const heading = ["vault", "label", "state", "note"];
  const rows = [
    [uuid, "家計", "ready", "a note of some length, with words to break at"],
    [
      uuid,
      "evil\u001B[2J\u009B31m",
      { text: "pending", paint: (text: string) => `\u001B[33m${text}\u001B[39m` },
      "",
    ],
  ];

  test.each([80, 120])(
    "a list fits %d columns and keeps its first column whole",
    async (columns) => {
      const table = listTable(heading, rows, {
        palette: await createPalette(true),
        isTTY: true,
        columns,
      });
      const lines = stripVTControlCharacters(table).split("\n");
      for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
      expect(lines.filter((line) => line.includes(uuid))).toHaveLength(2);
    },
  );

  describe("a line for each row", () => {
    const head = ["Vault", "Status", "Unacked", "Empty", "Wide", "UUID"];
    const two = [
      [uuid, "ready", "0 of 5", "", "x".repeat(30), "1"],
      [
        "家計",
        { text: `held by ${"someone-with-a-name@".repeat(4)}`, paint: plain.warn },
        "1 of 5",
        "",
        "",
        "22",
      ],
    ];
    const drawn = (columns: number, rows = two): string[] =>
      oneLineTable(head, rows, { palette: plain, isTTY: true, columns }).split("\n");

    test("has as many columns as fit, in their order, none that is empty, and cuts what does not fit", () => {
      expect(drawn(80)).toEqual([
        "  Vault                                 Status",
        "  ────────────────────────────────────  ────────────────────────────────────────",
        `  ${uuid}  ready`,
        "  家計                                  held by someone-with-a-name@someone-wit…",
        "",
      ]);
      expect(drawn(80, [two[0] ?? []])).toEqual([
        "  Vault                                 Status  Unacked  UUID",
        "  ────────────────────────────────────  ──────  ───────  ────",
        `  ${uuid}  ready   0 of 5   1`,
        "",
      ]);
      expect(drawn(300)[0]).toMatch(/^ {2}Vault +Status +Unacked +Wide +UUID$/);
    });

    test.each([20, 40, 80, 120])("no line is wider than %i columns", (columns) => {
      for (const line of drawn(columns)) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
      expect(drawn(columns)).toHaveLength(5);
    });
  });

  test("without a terminal, any is lines of fields between tabs, each in one line", async () => {
    const { bad } = await createPalette(true);
    const without = { palette: plain, isTTY: false, columns: 20 };
    const cells = [["a\nb\tc", { text: "d\u001B", paint: bad }, "", "x".repeat(40)]];
    const line = `a b c\t${bad("d\\u{1b}")}\t\t${"x".repeat(40)}\n`;
    expect(listTable(["A", "B", "C", "D"], cells, without)).toBe(line);
    expect(factsTable([["Note", "one two three four\nfive"]], without)).toBe(
      "Note\tone two three four five\n",
    );
  });

  test("a list reads like one, and the columns behind wide characters stay in line", async () => {
    const short = rows.map((row) => row.slice(0, 3).map((cell) => (cell === uuid ? "2b0d" : cell)));
    const table = listTable(heading.slice(0, 3), short, {
      palette: plain,
      isTTY: true,
      columns: 80,
    });
    expect(stripVTControlCharacters(table)).toBe(
      [
        "  vault  label                   state",
        "  ─────  ──────────────────────  ───────",
        "  2b0d   家計                    ready",
        "  2b0d   evil\\u{1b}[2J\\u{9b}31m  pending",
        "",
      ].join("\n"),
    );
  });

  test("control characters of a cell never reach the terminal", async () => {
    const table = listTable(heading, rows, { palette: plain, isTTY: true, columns: 120 });
    expect(table).toContain("\\u{1b}[2J");
    expect(table).not.toContain("\u001B[2J");
    expect(table).not.toContain("\u009B");
  });
});
