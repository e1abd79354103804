import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentHashOf, idHashOf, viewOf } from "../../src/audit/read/bytes.ts";
import { Classifier } from "../../src/audit/meaning/classifier.ts";
import { itemOf, SpareEntries } from "../../src/audit/read/entries.ts";
import { parseTime, TimeReader } from "../../src/audit/columns/times.ts";
import { Lines } from "../../src/audit/read/records/lines.ts";
import { LineReader } from "../../src/audit/read/records/ndjson.ts";
import { VaultTable } from "../../src/audit/fold/vault-table.ts";
import { runs } from "../support/campaign.ts";
import { Dice } from "../support/dice.ts";
import { line, vaultUuid } from "./support.ts";
import type { Columns } from "../../src/documents/audit.ts";

const column = (name: string) => ({ name, by: "name" as const });
const names = {
  id: "id",
  time: "time",
  action: "action",
  outcome: "outcome",
  vault: "vaultUuid",
  description: "description",
};
const columns: Columns = Object.fromEntries(
  Object.entries(names).map(([role, name]) => [role, column(name)]),
);

type Row = readonly [line: number, offset: number, time: number, kind: string, ...unknown[]];

const othersOf = ({ unknowns }: Classifier): ReadonlyMap<string, number> =>
  new Map(unknowns.otherActions((action) => action).map(({ value, count }) => [value, count]));

interface Told {
  rows: Row[];
  skipped: string[];
  others: ReadonlyMap<string, number>;
  former: number;
}

/** Reads lines in chunks of `size` bytes. */
async function read(
  text: string | Buffer,
  { size = 65_536, by = columns, classifier = new Classifier() } = {},
): Promise<Told> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size)
      yield await Promise.resolve(Buffer.from(bytes.subarray(at, at + size)));
  }
  const vaults = new VaultTable(100_000);
  const skipped: string[] = [];
  const skip = (number: number, reason: string): void => void skipped.push(`${number}: ${reason}`);
  const lines = new Lines(chunks(), skip);
  const options = { index: 0, map: {}, vaults, classifier, spare: new SpareEntries() };
  const reader = new LineReader(lines, by, new TimeReader(), options, skip, true);
  const rows: Row[] = [];
  for await (const block of lines.blocks()) {
    for (const { line, content, time, event, vault, idHash } of reader.read(block))
      rows.push([
        line,
        Number(content),
        time,
        event,
        vault < 0 ? null : vaults.uuid(vault),
        idHash,
      ]);
  }
  return { rows, skipped, others: othersOf(classifier), former: classifier.former };
}

/** Reads the same lines with JSON.parse, without objects and lists. */
function parsed(bytes: Buffer): Told {
  const classifier = new Classifier();
  const rows: Row[] = [];
  const skipped: string[] = [];
  let from = 0;
  for (let number = 1; from < bytes.length; number++) {
    const to = bytes.indexOf(10, from) + 1 || bytes.length + 1;
    const isReturn = bytes[to - 2] === 13;
    const own = bytes.subarray(from, to - (isReturn ? 2 : 1));
    const item = parsedItem(own.toString(), number);
    if (item === undefined) skipped.push(String(number));
    else if (item !== null) {
      const meaning = classifier.meaningOf(item.action, item.outcome);
      const event = classifier.take(meaning, item.description);
      const hashed = viewOf(item.id === null ? Buffer.from(own) : Buffer.from(item.id));
      const hash = (item.id === null ? contentHashOf : idHashOf)(hashed, 0, hashed.bytes.length);
      const vault = /^[0-9a-f-]{36}$/.test(item.vault ?? "") ? item.vault : null;
      rows.push([number, from, item.time, event, vault, hash]);
    }
    from = to;
  }
  return { rows, skipped, others: othersOf(classifier), former: classifier.former };
}

function parsedItem(text: string, number: number) {
  if (text.trim() === "") return null;
  try {
    const fields = JSON.parse(text) as Record<string, unknown>;
    const values = Object.values(names).flatMap((name) => {
      const value = fields[name];
      if (value === undefined || value === null || value === "") return [];
      if (typeof value === "object" && !Array.isArray(value)) return [];
      return [[name, typeof value === "string" ? value : JSON.stringify(value)] as const];
    });
    const item = itemOf(new Map(values), columns, new TimeReader(), 0, number);
    return "reason" in item ? undefined : item;
  } catch {
    return undefined;
  }
}

const numbersOf = ({ skipped }: Told): string[] => skipped.map((each) => each.replace(/:.*/, ""));

async function expectSame(text: string | Buffer, size?: number): Promise<Told> {
  const told = await read(text, size === undefined ? {} : { size });
  const expected = parsed(Buffer.from(text));
  expect({ ...told, skipped: numbersOf(told) }).toEqual(expected);
  return told;
}

/** Returns lines with different lengths, orders, values and vaults, some of which have a wrong byte. */
function linesOf(dice: Dice, count: number): string[] {
  const below = (most: number): number => dice.between(0, most - 1);
  return Array.from({ length: count }, (_, index) => {
    const time = new Date(Date.UTC(2026, 1, 1) + index * 600_007).toISOString();
    const said: Record<string, unknown> = {
      id: dice.pick(["", `id ${index}`, vaultUuid(index), index]),
      time: dice.pick([time, time, time, time.replace("Z", "+02:00"), Date.parse(time)]),
      action: dice.pick([
        "READ_VAULT",
        "UPDATE_VAULT",
        "ACKNOWLEDGE_READ_VAULT",
        "START_USE_VAULT",
        "x".repeat(below(40) + 1),
      ]),
      outcome: dice.pick(["SUCCESS", "FAILURE", "", true, false, 200, -1, 1.5e3, null]),
      vaultUuid: dice.pick([
        vaultUuid(below(5000)),
        vaultUuid(below(9)).replace("00-4", "AB-4"),
        `{${vaultUuid(7)}}`,
        "none",
        null,
      ]),
      description: dice.pick([
        "bad credentials",
        "é".repeat(below(20)),
        "d".repeat(below(300)),
        'say "so"',
        null,
      ]),
      extra: dice.pick([
        1,
        -2.5,
        true,
        null,
        "",
        "e".repeat(below(33)),
        [1, { action: "no" }],
        { vaultUuid: "no" },
      ]),
    };
    const entries = Object.entries(said);
    const turned = below(3) === 0 ? entries.toReversed() : entries;
    const text = JSON.stringify(Object.fromEntries(turned), null, below(9) === 0 ? " " : "");
    const flat = text.replaceAll("\n", "");
    if (below(20) > 0) return flat;
    const at = below(flat.length);
    if (flat.charCodeAt(at) > 127) return flat;
    const wrong = dice.pick(["", '"', "\\", ",", "}", "\t", "0", "x", " ", "\r"]);
    return flat.slice(0, at) + wrong + flat.slice(at + below(2));
  });
}

describe("lines are read to what JSON.parse makes of them", () => {
  it.each([1, 2, 3])("whatever they are like (%i)", async (seed) => {
    const lines = linesOf(new Dice(`lines ${seed}`), 5000);
    const told = await expectSame(`${lines.join(seed === 2 ? "\r\n" : "\n")}\n`, 50_021);
    expect([told.rows.length > 4500, told.skipped.length > 50]).toEqual([true, true]);
  });

  it("wherever a chunk ends", async () => {
    const lines = linesOf(new Dice("chunks"), 12);
    const whole = await read(`${lines.join("\n")}\n`);
    for (let size = 1; size < 400; size += 7)
      expect([size, await read(`${lines.join("\n")}\n`, { size })]).toEqual([size, whole]);
  });

  it("with another byte anywhere", async () => {
    const text = line(0, "READ_VAULT", {
      outcome: true,
      "a name of more than sixteen bytes": "",
      description: "d",
      n: 12,
    });
    const others: Buffer[] = [];
    for (let at = 0; at < text.length; at++) {
      for (const bit of [1, 2, 16, 64]) {
        const other = Buffer.from(`${text}\n`);
        other[at] = (other[at] as number) ^ bit;
        if (!other.subarray(0, -1).includes(10)) others.push(other, Buffer.from(`${text}\n`));
      }
    }
    await expectSame(Buffer.concat(others));
  });

  it("strings that end at the first quotation mark, and numbers as JSON has them", async () => {
    const byte = fc.constantFrom(...'ab"\\\t\u0000é{}:, 0019-+.eE'.split(""), "true", "null");
    const texts = fc.array(byte, { maxLength: 12 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 20 }), async (values) => {
        const start = line(0, "READ_VAULT", { id: "i" }).slice(0, -1);
        const lines = values.flatMap((value) => [
          `${start},"n":"${value}"}`,
          `${start},"n":${value}}`,
          `{"id":${value},${start.slice('{"id":"i",'.length)}}`,
          `${start},"description":"${value}" }`,
          `{"outcome":${value},${start.slice(1).replace('"outcome":"SUCCESS",', "")}}`,
        ]);
        await expectSame(`${lines.join("\n")}\n`);
      }),
      { seed: 1, numRuns: runs(200) },
    );
  });

  it("with a column twice, of which the last counts", async () => {
    const start = line(0, "READ_VAULT", { outcome: "FAILURE" }).slice(0, -1);
    const twice = [`"outcome":null`, `"outcome":["x"]`, `"outcome":"SUCCESS"`, `"id":"","id":"x"`];
    const lines = twice.flatMap((more) => [`${start},${more}}`, line(1, "CREATE_VAULT")]);
    await expectSame(`${lines.join("\n")}\n`);
  });
});

describe("values", () => {
  it("actions are told apart and counted if they are unknown, however many and long", async () => {
    const short = fc.array(
      fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 }),
      { maxLength: 400 },
    );
    const long = short.map((texts) => texts.map((text) => `${"common".repeat(5)}${text}`));
    await fc.assert(
      fc.asyncProperty(fc.oneof(short, long), async (actions) => {
        const { others } = await read(actions.map((action) => `${line(0, action)}\n`).join(""));
        const expected = new Map<string, number>();
        for (const action of actions) expected.set(action, (expected.get(action) ?? 0) + 1);
        expect(others).toEqual(expected);
      }),
      { seed: 3, numRuns: runs(50) },
    );
    const many = Array.from({ length: 5000 }, (_, index) => line(0, `action ${index % 1500}`));
    const failures = many.map((_, index) =>
      line(index, "READ_VAULT", { outcome: "FAILURE", description: `rate limit ${index}` }),
    );
    await expectSame([...many, line(0, "x".repeat(5000)), ...failures, ""].join("\n"));
  });

  it("times are what parseTime makes of them", async () => {
    const iso = fc
      .date({ min: new Date("1959-01-01"), max: new Date("2190-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString());
    const near = fc
      .integer({ min: 0, max: 3 * 86_400_000 })
      .map((ms) => new Date(Date.UTC(2026, 10, 20) + ms).toISOString());
    const anyDay = fc
      .tuple(fc.integer({ min: 1968, max: 2101 }), fc.nat(13), fc.nat(32))
      .map(
        (parts) => `${parts.map((part) => String(part).padStart(2, "0")).join("-")}T12:00:00.000Z`,
      );
    const broken = fc
      .tuple(near, fc.nat(23), fc.constantFrom("x", "9", ":", " ", "-", "/", "+", "."))
      .map(([text, at, by]) => text.slice(0, at) + by + text.slice(at + 1));
    const other = fc.constantFrom(
      "2026-11-20 12:00",
      "2026-11-20T12:00:00+01:00",
      "2026-11-20T12:00:00.123456Z",
      "2026-11-20T12:00:00,123Z",
      "2100-02-29T23:59:59.999Z",
      "2024-02-29T23:59:59.999Z",
      "1790000000",
    );
    const number = fc.integer({ min: 1_000_000_000_000, max: 2_000_000_000_000 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(iso, near, near, anyDay, broken, other, number, number.map(String))),
        async (times) => {
          const { rows } = await read(
            times.map((time) => `${line(0, "READ_VAULT", { time })}\n`).join(""),
          );
          const expected = times.map((time) => parseTime(String(time)));
          expect(rows.map((row) => row[2])).toEqual(expected.filter((time) => time !== null));
        },
      ),
      { numRuns: runs(300), seed: 4 },
    );
  });

  it("a vault that is not named may be in the endpoint", async () => {
    const endpoint = `POST /vault/${vaultUuid(3)}/get-start`;
    const texts = [{}, { vaultUuid: null, endpoint }, { vaultUuid: null }].map(
      (more) => `${line(0, "READ_VAULT", more)}\n`,
    );
    const { rows } = await read(texts.join(""));
    expect(rows.map((row) => row[4])).toEqual([vaultUuid(1), null, null]);
    const named = await read(texts.join(""), { by: { ...columns, endpoint: column("endpoint") } });
    expect(named.rows.map((row) => row[4])).toEqual([vaultUuid(1), vaultUuid(3), null]);
  });

  it("a column may have several roles", async () => {
    const text = `${line(0, "READ_VAULT failed: bad credentials", { outcome: undefined })}\n`;
    const both = { ...columns, description: column("action") };
    expect((await read(text, { by: both })).rows[0]?.[3]).toBe("failed-read");
    const said = `${line(0, "READ_VAULT", { outcome: "FAILURE: rate limit" })}\n`;
    const twice = await read(said, { by: { ...columns, description: column("outcome") } });
    expect(twice.rows[0]?.[3]).toBe("not-performed");
    expect((await read(said)).rows[0]?.[3]).toBe("not-performed");
  });
});
