import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../src/audit/batch.ts";
import { findQuote } from "../../src/audit/bytes.ts";
import { Classifier } from "../../src/audit/classify-item.ts";
import { DayClock } from "../../src/audit/day-clock.ts";
import { FastLines, lookahead } from "../../src/audit/fast-lines.ts";
import { Interner } from "../../src/audit/interner.ts";
import { parseTime } from "../../src/audit/times.ts";
import { VaultTable } from "../../src/audit/vault-table.ts";
import { line } from "./support.ts";

const column = (name: string) => ({ name, by: "name" as const });
const columns = {
  id: column("id"),
  time: column("time"),
  action: column("action"),
  outcome: column("outcome"),
  vault: column("vaultUuid"),
  description: column("description"),
};

function open(text: string) {
  const bytes = Buffer.concat([Buffer.from(text), Buffer.alloc(lookahead)]);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), end: bytes.length - lookahead };
}

describe("lines of a known shape", () => {
  it("are read from their bytes, each to its end", () => {
    const fast = new FastLines(columns, new VaultTable(10), new Classifier(null));
    fast.learn(Buffer.from(line(0, "READ_VAULT", { description: "x" })));
    const lines = Array.from({ length: 40 }, (_, at) =>
      line(at, at % 2 === 0 ? "READ_VAULT" : "UPDATE_VAULT", { description: "y".repeat(at) }),
    );
    const { bytes, view, end } = open(`${lines.join("\n")}\n`);
    const batch = new Batch();
    let from = 0;
    for (const one of lines) {
      const next = fast.read(view, bytes, from, end, batch, from, 1);
      expect(next).toBe(from + one.length + 1);
      from = next;
    }
    expect(batch.size).toBe(40);
    expect(fast.read(view, bytes, from, end, batch, from, 1)).toBe(-1);
  });

  it("are not read where they are cut off, or have another shape", () => {
    const fast = new FastLines(columns, new VaultTable(10), new Classifier(null));
    const text = line(0, "READ_VAULT");
    fast.learn(Buffer.from(text));
    for (const other of [text.slice(0, -1), text, text.replace('"id"', '"ID"'), text.replace("{", "[{"), `${text} \n`]) {
      const { bytes, view, end } = open(other);
      expect(fast.read(view, bytes, 0, end, new Batch(), 0, 1)).toBe(-1);
    }
  });
});

describe("the parts", () => {
  it("a quotation mark is found where it is the first, and no control character before it", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(40), (given, start) => {
        const bytes = Uint8Array.from(given, (byte) => (byte % 7 === 0 ? 0x22 : byte % 31 === 0 ? 9 : Math.max(byte, 0x20)));
        const from = Math.min(start, bytes.length);
        // No string goes on behind a control character.
        const stop = bytes.findIndex((byte, at) => at >= from && (byte === 0x22 || byte < 0x20));
        const found = bytes[stop] === 0x22 ? stop : -1;
        const view = new DataView(bytes.buffer);
        expect(findQuote(view, bytes, from, bytes.length)).toBe(found < 0 ? bytes.length : found);
      }),
      { seed: 1 },
    );
  });

  it("texts are numbered, the same ones the same", () => {
    const short = fc.array(fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 }), { maxLength: 400 });
    fc.assert(
      fc.property(short, (texts) => {
        const interner = new Interner();
        const expected = new Map<string, number>();
        for (const text of texts) {
          const bytes = Buffer.from(`"${text}"`);
          if (!expected.has(text)) expected.set(text, expected.size);
          const number = interner.of(bytes, 1, bytes.length - 1);
          expect(number).toBe(expected.get(text));
          expect(interner.text(number)).toBe(text);
        }
      }),
      { seed: 2 },
    );
  });

  it("no more texts than there is room for", () => {
    const interner = new Interner();
    const numbers = Array.from({ length: 300 }, (_, index) => interner.of(Buffer.from(`text ${index}`), 0, `text ${index}`.length));
    expect(numbers).toEqual(Array.from({ length: 300 }, (_, index) => (index < 200 ? index : -1)));
    expect(interner.of(Buffer.from("x".repeat(20_000)), 0, 20_000)).toBe(-1);
  });

  it("times are what parseTime makes of them", () => {
    const clock = new DayClock();
    const iso = fc
      .date({ min: new Date("1971-01-01"), max: new Date("2090-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString());
    const near = fc.integer({ min: 0, max: 3 * 86_400_000 }).map((ms) => new Date(Date.UTC(2026, 10, 20) + ms).toISOString());
    const broken = fc
      .tuple(near, fc.nat(23), fc.constantFrom("x", "9", ":", " ", "-"))
      .map(([text, at, by]) => text.slice(0, at) + by + text.slice(at + 1));
    const number = fc.integer({ min: 1_000_000_000_000, max: 2_000_000_000_000 }).map(String);
    fc.assert(
      fc.property(fc.array(fc.oneof(iso, near, broken, number), { maxLength: 20 }), (texts) => {
        for (const text of texts) {
          const { bytes, view } = open(text);
          expect(clock.at(view, bytes, 0, text.length)).toBe(parseTime(text) ?? Number.NaN);
        }
      }),
      { numRuns: 300, seed: 3 },
    );
  });
});
