import { createGzip } from "node:zlib";
import { Readable } from "node:stream";
import { Entries } from "../../src/audit/fold/order.ts";
import { Entry, Skips } from "../../src/audit/read/item.ts";
import { VaultTable } from "../../src/audit/read/bytes.ts";
import { Classifier } from "../../src/audit/meaning/classifier.ts";
import { Input } from "../../src/audit/read/input.ts";
import { Source } from "../../src/audit/read/source.ts";

/**
 * Reads hostile content of so many megabytes, made while it is read, and prints what came of it. Run by bounded-reading.test.ts in a process
 * of its own.
 */
const [kind = "", megabytes = "1"] = process.argv.slice(2);
const uuid = (n: number): string => `9b1c2d3e-0000-4000-8000-${String(n).padStart(12, "0")}`;
const first =
  '{"time":"2026-11-20T14:02:11Z","action":"READ_VAULT","vault":"9b1c2d3e-0000-4000-8000-000000000000"}';
const item = (n: number): string =>
  `"2026-11-20T14:02:11Z","READ_VAULT","${uuid(n)}","${"d".repeat(120)}"`;

const kinds: Record<
  string,
  { head: string; unit: string | ((n: number) => string); tail: string }
> = {
  "a line": { head: `${first}\n{"a":"`, unit: "x", tail: `"}\n${first}\n` },
  "a line of gzip": { head: `${first}\n{"a":"`, unit: "x", tail: `"}\n${first}\n` },
  "a string": { head: `[${first},{"a":"`, unit: "x", tail: `"},${first}]` },
  "a key": { head: `[${first},{"`, unit: "x", tail: `":1},${first}]` },
  "a number": { head: `[${first},{"a":`, unit: "1", tail: `},${first}]` },
  "a list": { head: `[${first},{"a":[`, unit: '{"b":1},', tail: `1]},${first}]` },
  keys: { head: `[${first},{`, unit: '"b":1,', tail: `"c":1},${first}]` },
  "lists in lists": { head: `[${first},{"a":`, unit: "[", tail: "" },
  "a quoted cell that is opened": {
    head: `time,action,vault,note\n${item(1)}\n"2026`,
    unit: "1,x\n",
    tail: "",
  },
  rows: { head: "time,action,vault,note\n", unit: (n) => `${item(n)}\n`, tail: "" },
  "rows without quotes": {
    head: "time,action,vault,note\n",
    unit: (n) => `${item(n).replaceAll('"', "")}\n`,
    tail: "",
  },
  elements: {
    head: `[${first}`,
    unit: (n) =>
      `,{"time":"2026-11-20T14:02:11Z","action":"READ_VAULT","vault":"${uuid(n)}","note":"${"d".repeat(120)}"}`,
    tail: "]",
  },
};

function* content(): Generator<Buffer> {
  const { head, unit, tail } = kinds[kind] ?? { head: "", unit: "", tail: "" };
  yield Buffer.from(head);
  let n = 0;
  for (let megabyte = 0; megabyte < Number(megabytes); megabyte += 1) {
    if (typeof unit === "string")
      yield Buffer.from(unit.repeat(Math.ceil(1_000_000 / unit.length)));
    else yield Buffer.from(Array.from({ length: 4000 }, () => unit((n += 1))).join(""));
  }
  yield Buffer.from(tail);
}

const bytes = Readable.from(content());
const skips = new Skips();
const source = await Source.open(
  await new Input({
    name: kind,
    stream: kind.endsWith("gzip") ? bytes.pipe(createGzip()) : bytes,
  }).open(),
  { index: 0, vaults: new VaultTable(), classifier: new Classifier(), skips },
);
let count = 0;
// As the fold does: it keeps a text here and there.
const kept: (string | undefined)[] = [];
const entries = new Entries();
for (const _ of source.read(entries)) {
  for (let at = 0; at < entries.count; at++)
    if (count++ % 100 === 0) kept.push(source.itemOf(entries.get(at, new Entry())).description);
  entries.shift(entries.count);
}
source.input.close();

const told = skips.first.slice(0, 3).map(({ line, reason }) => `${line}: ${reason}`);
process.stdout.write(JSON.stringify({ count, skips: told, kept: kept.length }));
