import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../src/audit/read/batch.ts";
import { idHashOf, contentHashOf } from "../../src/audit/read/hash.ts";
import { Classifier } from "../../src/audit/read/columns/classify-item.ts";
import { FastLines } from "../../src/audit/read/scan/fast-lines.ts";
import { parseTime } from "../../src/audit/read/columns/times.ts";
import { VaultTable } from "../../src/audit/fold/vault-table.ts";
import { runs } from "../support/campaign.ts";
import { line, vaultUuid } from "./support.ts";

const column = (name: string) => ({ name, by: "name" as const });
const columns = {
  id: column("id"),
  time: column("time"),
  action: column("action"),
  outcome: column("outcome"),
  vault: column("vaultUuid"),
  description: column("description"),
};

/** Reads a text that is at an offset in the window, followed by what was there before. */
function read(fast: FastLines, text: string | Buffer, at = 0) {
  const batch = new Batch();
  const length = fast.scanner.text.fill('"').write(text.toString("latin1"), at, "latin1");
  const stop = fast.read(at, at + length, batch, 1000, 7);
  return { batch, taken: stop.at - at, ...stop };
}

const knowing = (...lines: string[]): FastLines => {
  const fast = new FastLines(columns, new VaultTable(10), new Classifier(null));
  for (const one of lines) fast.learn(Buffer.from(one));
  return fast;
};

describe("lines of a known shape", () => {
  it("are read from their bytes, each to its end", () => {
    const fast = knowing(line(0, "READ_VAULT", { description: "x" }));
    const lines = Array.from({ length: 40 }, (_, at) =>
      line(at, at % 2 === 0 ? "READ_VAULT" : "UPDATE_VAULT", { description: "y".repeat(at) }),
    );
    const text = `${lines.join("\n")}\n`;
    const { batch, taken } = read(fast, text);
    expect([taken, batch.size]).toEqual([text.length, 40]);
    const starts = lines.map(
      (_, index) => 1000 + lines.slice(0, index).join("\n").length + Math.min(index, 1),
    );
    expect([...batch.location.subarray(0, 40)]).toEqual(starts);
    expect([...batch.line.subarray(0, 40)]).toEqual(lines.map((_, index) => 7 + index));
  });

  it("are not read where they are cut off, or have another shape", () => {
    const text = line(0, "READ_VAULT");
    for (const other of [
      text.slice(0, -1),
      text,
      text.replace('"id"', '"ID"'),
      text.replace("{", "[{"),
      `${text} \n`,
    ]) {
      expect(read(knowing(text), other)).toMatchObject({ taken: 0, hasKnownShape: false });
    }
  });

  it("differ in each byte of what is always the same", () => {
    const text = `${line(0, "READ_VAULT", { outcome: true, "a name of more than sixteen bytes": "", description: "d" })}\n`;
    const fast = knowing(text);
    expect(read(fast, text).batch.size).toBe(1);
    const values = [
      "id-0-READ_VAULT",
      "2026-11-20T12:00:00.000Z",
      'READ_VAULT","outcome',
      "true",
      vaultUuid(1),
      'd"',
    ].map((value) => {
      const from = text.indexOf(value);
      return { from, to: from + value.replace(/".*/, "").length };
    });
    for (let at = 0; at < text.length; at++) {
      if (values.some(({ from, to }) => at >= from && at < to)) continue;
      const other = Buffer.from(text);
      other[at] = (other[at] as number) ^ 1;
      // In a value, even one that was empty, any other byte is valid.
      const isSame =
        isJson(other) &&
        JSON.stringify(Object.keys(JSON.parse(other.toString()) as object)) ===
          JSON.stringify(keysOf(text));
      expect([at, read(fast, other).batch.size]).toEqual([at, isSame ? 1 : 0]);
    }
  });

  it("are read at any offset", () => {
    const text = `${line(0, "READ_VAULT", { description: "a description" })}\n`;
    const fast = knowing(text);
    for (let at = 0; at < 40; at++)
      expect([at, read(fast, text, at).taken]).toEqual([at, text.length]);
  });

  it("are not read beyond what was read, whatever stands there", () => {
    const text = `${line(0, "READ_VAULT", { description: "d", n: 12 })}\n`;
    const fast = knowing(text);
    expect(read(fast, text).taken).toBe(text.length);
    for (let to = 0; to < text.length; to++)
      expect([to, fast.read(0, to, new Batch(), 0, 1).at]).toEqual([to, 0]);
  });

  it("of more shapes than are told apart are left to others", () => {
    const shapes = Array.from({ length: 60 }, (_, index) =>
      line(index, "READ_VAULT", { [`key${index}`]: "" }),
    );
    const fast = knowing(...shapes);
    expect(shapes.map((shape) => read(fast, `${shape}\n`).batch.size)).toEqual(
      shapes.map((_, index) => (index < 48 ? 1 : 0)),
    );
    const wide = line(0, "READ_VAULT", { ["k".repeat(40_000)]: "" });
    expect(read(knowing(wide, shapes[0] as string), `${shapes[0]}\n`).batch.size).toBe(1);
  });

  it("are those of one file at a time", () => {
    const vaults = new VaultTable(10);
    const text = `${line(0, "READ_VAULT")}\n`;
    const others = { ...columns, action: column("outcome"), outcome: column("action") };
    const one = new FastLines(columns, vaults, new Classifier(null));
    const other = new FastLines(others, vaults, new Classifier(null));
    const strict = new FastLines(columns, vaults, new Classifier(/SUCCESS/));
    one.learn(Buffer.from(text));
    const kind = read(one, text).batch.kind[0];
    for (const file of [other, strict]) {
      expect(read(file, text).taken).toBe(0);
      file.learn(Buffer.from(text));
      expect(read(file, text).batch.kind[0]).not.toBe(kind);
    }
    expect(read(one, text).batch.kind[0]).toBe(kind);
  });
});

const keysOf = (text: string): string[] => Object.keys(JSON.parse(text) as object);

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

describe("values", () => {
  it("a string ends at the first quotation mark, and is none with an escape or a control character before it", () => {
    const fast = knowing(line(0, "READ_VAULT", { description: "x" }));
    const bytes = fc.uint8Array({ maxLength: 50 });
    fc.assert(
      fc.property(bytes, (given) => {
        const text = Buffer.from(given).map((byte) =>
          byte % 23 === 0
            ? 0x22
            : byte % 31 === 0
              ? 9
              : byte % 29 === 0
                ? 0x5c
                : Math.max(byte, 0x20),
        );
        const whole = Buffer.concat([
          Buffer.from(line(0, "READ_VAULT", { description: "" }).slice(0, -2)),
          text,
          Buffer.from('"}\n'),
        ]);
        const isPlain = !text.some((byte) => byte === 0x22 || byte === 0x5c || byte < 0x20);
        expect(read(fast, whole).taken).toBe(isPlain ? whole.length : 0);
      }),
      { seed: 1, numRuns: runs(500) },
    );
  });

  it("of numbers, only those of JSON", () => {
    const fast = knowing(line(0, "READ_VAULT", { n: 1 }));
    const part = fc.constantFrom(
      "0",
      "1",
      "12",
      "-",
      ".",
      "e",
      "E",
      "+",
      "t",
      "true",
      "false",
      "9",
    );
    const texts = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(texts, (text) => {
        const whole = `${line(0, "READ_VAULT", { n: 1 }).slice(0, -2)}${text}}\n`;
        expect([text, read(fast, whole).taken > 0]).toEqual([text, isJson(Buffer.from(text))]);
      }),
      { seed: 2, numRuns: runs(1000) },
    );
  });

  it("texts of a column are told apart, and counted where they are unknown actions", () => {
    const short = fc.array(
      fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 }),
      { maxLength: 400 },
    );
    const long = short.map((texts) => texts.map((text) => `${"common".repeat(5)}${text}`));
    fc.assert(
      fc.property(fc.oneof(short, long), (actions) => {
        const classifier = new Classifier(null);
        const fast = new FastLines(columns, new VaultTable(10), classifier);
        fast.learn(Buffer.from(line(0, "READ_VAULT")));
        expect(
          read(fast, actions.map((action) => `${line(0, action)}\n`).join("")).batch.size,
        ).toBe(actions.length);
        const expected = new Map<string, number>();
        for (const action of actions) expected.set(action, (expected.get(action) ?? 0) + 1);
        expect(classifier.others).toEqual(expected);
      }),
      { seed: 3, numRuns: runs(50) },
    );
  });

  it("no more actions than there is room for, nor very long ones; descriptions however many", () => {
    const fast = knowing(line(0, "READ_VAULT"), line(0, "READ_VAULT", { description: "x" }));
    const actions = Array.from({ length: 300 }, (_, index) => `${line(0, `action ${index}`)}\n`);
    expect(read(fast, actions.join("")).batch.size).toBe(200);
    expect(read(fast, actions[7] as string).batch.size).toBe(1);
    expect(read(knowing(line(0, "A")), `${line(0, "x".repeat(20_000))}\n`).batch.size).toBe(0);
    const failures = Array.from({ length: 5000 }, (_, index) =>
      index % 2 === 0
        ? { description: `bad credentials, try ${index}` }
        : { description: `rate limit ${index}` },
    );
    const { batch } = read(
      fast,
      failures.map((said) => `${line(0, "action 7", { outcome: "FAILURE", ...said })}\n`).join(""),
    );
    const kinds = failures.map((_, index) => batch.kind[index % 2]);
    expect([...batch.kind.subarray(0, 5000)]).toEqual(kinds);
    expect(new Set(kinds).size).toBe(2);
  });

  it("nothing is remembered of a text that does not end as it should", () => {
    const fast = knowing(line(0, "READ_VAULT"));
    const cut = (index: number): string =>
      `${line(0, `action ${index}`).replace('","outcome', '\\t","outcome')}\n`;
    for (let index = 0; index < 300; index++) expect(read(fast, cut(index)).taken).toBe(0);
    expect(read(fast, `${line(0, "READ_VAULT")}\n`).batch.size).toBe(1);
  });

  it("times are what parseTime makes of them", () => {
    const fast = knowing(line(0, "READ_VAULT"), line(0, "READ_VAULT", { time: 1 }));
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
      "1790000000",
    );
    const edge = fc
      .constantFrom(
        "2100-02-29",
        "2000-02-29",
        "2024-02-29",
        "2023-02-29",
        "2026-13-01",
        "2026-00-10",
        "2026-01-00",
        "2026-04-31",
        "1969-12-31",
      )
      .map((day) => `${day}T23:59:59.999Z`);
    const number = fc.integer({ min: 1_000_000_000_000, max: 2_000_000_000_000 });
    fc.assert(
      fc.property(
        fc.oneof(iso, near, anyDay, edge, broken, other, number, number.map(String)),
        (time) => {
          const { batch } = read(fast, `${line(0, "READ_VAULT", { time })}\n`);
          expect([time, batch.size === 0 ? null : batch.time[0]]).toEqual([
            time,
            parseTime(String(time)),
          ]);
        },
      ),
      { numRuns: runs(3000), seed: 4 },
    );
  });

  it("hashes of ids, and of lines without one, are those of the program", () => {
    const fast = knowing(line(0, "READ_VAULT"), line(0, "READ_VAULT", { id: "" }));
    fc.assert(
      fc.property(fc.string({ maxLength: 50 }), (text) => {
        const id = text.replaceAll(/["\\]/g, "");
        const bytes = Buffer.from(`${line(0, "READ_VAULT", { id })}\n`, "latin1");
        const expected =
          id === ""
            ? contentHashOf(bytes.subarray(0, -1))
            : idHashOf(bytes.subarray(7, 7 + id.length));
        expect(read(fast, bytes).batch.idHash[0]).toBe(expected);
      }),
      { seed: 5 },
    );
  });

  it("a vault that is not named may be in the endpoint, which is not read", () => {
    const texts = [{}, { vaultUuid: null }].map(
      (more) => `${line(0, "READ_VAULT", { endpoint: "/", ...more })}\n`,
    ) as [string, string];
    for (const [named, taken] of [
      [columns, true],
      [{ ...columns, endpoint: column("endpoint") }, false],
    ] as const) {
      const fast = new FastLines(named, new VaultTable(10), new Classifier(null));
      for (const text of texts) fast.learn(Buffer.from(text));
      expect(read(fast, texts[0]).batch.vault[0]).toBe(0);
      expect(read(fast, texts[1]).batch.size === 1).toBe(taken);
    }
  });

  it("vaults are those of the table", () => {
    const vaults = new VaultTable(3000);
    const fast = new FastLines(columns, vaults, new Classifier(null));
    fast.learn(Buffer.from(line(0, "READ_VAULT")));
    const { batch, taken } = read(
      fast,
      [5, 7, 5]
        .map((vault) => `${line(0, "READ_VAULT", { vaultUuid: vaultUuid(vault) })}\n`)
        .join(""),
    );
    expect([taken > 0, ...batch.vault.subarray(0, 3)]).toEqual([true, 0, 1, 0]);
    expect(vaults.of(vaultUuid(7))).toBe(1);
    for (const vaultUuid of ["\u0010".repeat(36), "g".repeat(36), "0".repeat(35), "0".repeat(37)])
      expect(
        read(
          fast,
          `{"id":"i","time":"2026-11-20T12:00:00.000Z","action":"A","outcome":"O","vaultUuid":"${vaultUuid}"}\n`,
        ).taken,
      ).toBe(0);
    expect(vaults.size).toBe(2);
  });
});
