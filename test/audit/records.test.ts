import fc from "fast-check";
import { expect, test } from "vitest";
import { parseMap } from "../../src/audit/flags.ts";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import { runs } from "../support/campaign.ts";
import { moment, replayText, rows, vaultUuid } from "./support.ts";

const id = vaultUuid(1);
const valuesOf = (n: string): string[] => [`2026-11-20T12:00:0${n}Z`, "READ_VAULT", id];
/** Members and cells of item `n`. */
const inside = (n: string): string =>
  `"time":"2026-11-20T12:00:0${n}Z","action":"READ_VAULT","vault":"${id}","ref"`;
/** Puts items in the place of `<1>`, cells of `(1)`, values of `^1`, a header of HEAD, and line ends and the like of their escapes. */
const written = (text: string): string =>
  text
    .replaceAll(/"<(\d)>"/g, (_, n: string) => JSON.stringify(`{${inside(n)}:"${n}"}`))
    .replaceAll(/<(\d)>/g, (_, n: string) => `{${inside(n)}:"${n}"}`)
    .replaceAll(/~(\d)/g, (_, n: string) => inside(n))
    .replaceAll(/\((\d)\)/g, (_, n: string) => valuesOf(n).join(","))
    .replaceAll(/\^(\d)/g, (_, n: string) => JSON.stringify(valuesOf(n)).slice(1, -1))
    .replaceAll("NAMES", '["time","action","vault","ref"]')
    .replaceAll("HEAD", "time,action,vault,ref")
    .replaceAll(
      /\\([nrt0])/g,
      (_, at: string) => ({ n: "\n", r: "\r", t: "\t", 0: "\0" })[at] ?? "",
    );

/** What is found in a content, however it comes, like `1:a 3:b; 2: why not`: lines with references, and lines that were skipped. */
async function foundIn(content: string | Uint8Array, options: Partial<ReplayOptions> = {}) {
  const results = [];
  for (const by of ["path", 1, 7, 64] as const) {
    const { result, reports } = await replayText(content, { timeline: true, ...options }, by);
    const found = reports.flatMap(({ timeline = [] }) =>
      timeline.map(({ item }) => `${item.line}:${item.externalRef ?? "-"}`),
    );
    const skips = result.summary.skipped.map((skip) => `${skip.line}: ${skip.reason}`);
    results.push([found.join(" "), ...skips].join("; "));
  }
  expect(new Set(results).size, results.join("\n")).toBe(1);
  return results[0];
}

test.each(
  rows(String.raw`
lines                              | <1>\n<2>\n                               | 1:1 2:2
a last line without its end        | <1>\n<2>                                 | 1:1 2:2
CRLF and blank lines               | \r\n<1>\r\n \r\n\n<2>\r\n                | 2:1 5:2
lines that end with CR             | <1>\r<2>\r                               | 1:1 2:2
zeros and other text before        | <1>\n\0\0\0<2>\n2026 stdout F <3>\n      | 1:1 2:2 3:3
several in a line                  | <1>\n<2><3>\n                            | 1:1 2:2 2:3
numbers that are no bytes          | <1>\n{~2:"2","x":"[1,,2]","y":"[01,2]"}\n | 1:1 2:2
numbers that are no bytes, in rows | HEAD,x\n(1),1,"[1,,2]"\n(2),2,"[01,{2]"\n | 2:1 3:2
lists, one a line                  | <1>\n[<2>,<3>]\n                         | 1:1 2:2 2:3
Python                             | <1>\n{~2:2,"x":NaN,"y":None,"z":[-Infinity,True,],}\n | 1:1 2:2
backslashes, and no JSON in others | <1>\n{~2:"a\user","x":"b\q"}\n{~3:"3","x":{"a" "b"}}\n | 1:1 2:a\user 3:-
backslashes before capital letters | <1>\n{~2:"a\Tom","x":"b\New"}\n | 1:1 2:a\Tom
zeros within an item               | <1>\n{"time":"2026-11-20T12:\0\000:02Z","action":"READ_VAULT","vault":"00000000-0000-4000-8000-000000000001","ref":"2"}\n | 1:1 2:2
keys and values of items in lists  | {"results":[[{"field":"time","value":"2026-11-20T12:00:01Z"},{"field":"action","value":"READ_VAULT"},{"field":"vault","value":"00000000-0000-4000-8000-000000000001"},{"field":"ref","value":"1"}],[{"field":"ref","value":"2"},{"field":"time","value":"2026-11-20T12:00:02Z"},{"field":"action","value":"READ_VAULT"},{"field":"vault","value":"00000000-0000-4000-8000-000000000001"}]]} | 1:1 2:2
lists of items with names          | [[{"name":"x",~1:1}],[{"name":"y",~2:2},{"name":"z",~3:3}]] | 1:1 2:2 3:3
a tab in a string                  | <1>\n{~2:"2","x":"a\tb"}\n                | 1:1 2:2
other lines                        | <1>\n7\n"x"\nnull\nINFO\n<2>\n{"n        | 1:1 6:2; 2: not an object; 3: not an object; 4: not an object; 5: not JSON; 7: not JSON: the last line is cut off
a list                             | [<1>,\n<2>]                              | 1:1 2:2
a list, cut off in an item         | [<1>,<2>,{"n":"3                         | 1:1 2:2; 3: cut off here: reading stopped
a list, cut off after one          | [<1>,<2>,                                | 1:1 2:2; 3: cut off here: reading stopped
a wrapper                          | {"total":2,"x":{"y":[1]},"items":[<1>,<2>]} | 1:1 2:2
several lists                      | {"good":[<1>],"bad":[<2>]}               | 1:1 2:2
lists of lists                     | {"days":{"d1":[<1>],"d2":[[<2>]]}}       | 1:1 2:2
strings                            | ["<1>","<2>"]                | 1:1 2:2
rows by names                      | {"preview":false,"fields":NAMES,"rows":[[^1,null],[^2,"x"]]} | 1:- 2:x
rows by names, over lines          | {"columns":[{"name":"time"},{"name":"action"},\n{"name":"vault"},{"name":"ref"}],\n"rows":[\n[^1,"a"],\n[^2,"b"]\n]}\n | 1:a 2:b
rows in pages                      | {"fields":NAMES,"rows":[[^1,"a"]]}\n{"fields":["ref","time","action","vault"],"rows":[["b",^2]]} | 1:a 2:b
rows of tables                     | {"tables":[{"name":"x","columns":NAMES,"rows":[[^1,"a"],[^2],[^3,"c"]]}]} | 1:a 3:c; 2: not an object
rows of several names              | {"fields":NAMES,"rows":[[^1,"a"]],"more":{"fields":["ref","time","action","vault"],"rows":[["b",^2]]},"last":[[^3,"c"]]} | 1:a 2:b 3:c
rows, the first of which is none   | {"fields":NAMES,"rows":[[^1],[^2,"b"]]}  | 2:b; 1: not an object
rows before their names            | <1>\n{"rows":[[^2,"b"]],"fields":NAMES} | 1:1; 2: no time
rows, cut off in one               | {"fields":NAMES,"rows":[[^1,"a"],[^2    | 1:a; 2: cut off here: reading stopped
items below such a key             | {"fields":[{"name":"x",~1:1},{"name":"y",~2:2}]} | 1:1 2:2
lists of lists beside names        | {"fields":["a"],"days":[[<1>],[<2>],[[<3>]]]} | 1:1 2:2 3:3
such a list, cut off               | {"fields":["a"],"days":[[<1>,<2>         | 1:1 2:2; 3: cut off here: reading stopped
lists of strings beside names      | {"fields":["a"],"days":[["<1>","<2>"]]} | 1:1 2:2
by id below a key                  | {"took":1,"data":{"x1":<1>,"x2":<2>}}    | 1:1 2:2
pages of a list                    | [{"page":1,"items":[<1>]},{"page":2,"items":[<2>]}] | 1:1 2:2
objects over lines                 | {\n"x":1,\n~1:\n"1"}\n{\n~2:"2"}\n       | 1:1 2:2
a list of objects in each          | [{~1:1,"l":[{"x":1}]},{~2:2,"l":[]}]       | 1:1 2:2
a page with an action of its own   | {"time":"2026-11-20T13:00:00Z","action":"READ_VAULT","items":[<1>,<2>]} | 1:1 2:2
a vault with its items             | {"time":"2026-11-20T11:00:00Z","action":"CREATE_VAULT","vault":"00000000-0000-4000-8000-000000000001","events":[{~1:1,"outcome":"OK"},{~2:2,"outcome":"OK"}]} | 1:1 2:2
an earlier item in a text          | {"time":"2026-11-20T12:00:02Z","action":"READ_VAULT","target":"00000000-0000-4000-8000-000000000001","ref":"2","before":"<1>"} | 1:2
one in a text, the vault in a path | {"time":"2026-11-20T12:00:02Z","action":"READ_VAULT","path":"/vault/generic/offline/00000000-0000-4000-8000-000000000001/get-start","ref":"2","before":"<1>"} | 1:2
several values of a key            | {~1:1,"tags":[{"key":"outcome","value":"a"},{"key":"outcome","value":"b"}]}\n<2> | 1:1 2:2
an item with its history           | {~1:1,"history":[{"time":"2026-01-01T00:00:00Z","action":"CREATE_VAULT"}]}\n<2> | 1:1 2:2
values by keys                     | {"time":"2026-11-20T12:00:01Z","attributes":[{"key":"action","value":{"stringValue":"READ_VAULT"}},{"key":"vault","value":"00000000-0000-4000-8000-000000000001"},{"key":"ref","value":"1"}]} | 1:1
an item in a text, its action beside it | {"time":"2026-11-20T12:00:01Z","eventName":"READ_VAULT","message":"<1>"} | 1:1
lists of values by column          | <1>\n{"time":{"0":"2026-11-20T12:00:02Z","1":"2026-11-20T12:00:03Z"},"action":{"0":"READ_VAULT","1":"READ_VAULT"}} | 1:1; 2: lists of values by column, not items
a comma missing, or one too many   | [<1> <2>,,<3>,]                          | 1:1 2:2 3:3
one that is broken                 | [<1>,{"n" "2"},<3>]                      | 1:1 3:3; 2: not JSON
one without a brace                | [<1>,{"n":"2",<3>,<4>]                   | 1:1; 2: not JSON; 3: cut off here: reading stopped
one without a quote                | [<1>,{"n":"2},<3>]                       | 1:1; 2: cut off here: reading stopped
one with a quote too many          | [<1>,{"n":"2""},<3>,<4>]                 | 1:1; 2: cut off here: reading stopped
other elements                     | [<1>,7,"x",null,true,<2>]                | 1:1 6:2; 2: not an object; 3: not an object; 4: not an object; 5: not an object
no items                           | <1>\n{~2:2,"time":"soon"}\n{"time":"2026-11-20T12:00:01Z"}\n{} | 1:1; 2: invalid time: "soon"; 3: no action; 4: no time
`),
)("items are found among JSON: %s", async (_what, content = "", expected) => {
  expect(await foundIn(written(content))).toBe(expected);
});

test.each(
  rows(String.raw`
CSV                       | HEAD\n(1),x\n(2),y\n                          | 2:x 3:y
CRLF                      | HEAD\r\n(1),x\r\n(2),y                        | 2:x 3:y
CR alone                  | HEAD\r(1),x\r(2),y                            | 2:x 3:y
CR alone, and others      | HEAD\r(1),"a\nb"\r(2),y\r\n                       | 2:a\nb 3:y
Excel's first line        | sep=,\nHEAD\n(1),x\n                          | 3:x
titles                    | Audit report\nOf: 2026\n\nHEAD\n(1),x\n       | 5:x
titles as wide            | Report,,,\nHEAD\n(1),x\n                      | 3:x
quotes                    | HEAD\n(1),"say ""x"""\n(2),"a\nb"\n(3),",c"\n | 2:say "x" 3:a\nb 5:,c
quotes in the middle      | HEAD\n(1),5" disk\n(2),"y"z\n(3),1 "so" 2\n   | 2:5" disk 4:1 "so" 2; 3: a quote is not closed in its cell
blanks after the commas   | "time", "action", "vault", "ref"\n(1), "a, b"\n(2),  c \n                 | 2:a, b 3:c
defused cells             | HEAD\n(1),'=1\n(2),'+49\n(3),'x\n(4),it's\n   | 2:=1 3:+49 4:'x 5:it's
a rule below the header   | HEAD\n-----------------------------+-----------------------------+-----------------------------+--------\n(1),x\n | 3:x
one missing in the middle | HEAD,ip,y\n(1),x,10.0.0.1,y\n(2),10.0.0.1,y\n(3),z,10.0.0.1\n | 2:x 4:z; 3: 5 cells where the header has 6
a name for an address     | HEAD,ip,y\n(1),x,10.0.0.1,y\n(2),y,localhost\n(3),z,-\n | 2:x 3:y 4:z
a service that failed     | HEAD,outcome,id\n(1),x,OK,1\n(2),y,504\n(3),z,OK,3\n | 2:x 3:y 4:z
and an outcome of another | HEAD,outcome,id\n(1),x,OK,1\n(2),OK,2\n(3),z,OK\n | 2:x 4:z; 3: 5 cells where the header has 6
no cells at the end       | HEAD\n(1)\n(2),x,,\n                          | 2:- 3:x
the header again          | HEAD\n(1),x\nHEAD\n(2),y\n                    | 2:x 4:y
and a column without a name | ,HEAD\n0,(1),x\n,HEAD\n1,(2),y\n              | 2:x 4:y
in another order, and back | HEAD\n(1),x\nref,time,action,vault\ny,(2)\nHEAD\n(3),z\n | 2:x 4:y 6:z
with more columns, then fewer | HEAD\n(1),x\nref,x,time,action,vault\ny,1,(2)\ntime,action,vault\n(3)\n | 2:x 4:y 6:-
wider, with other lines    | HEAD\n(1),x\nref,time,action,vault,,\ny,(2),,\n\n(2 rows)\nz,(3)\n | 2:x 4:y 7:z
in another order, cut short | HEAD\n(1),x\naction,vault,time,ref\nREAD_VAULT,00000000-0000-4000-8000-000000000001,2026-11-20T12:00:02Z\n | 2:x 4:-
rows that do not fit      | HEAD\n(1),x\n(2),2,3\n1\n(2 rows)\n           | 2:x; 3: 5 cells where the header has 4
no header                 | (1),x\n(2),y\n                                | 1:- 2:-
an open quote             | HEAD\n(1),x\n"(2),y\n(3),z\n                  | 2:x 4:z; 3: a quote is not closed in its cell
an open quote, then quotes | HEAD\n(1),"x\n(2),"y"\n(3),"z"\n                 | 3:y 4:z; 2: a quote is not closed in its cell
quotes within a text      | HEAD\n(1),x\n(2),"a\nb "c" d"\n               | 2:x 3:a\nb "c" d
an open quote, closed     | HEAD\n(1),"x\n(2),y\n"2026",z\n               | 3:y; 2: a quote is not closed in its cell; 4: 2 cells where the header has 4
the last row cut off      | HEAD\n(1),x\n2026,5                           | 2:x; 3: 2 cells where the header has 4
`),
)("items are found in rows: %s", async (_what, content = "", expected = "") => {
  for (const between of [",", ";", "\t"]) {
    const [text, right] = [content, expected].map((each) => written(each).replaceAll(",", between));
    expect(await foundIn(text ?? "")).toBe(right);
  }
});

const value = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom("back\\slash", "ends with \\", "x\u2028y", "{}[],:", 'x","action":"READ_VAULT'),
  fc.constantFrom("", "'=1", " x ", 'a "quoted" one', "vault is locked", "FAILURE", "READ_VAULT"),
  fc.constantFrom<unknown>(null, true, 12, -1.5e3, 403, [1, { action: "no" }], { a: { b: [] } }),
);
const mostly = (...usual: unknown[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...usual) }, value);
const isoOf = (n: number): string => moment(60 + n).slice(0, 19);
const times: ((n: number) => unknown)[] = [
  (n) => `${isoOf(n)}Z`,
  (n) => `${isoOf(n + 3600)}.5+01:00`,
  (n) => isoOf(n).replace("T", " "),
  (n) => Date.parse(moment(60 + n)),
  (n) => `${isoOf(n)}${[".123Z", ".1234567Z", ".Z", ",5", "Z[Etc/UTC]"][n % 5]}`,
  (n) => ["soon", "2026-11-31T12:01:00Z", "2026-11-20T24:01:00Z", ""][n % 4],
];
const vaults = [
  id,
  vaultUuid(2).toUpperCase(),
  `{${vaultUuid(3)}}`,
  `/x/${vaultUuid(4)}/get-start`,
];
const record = fc.record({
  id: fc.oneof(value, fc.uuid()),
  time: fc.constantFrom(...times),
  action: mostly("READ_VAULT", "DELETE_VAULT"),
  outcome: mostly("SUCCESS", "FAILURE"),
  vault: fc.constantFrom(...vaults, "none", null),
  reason: mostly("bad credentials"),
  endpoint: fc.constantFrom(`POST /vault/${vaultUuid(5)}/get-start`, null),
});
const cell = (one: unknown): string =>
  typeof one === "string" ? one : one === null ? "" : JSON.stringify(one);
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const csv = (all: readonly object[], unquoted = /(?!)/): string =>
  [Object.keys(all[0] ?? {}), ...all.map((row) => Object.values(row).map(cell))]
    .map((row) => row.map((one) => (unquoted.test(one) ? one : quoted(one))).join(","))
    .join("\n");
/** How records are written, with a line each. */
const containers: ((all: readonly object[]) => string)[] = [
  (all) => all.map((row) => JSON.stringify(row)).join("\n"),
  (all) => all.map((row) => `${JSON.stringify(row).replaceAll('":', '" : ')}\r\n`).join(""),
  (all) => `[${all.map((row) => JSON.stringify(row)).join(",\n")}]`,
  (all) => JSON.stringify(all, null, 2),
  (all) => csv(all),
  (all) => csv(all, /^[^",\r\n]*$/),
];
const damage = fc.tuple(fc.nat(6000), fc.constantFrom(...'"{}\\,:\t0x \r\né'.split("")));

test("a record among the first, which is parsed whole, and one after many, read from its bytes, are the same item", async () => {
  const roles = ["id", "time", "action", "outcome", "vault", "reason", "endpoint"];
  const map = parseMap(roles.map((role) => `${role}=${role}`).join(","));
  const first = ["READ_VAULT", "SUCCESS", vaultUuid(9), "d".repeat(1000), "e"];
  const told = async (content = "") => {
    const { result, reports } = await replayText(content, { map, timeline: true });
    const { skipped, verdicts, applicationItems, withoutVault } = result.summary;
    const others = reports.filter(({ uuid }) => uuid !== vaultUuid(9));
    return JSON.parse(
      JSON.stringify([others, skipped, verdicts, applicationItems, withoutVault]),
      (key, one: unknown) => (key === "line" ? undefined : one),
    ) as unknown;
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 20, maxLength: 80, size: "max" }),
      fc.array(damage, { maxLength: 4 }),
      fc.constantFrom(...containers),
      async (records, damages, write) => {
        const all = records.map((row, n) => ({ ...row, time: row.time(n) }));
        const [few, many] = [80, 1400].map((count) => {
          const before = Array.from({ length: count }, (_, n) => {
            const values = ["i", times[n % 4]?.(0), ...first];
            return Object.fromEntries(roles.map((role, at) => [role, values[at]]));
          });
          let text = write([...before, ...all]);
          const room = text.length - write(before).length - 10;
          for (const [at, by] of damages)
            if (at < room) text = text.slice(0, -1 - at) + by + text.slice(-1 - at);
          return text;
        });
        expect(await told(many)).toEqual(await told(few));
      },
    ),
    { seed: 7, numRuns: runs(150) },
  );
});

test.each(
  rows(String.raw`
nested, by dots        | "v":{"u":"x","m":{"k":1.50}} | v.m.k | 1.5
a number               | "v":-5e3                     | v     | -5000
all digits             | "v":1795183331001999999      | v     | 1795183331001999999
a list                 | "v":[1,{"x":[]}]             | v     | [1,{"x":[]}]
the last of two        | "v":"1","v":"2"              | v     | 2
escapes                | "v\u0062":"M\u00fcl \ud83d\udd11 \"\\\/" | vb | Mül 🔑 "\/
eight deep             | "a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}}} | a.a.a.a.a.a.a.a | {"a":1}
names of the prototype | "__proto__":{"x":"1"}        | __proto__.x | 1
Python                 | "v":True                     | v     | true
`),
)("a column has %s", async (_what, columns, name, value) => {
  const content = `{${inside("1")}:1,${columns}}\n`;
  expect(await foundIn(content, { map: parseMap(`ref=${name}`) })).toBe(`1:${value}`);
});

test("an object that is nested more than fifty deep is told, and not looked into", async () => {
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const content = written(`<1>\n{~2:"2","x":${deep(48)}}\n{~3:"3","x":${deep(3000)}}\n`);
  expect(await foundIn(content)).toBe("1:1 2:2; 3: nested too deeply");
});
