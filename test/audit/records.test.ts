import { describe, expect, test } from "vitest";
import { readRecords } from "./support.ts";

const at = (n: number | string): string => `"time":"2026-11-20T12:00:0${n}Z","action":"READ_VAULT"`;
/** An object that looks like an item. */
const one = (n: number | string): string => `{${at(n)},"n":"${n}"}`;
const [a, b, c] = [one(1), one(2), one(3)];
const ab = ["1: 1", "2: 2"];
const id = (n: number): string => `"9b1c2d3e-0000-4000-8000-00000000000${n}"`;
const tooLong = "x".repeat(1024 * 1024);

/** Reads a content in pieces of several sizes, each with the same result: the lines with the values of `n`. */
function read(content: string | Buffer): { found: string[]; skips: string[]; passed: string[] } {
  const results = [1e9, 1, 7, 64].map((size) => {
    const { records, ...told } = readRecords(content, size);
    return { found: records.map(({ line, fields }) => `${line}: ${fields.get("n")}`), ...told };
  });
  for (const other of results) expect(other).toEqual(results[0]);
  return results[0] as (typeof results)[0];
}

const broken = "not JSON";
const cut = "cut off here: reading stopped";

describe("items are found", () => {
  test.each<[string, string, string[], string[]?]>([
    ["in lines", `${a}\n${b}\n`, ab],
    ["in a last line without its end", `${a}\n${b}`, ab],
    ["with CRLF and blank lines", `\r\n${a}\r\n \r\n\n${b}\r\n`, ["2: 1", "5: 2"]],
    ["in lines that end with CR", `${a}\r${b}\r`, ab],
    ["behind zeros and other text", `${a}\n\0\0\0${b}\n2026 stdout F ${c}\n`, [...ab, "3: 3"]],
    ["several in a line", `${a}\n${b}${c}\n`, [...ab, "2: 3"]],
    ["in lists, one a line", `${a}\n[${b},${c}]\n`, [...ab, "2: 3"]],
    ["of Python", `${a}\n{${at(2)},"n":2,"x":NaN,"y":None,"z":[-Infinity,True,],}\n`, ab],
    ["with a tab in a string", `${a}\n{${at(2)},"n":"2","x":"a\tb"}\n`, ab],
    [
      "beside other lines",
      `${a}\n7\n"x"\nnull\nINFO\n${b}\n{"n`,
      ["1: 1", "6: 2"],
      [
        "2: a number, not an object",
        "3: a string, not an object",
        "4: null, not an object",
        `5: ${broken}`,
        `7: ${broken}: the last line is cut off`,
      ],
    ],
    ["in a list", `[${a},\n${b}]`, ab],
    ["in a list, cut off in one", `[${a},${b},{"n":"3`, ab, [`3: ${cut}`]],
    ["in a list, cut off after one", `[${a},${b},`, ab, [`3: ${cut}`]],
    ["in a wrapper", `{"total":2,"x":{"y":[1]},"items":[${a},${b}]}`, ab],
    ["in several lists", `{"good":[${a}],"bad":[${b}]}`, ab],
    ["in lists of lists", `{"days":{"d1":[${a}],"d2":[[${b}]]}}`, ab],
    ["by vault", `{${id(1)}:[${a}],${id(2)}:[${b}]}`, ab],
    ["in strings", `[${JSON.stringify(a)},${JSON.stringify(b)}]`, ab],
    ["in strings, one a line", `${JSON.stringify(a)}\n${JSON.stringify(b)}\n`, ab],
    [
      "behind one without a brace",
      `[${a},{"n":"2",${c},${one(4)}]`,
      ["1: 1", "3: 3", "4: 4"],
      [`2: ${broken}`],
    ],
    ["by id", `{${id(1)}:${a},${id(2)}:${b}}`, ab],
    ["by id below a key", `{"took":1,"data":{"x1":${a},"x2":${b}}}`, ab],
    ["in pages, one a line", `{"Records":[${a}]}\n{"Records":[${b}]}\n`, ab],
    ["in pages of a list", `[{"page":1,"items":[${a}]},{"page":2,"items":[${b}]}]`, ab],
    ["one after another", `${a}${b}`, ab],
    [
      "one after another, over lines",
      `${a.replaceAll(",", ",\n")}\n${b.replaceAll("{", "{\n")}\n`,
      ab,
    ],
    ["with a list of objects each", `[{${at(1)},"n":1,"l":[{"x":1}]},{${at(2)},"n":2}]`, ab],
    ["with an empty list each", `{${at(1)},"n":1,"l":[]}\n{${at(2)},"n":2,"l":[]}\n`, ab],
    ["behind a comma that is missing, or one too many", `[${a} ${b},,${c},]`, [...ab, "3: 3"]],
    ["beside one that is broken", `[${a},{"n" "2"},${c}]`, ["1: 1", "3: 3"], [`2: ${broken}`]],
    ["behind one without a quote", `[${a},{"n":"2},${c}]`, ["1: 1", "3: 3"], [`2: ${broken}`]],
    [
      "behind one with a quote too many",
      `[${a},{"n":"2""},${c},${one(4)}]`,
      ["1: 1", "3: 3", "4: 4"],
      [`2: ${broken}`],
    ],
    [
      "beside other elements",
      `[${a},7,"x",null,true,${b}]`,
      ["1: 1", "6: 2"],
      [
        "2: a number, not an object",
        "3: a string, not an object",
        "4: null, not an object",
        "5: a boolean, not an object",
      ],
    ],
  ])("%s", (_what, content, found, skips = []) => {
    expect(read(content)).toMatchObject({ found, skips });
  });

  test("and lists of something else are passed over", () => {
    const rest = `"links":[{"rel":"self"},{"rel":"next"}],"ids":[1,2,3],"items":[${a}]`;
    const { records, passed } = readRecords(`{"total":1,${rest}}`);
    expect(records.map(({ fields, list }) => [list?.name, fields.get("n")])).toEqual([
      ["links", undefined],
      ["links", undefined],
      ["items", "1"],
    ]);
    expect(passed).toEqual(["ids", "ids", "ids"]);
    expect(readRecords('{"total":0,"items":[]}')).toMatchObject({ records: [], skips: [] });
  });
});

describe("the columns of an object", () => {
  test.each<[string, string, Record<string, string>]>([
    [
      "are nested by dots, without nothing",
      '{"v":{"u":"x","m":{"k":1.50}},"l":[1,{"x":[]}],"ok":true,"no":null,"e":"","n":-5e3}',
      { "v.u": "x", "v.m.k": "1.5", l: '[1,{"x":[]}]', ok: "true", n: "-5000" },
    ],
    [
      "have all their digits",
      '{"a":1795183331001999999,"b":[12345678901234567890]}',
      { a: "1795183331001999999", b: "12345678901234567890" },
    ],
    ["are the last of two", '{"a":"1","a":"2"}', { a: "2" }],
    [
      "have escapes",
      String.raw`{"a\n\u0062":"M\u00fcller \ud83d\udd11 \"\\\/"}`,
      { "a\nb": 'Müller 🔑 "\\/' },
    ],
    [
      "are nested eight deep",
      `${'{"a":'.repeat(9)}1${"}".repeat(9)}`,
      { "a.a.a.a.a.a.a.a": '{"a":1}' },
    ],
  ])("%s", (_what, text, columns) => {
    for (const content of [`${text}\n`, `[${text}]`])
      expect(Object.fromEntries(readRecords(content).records[0]?.fields ?? [])).toEqual(columns);
  });

  test("may have names of the prototype, and any bytes", () => {
    const [first] = readRecords('{"__proto__":{"x":"1"},"constructor":"2"}\n').records;
    expect([...(first?.fields ?? [])]).toEqual([
      ["__proto__.x", "1"],
      ["constructor", "2"],
    ]);
    expect(read(Buffer.from(`{"n":"M\xfcller"}\n`, "latin1")).found).toEqual(["1: Müller"]);
  });

  test.each([
    [
      "lists",
      `${a}\n{"n":${"[".repeat(400_000)}${"]".repeat(400_000)}}\n${c}\n`,
      ["2: nested too deeply"],
    ],
    [
      "lists without end",
      `[${a},{"n":${"[".repeat(900_000)}`,
      ["2: cut off here: reading stopped"],
    ],
    [
      "objects without end",
      `[${a},${'{"a":'.repeat(200_000)}`,
      ["2: cut off here: reading stopped"],
    ],
  ])("may be nested as deep as they like: %s", (_what, content, skips) => {
    expect(readRecords(content)).toMatchObject({ skips });
  });

  test.each(["\n", ",\n"])("are no longer than 1 MiB, with %j between objects", (between) => {
    const [before, after] = between === "\n" ? ["", "\n"] : ["[", "]"];
    for (const long of [
      `"n":"${tooLong}"`,
      `"${tooLong}":1`,
      `"n":[${"1,".repeat(tooLong.length / 2)}1]`,
    ]) {
      const { records, skips } = readRecords(
        `${before}${[a, `{${long}}`, c].join(between)}${after}`,
        65_536,
      );
      const found = records.map(({ line, fields }) => `${line}: ${fields.get("n")}`);
      expect(found).toEqual(["1: 1", "3: 3"]);
      expect(skips).toEqual(["2: longer than 1 MiB"]);
    }
    const wrapper = `{\n"x":"${tooLong}","items":[${a}]}`;
    expect(readRecords(wrapper, 65_536).records).toHaveLength(1);
  });
});

describe("rows", () => {
  const header = "time,who,note\n";
  test.each<[string, string, [number, Record<string, string>][], string[]?]>([
    [
      "of CSV",
      "a,b\n1,2\n3,4\n",
      [
        [2, { a: "1", b: "2" }],
        [3, { a: "3", b: "4" }],
      ],
    ],
    ["with tabs", "a\tb\n1\t2,5\n", [[2, { a: "1", b: "2,5" }]]],
    ["with semicolons and CRLF", "a;b\r\n1;2,5\r\n", [[2, { a: "1", b: "2,5" }]]],
    [
      "with CR alone",
      "a,b\r1,2\r3,4",
      [
        [2, { a: "1", b: "2" }],
        [3, { a: "3", b: "4" }],
      ],
    ],
    ["behind Excel's first line", "sep=;\na;b\n1;2\n", [[3, { a: "1", b: "2" }]]],
    [
      "behind titles",
      "Audit report\nOf: 2026\n\na,b,c\n1,2,3\n4,5,6\n",
      [
        [5, { a: "1", b: "2", c: "3" }],
        [6, { a: "4", b: "5", c: "6" }],
      ],
    ],
    [
      "behind titles as wide as they",
      "Report,,\na,b,c\n1,2,3\n",
      [[3, { a: "1", b: "2", c: "3" }]],
    ],
    [
      "with quotes",
      'a,b\n"1,5","say ""x"""\n"line\nbreak",\n3,4\n',
      [
        [2, { a: "1,5", b: 'say "x"' }],
        [3, { a: "line\nbreak" }],
        [5, { a: "3", b: "4" }],
      ],
    ],
    [
      "with quotes in the middle",
      'a,b\n5" disk,x\n6" disk,"y"z\n"1 "so" 2",2\n',
      [
        [2, { a: '5" disk', b: "x" }],
        [4, { a: '1 "so" 2', b: "2" }],
      ],
      ["3: a quote that is not closed in its cell"],
    ],
    [
      "with a blank after each comma",
      '"a", "b"\n"1", "2, 3"\n4, 5 \n',
      [
        [2, { a: "1", b: "2, 3" }],
        [3, { a: "4", b: "5" }],
      ],
    ],
    [
      "with defused cells",
      "a,b\n'=1+1,'+49\n'plain,it's\n",
      [
        [2, { a: "=1+1", b: "+49" }],
        [3, { a: "'plain", b: "it's" }],
      ],
    ],
    [
      "without cells at their ends",
      "a,b,c\n1,2\n1,2,3,,\n",
      [
        [2, { a: "1", b: "2" }],
        [3, { a: "1", b: "2", c: "3" }],
      ],
    ],
    [
      "with the header again",
      "a,b\n1,2\na,b\n3,4\n",
      [
        [2, { a: "1", b: "2" }],
        [4, { a: "3", b: "4" }],
      ],
    ],
    [
      "that do not fit",
      `${header}1\n1,2,3,4\n(2 rows)\n`,
      [],
      ["3: 4 cells where the header has 3"],
    ],
    [
      "with names that are missing or used twice",
      "a,,a,b\n1,2,3,4\n",
      [[2, { a: "1", column2: "2", "a (3)": "3", b: "4" }]],
    ],
    [
      "without a header",
      "x,2026-11-20T14:02:11Z\ny,z\n",
      [
        [1, { column1: "x", column2: "2026-11-20T14:02:11Z" }],
        [2, { column1: "y", column2: "z" }],
      ],
    ],
    [
      "behind a quote that is not closed",
      `${header}1,2,3\n"1,2,3\n4,5,6\n`,
      [
        [2, { time: "1", who: "2", note: "3" }],
        [4, { time: "4", who: "5", note: "6" }],
      ],
      ["3: a quote is opened and not closed"],
    ],
    [
      "behind a quote that the next one closes",
      `${header}1,"2,3\n4,5,6\n"7",8,9\n`,
      [
        [3, { time: "4", who: "5", note: "6" }],
        [4, { time: "7", who: "8", note: "9" }],
      ],
      ["2: a quote that is not closed in its cell"],
    ],
    [
      "of which the last is cut off",
      `${header}1,2,3\n4,5`,
      [[2, { time: "1", who: "2", note: "3" }]],
      ["3: 2 cells where the header has 3"],
    ],
  ])("%s", (_what, content, found, skips = []) => {
    for (const size of [1e9, 1, 7]) {
      const { records, ...told } = readRecords(content, size);
      expect(records.map(({ line, fields }) => [line, Object.fromEntries(fields)])).toEqual(found);
      expect(told.skips).toEqual(skips);
    }
  });

  test("a quote that is not closed costs its line in a long file, and many cost no time", () => {
    const rows = (count: number): string => '1,"who, me",note\n'.repeat(count);
    const { records, skips } = readRecords(
      `${header}${rows(60_000)}1,"2,3\n${rows(60_000).replaceAll('"', "")}`,
      262_144,
    );
    expect(skips[0]).toBe("60002: a quote is opened and not closed");
    expect(records.at(-1)?.line ?? 0).toBeLessThan(60_002);
    const open = readRecords(`${header}${'"1,2,3\n'.repeat(100_000)}`, 262_144);
    expect(open.skips.length).toBeGreaterThan(99_000);
    const long = readRecords(`${header}1,${tooLong},3\n4,5,6\n`, 65_536);
    expect(long).toMatchObject({ skips: ["2: longer than 1 MiB"], records: [{ line: 3 }] });
  });
});
