import { describe, expect, test } from "vitest";
import { readRecords } from "./support.ts";

type Read = [line: number, fields: Record<string, string>][];

/** Reads a content in chunks of several sizes, and checks that the result is the same. */
async function read(content: string | Uint8Array): Promise<{ found: Read; skips: string[] }> {
  const results = [];
  for (const size of [65_536, 1, 2, 5, 17]) {
    const { records, skips } = await readRecords(content, size);
    results.push({
      found: records.map(({ line, fields }): Read[number] => [line, Object.fromEntries(fields)]),
      skips,
    });
  }
  const [first] = results;
  for (const other of results) expect(other).toEqual(first);
  return first ?? { found: [], skips: [] };
}

const tooLong = "x".repeat(1024 * 1024);

describe("NDJSON", () => {
  test.each<[string, string, Read, string[]]>([
    [
      "lines",
      '{"a":"1"}\n{"a":"2"}\n',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
      ],
      [],
    ],
    [
      "a last line without its end",
      '{"a":"1"}\n{"a":"2"}',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
      ],
      [],
    ],
    [
      "a last line that is cut off",
      '{"a":"1"}\n{"a":"2',
      [[1, { a: "1" }]],
      ["2: not JSON: the last line is cut off"],
    ],
    [
      "CRLF and empty lines",
      '\r\n{"a":"1"}\r\n \r\n\n{"a":"2"}\r\n',
      [
        [2, { a: "1" }],
        [5, { a: "2" }],
      ],
      [],
    ],
    [
      "lines of other shapes",
      '{"a":"1"}\n{"a":"2"}\n7\n"x"\n[1]\nnull\ntrue\nINFO {"a":"3"}\n{"a":"4"} x\n{"a":"5"}\n',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
        [10, { a: "5" }],
      ],
      [
        "3: a number, not an object",
        "4: a string, not an object",
        "5: an array, not an object",
        "6: null, not an object",
        "7: a boolean, not an object",
        "8: not JSON",
        "9: not JSON",
      ],
    ],
    [
      "nested objects, lists, numbers and nothing",
      '{"vault":{"uuid":"u","meta":{"k":1.50}},"list":[1,{"x":[]}],"ok":true,"no":null,"empty":"","n":-0.5,"o":{}}\n',
      [
        [
          1,
          { "vault.uuid": "u", "vault.meta.k": "1.5", list: '[1,{"x":[]}]', ok: "true", n: "-0.5" },
        ],
      ],
      [],
    ],
    [
      "numbers beyond 2^53",
      '{"a":1795183331001999999,"b":[12345678901234567890]}',
      [[1, { a: "1795183331001999999", b: '["12345678901234567890"]' }]],
      [],
    ],
    ["keys twice", '{"a":"1","a":"2"}\n', [[1, { a: "2" }]], []],
  ])("%s", async (_what, content, found, skips) => {
    expect(await read(content)).toEqual({ found, skips });
  });

  test("keys of the prototype are keys", async () => {
    const { records } = await readRecords(
      '{"__proto__":{"x":"1"},"constructor":"2","toString":"3","hasOwnProperty":"4"}\n',
    );
    expect([...(records[0]?.fields ?? [])]).toEqual([
      ["__proto__.x", "1"],
      ["constructor", "2"],
      ["toString", "3"],
      ["hasOwnProperty", "4"],
    ]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  test("nests as deep as it likes", async () => {
    const objects = `{"a":`.repeat(100_000) + "1" + "}".repeat(100_000);
    const lists = `{"a":${"[".repeat(400_000)}${"]".repeat(400_000)}}`;
    const { records, skips } = await readRecords(
      `{"a":"1"}\n${lists}\n{"b":"x","a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":1}}}}}}}}}\n`,
    );
    expect(records.map(({ line }) => line)).toEqual([1, 3]);
    expect(Object.fromEntries(records[1]?.fields ?? [])).toEqual({
      b: "x",
      "a.b.c.d.e.f.g.h": '{"i":1}',
    });
    expect(skips).toEqual(["2: nested too deeply"]);
    expect((await readRecords(`{"a":"1"}\n${objects}\n`)).skips).toEqual(["2: nested too deeply"]);
  });

  test("lines longer than 1 MiB are skipped, wherever they are", async () => {
    const fit = `{"a":"${tooLong.slice(8)}"}`;
    expect(fit).toHaveLength(1024 * 1024);
    const content = `{"b":"1"}\n${fit}\n${fit} \n{"b":"2"}\n${tooLong}${tooLong}${tooLong}\n{"b":"3"}\n${tooLong}x`;
    for (const size of [1000, 65_536, 10_000_000]) {
      const { records, skips } = await readRecords(content, size);
      expect(
        records.map(({ line, fields }) => [line, fields.get("b") ?? fields.get("a")?.length]),
      ).toEqual([
        [1, "1"],
        [2, 1024 * 1024 - 8],
        [4, "2"],
        [6, "3"],
      ]);
      expect(skips).toEqual([
        "3: longer than 1 MiB",
        "5: longer than 1 MiB",
        "7: longer than 1 MiB",
      ]);
    }
  });

  test("bytes that are no UTF-8 spoil their character only", async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":"M'),
      Buffer.from([0xfc]),
      Buffer.from('ller"}\n{"a":"'),
      Buffer.from([0xc3]),
      Buffer.from('\n{"a":"2"}\n'),
    ]);
    expect(await read(bytes)).toEqual({
      found: [
        [1, { a: "M\ufffdller" }],
        [3, { a: "2" }],
      ],
      skips: ["2: not JSON"],
    });
  });
});

describe("a JSON array", () => {
  test.each<[string, string, Read, string[]]>([
    [
      "of objects",
      '[{"a":"1"},\n{"a":"2"}]',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
      ],
      [],
    ],
    [
      "in a wrapper",
      '{"total":2,"x":{"y":[1]},"items":[{"a":"1"},{"a":"2"}],"more":[{"a":"3"}]}',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
      ],
      [],
    ],
    [
      "in nested wrappers",
      '{"hits":{"total":1,"hits":[{"_source":{"a":"1"}}]}}',
      [[1, { "_source.a": "1" }]],
      [],
    ],
    [
      "in wrappers one after the other",
      '{"items":[{"a":"1"}]}{\n"items":[{"a":"2"}]}',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
      ],
      [],
    ],
    ["in a wrapper that is empty", '{"total":0,"items":[]}', [], []],
    [
      "objects without one",
      '{\n"a":"1",\n"l":[]\n,"t":"2026-11-20T14:02:11Z"}\n{"a":"2","l":[{"x":1}]}',
      [
        [1, { a: "1", l: "[]", t: "2026-11-20T14:02:11Z" }],
        [2, { a: "2", l: '[{"x":1}]' }],
      ],
      [],
    ],
    [
      "cut off in an element",
      '[{"a":"1"},{"a":"2"},{"a":"3',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
      ],
      ["3: cut off here: reading stopped"],
    ],
    [
      "cut off between elements",
      '[{"a":"1"},{"a":"2"}',
      [
        [1, { a: "1" }],
        [2, { a: "2" }],
      ],
      ["3: cut off here: reading stopped"],
    ],
    [
      "cut off after a comma",
      '[{"a":"1"},',
      [[1, { a: "1" }]],
      ["2: cut off here: reading stopped"],
    ],
    [
      "with an error in an element",
      '[{"a":"1"},{"a":"}"},{"a" "3"},{"a":"4"}]',
      [
        [1, { a: "1" }],
        [2, { a: "}" }],
      ],
      ["3: not valid JSON from here on: reading stopped"],
    ],
    [
      "with an error between elements",
      '[{"a":"1"};{"a":"2"}]',
      [[1, { a: "1" }]],
      ["2: not valid JSON from here on: reading stopped"],
    ],
    [
      "with something after it",
      '[{"a":"1"}] x',
      [[1, { a: "1" }]],
      ["2: not valid JSON from here on: reading stopped"],
    ],
    [
      "with other elements",
      '[{"a":"1"},7,"x",null,true,[{"a":"2"}],[],{"a":"3"}]',
      [
        [1, { a: "1" }],
        [8, { a: "3" }],
      ],
      [
        "2: a number, not an object",
        "3: a string, not an object",
        "4: null, not an object",
        "5: a boolean, not an object",
        "6: an array, not an object",
        "7: an array, not an object",
      ],
    ],
    [
      "with nested values",
      '[{"vault":{"uuid":"u","m":{"k":1.5}},"list":[1,{"x":[true,null]}],"ok":false,"no":null,"empty":"","n":-5e3,"big":1795183331001999999}]',
      [
        [
          1,
          {
            "vault.uuid": "u",
            "vault.m.k": "1.5",
            list: '[1,{"x":[true,null]}]',
            ok: "false",
            n: "-5e3",
            big: "1795183331001999999",
          },
        ],
      ],
      [],
    ],
    [
      "with escapes",
      String.raw`[{"a\n\u0062":"M\u00fcller \ud83d\udd11 \"\\\/"}]`,
      [[1, { "a\nb": 'Müller 🔑 "\\/' }]],
      [],
    ],
    ["with keys twice", '[{"a":"1","a":"2"}]', [[1, { a: "2" }]], []],
  ])("%s", async (_what, content, found, skips) => {
    expect(await read(content)).toEqual({ found, skips });
  });

  test("keys of the prototype are keys", async () => {
    const { records } = await readRecords('[{"__proto__":{"x":"1"},"constructor":"2"}]');
    expect([...(records[0]?.fields ?? [])]).toEqual([
      ["__proto__.x", "1"],
      ["constructor", "2"],
    ]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  test("what is longer than 1 MiB is skipped: strings, keys, numbers, lists", async () => {
    const long = (content: string): string => `[{"a":"1"},${content},{"a":"3"}]`;
    for (const element of [
      `{"a":"${tooLong}"}`,
      `{"${tooLong}":1}`,
      `{"a":${"1".repeat(tooLong.length)}}`,
      `{"a":[${"1,".repeat(tooLong.length / 2)}1]}`,
      `{${'"a":1,'.repeat(tooLong.length / 6)}"b":1}`,
    ]) {
      const { records, skips } = await readRecords(long(element));
      expect(records.map(({ line, fields }) => [line, fields.get("a")])).toEqual([
        [1, "1"],
        [3, "3"],
      ]);
      expect(skips).toEqual(["2: longer than 1 MiB"]);
    }
  });

  test("a wrapper may be longer than 1 MiB before its array", async () => {
    expect((await readRecords(`{\n"x":"${tooLong}",\n"items":[{"a":"1"}]}`)).records).toHaveLength(
      1,
    );
    expect((await readRecords(`{\n"x":"${tooLong}"}{"a":"1"}`)).skips).toEqual([
      "1: longer than 1 MiB",
    ]);
  });

  test.each([
    ["lists", `[{"a":"1"},{"a":${"[".repeat(1_000_000)}`],
    ["objects", `[{"a":"1"},${'{"a":'.repeat(200_000)}`],
  ])("ends where %s are nested too deeply", async (_what, content) => {
    const { records, skips } = await readRecords(content);
    expect(records).toHaveLength(1);
    expect(skips).toEqual(["2: nested too deeply: reading stopped"]);
  });
});

describe("CSV", () => {
  const header = "time,who,note\n";
  test.each<[string, string, Read, string[]]>([
    [
      "rows",
      "a,b\n1,2\n3,4\n",
      [
        [2, { a: "1", b: "2" }],
        [3, { a: "3", b: "4" }],
      ],
      [],
    ],
    ["tabs", "a\tb\n1\t2,5\n", [[2, { a: "1", b: "2,5" }]], []],
    ["semicolons", "a;b\r\n1;2,5\r\n", [[2, { a: "1", b: "2,5" }]], []],
    ["Excel's first line", "sep=;\na;b\n1;2\n", [[3, { a: "1", b: "2" }]], []],
    [
      "quotes",
      'a,b\n"1,5","say ""x"""\n"line\r\nbreak",\n3,4\n',
      [
        [2, { a: "1,5", b: 'say "x"' }],
        [3, { a: "line\nbreak" }],
        [5, { a: "3", b: "4" }],
      ],
      [],
    ],
    [
      "quotes in the middle",
      'a,b\n5" disk,x\n6" disk,"y"z\n"1",2\n',
      [
        [2, { a: '5" disk', b: "x" }],
        [3, { a: '6" disk', b: '"y"z' }],
        [4, { a: "1", b: "2" }],
      ],
      [],
    ],
    [
      "defused cells",
      "a,b\n'=1+1,'+49\n'-1,'@x\n'plain,it's\n",
      [
        [2, { a: "=1+1", b: "+49" }],
        [3, { a: "-1", b: "@x" }],
        [4, { a: "'plain", b: "it's" }],
      ],
      [],
    ],
    ["empty lines", "\na,b\n\n1,2\n\n", [[4, { a: "1", b: "2" }]], []],
    [
      "too few and too many cells",
      "a,b\n1\n1,2,3\n1,2,,\n1,\n",
      [
        [4, { a: "1", b: "2" }],
        [5, { a: "1" }],
      ],
      ["2: 1 cells where the header has 2", "3: 3 cells where the header has 2"],
    ],
    [
      "names that are missing or used twice",
      "a,,a,b\n1,2,3,4\n",
      [[2, { a: "1", column2: "2", "a (3)": "3", b: "4" }]],
      [],
    ],
    [
      "no header: a time",
      "x,2026-11-20T14:02:11Z\ny,z\n",
      [
        [1, { column1: "x", column2: "2026-11-20T14:02:11Z" }],
        [2, { column1: "y", column2: "z" }],
      ],
      [],
    ],
    ["no header: an action", "x,READ_VAULT\n", [[1, { column1: "x", column2: "READ_VAULT" }]], []],
    ["a header alone", "time,action,vault\n", [], []],
    [
      "a quote that is never closed",
      `${header}1,2,3\n"1,2,3\n4,5,6\n7,8,9\n`,
      [
        [2, { time: "1", who: "2", note: "3" }],
        [4, { time: "4", who: "5", note: "6" }],
        [5, { time: "7", who: "8", note: "9" }],
      ],
      ["3: a quote is opened and not closed"],
    ],
    [
      "a quote that is closed by the next one",
      `${header}1,"2,3\n4,5,6\n"7",8,9\n`,
      [
        [3, { time: "4", who: "5", note: "6" }],
        [4, { time: "7", who: "8", note: "9" }],
      ],
      ["2: a quote that is not closed in its cell"],
    ],
    [
      "a last row that is cut off",
      `${header}1,2,3\n4,5`,
      [[2, { time: "1", who: "2", note: "3" }]],
      ["3: 2 cells where the header has 3"],
    ],
    [
      "keys of the prototype",
      "__proto__,constructor\n1,2\n",
      [[2, JSON.parse('{"__proto__":"1","constructor":"2"}') as Record<string, string>]],
      [],
    ],
  ])("%s", async (_what, content, found, skips) => {
    expect(await read(content)).toEqual({ found, skips });
  });

  test("a quote that is never closed costs no more than its line in a long file either", async () => {
    const row = (n: number): string => `${n},"who, me",note\n`;
    const rows = (from: number): string =>
      Array.from({ length: 60_000 }, (_, n) => row(from + n)).join("");
    const { records, skips } = await readRecords(
      `${header}${rows(0)}1,"2,3\n${rows(60_000).replaceAll('"who, me"', "who")}`,
    );
    expect(skips).toEqual(["60002: a quote is opened and not closed"]);
    expect(records).toHaveLength(120_000);
    expect(records.at(-1)).toMatchObject({ line: 120_002 });
  });

  test("rows longer than 1 MiB are skipped", async () => {
    const { records, skips } = await readRecords(`${header}1,${tooLong},3\n4,5,6\n`);
    expect(skips).toEqual(["2: longer than 1 MiB"]);
    expect(records).toMatchObject([{ line: 3 }]);
  });
});
