import { describe, expect, test } from "vitest";
import type { Replay } from "../../src/audit/replay.ts";
import {
  fieldPieces,
  jsonDocument,
  ndjsonDocument,
} from "../../src/commands/audit-replay/document.ts";
import { portions } from "../../src/commands/audit-replay/output.ts";
import { asVaultError } from "../../src/errors.ts";
import { main } from "../../src/main.ts";
import { jsonText } from "../../src/terminal/redactor.ts";
import { fakeHost } from "../support/fake-host.ts";
import type { ReplaySummary, VaultReport } from "../../src/documents/audit.ts";

const hostile = '\u001b[31m\u009b2J "quoted" \\ \u202e\u2028 ünï ✓ \ud800';

const vault = (uuid: string): VaultReport => ({
  uuid,
  label: null,
  verdict: "locked",
  certainty: "certain",
  reason: hostile,
  state: "locked",
  unackedStarts: 0,
  failedAttempts: 3,
  items: 3,
  firstAt: "2026-11-20T14:00:00.000Z",
  lastAt: "2026-11-20T14:02:00.000Z",
  who: {
    addresses: [{ value: "10.0.0.1", count: 3 }],
    externalRefs: [],
    endpoints: [],
    applications: [],
  },
  counting: [],
  contradictions: [],
  moreContradictions: 0,
  explanation: [],
  advice: { support: "unlock", developer: "mend", next: [] },
});

const summary: ReplaySummary = {
  warnings: [],
  selected: { where: ["ref=cron"], vaults: 2, of: 3 },
  found: { text: "2 vaults locked by auto-lock.", by: [{ vaults: 2, rule: "auto-lock" }] },
  items: 6,
  asOf: "2026-11-20T14:02:00.000Z",
  inputs: [
    {
      name: "a.ndjson",
      format: "ndjson",
      gzip: false,
      order: "oldest-first",
      items: 6,
      columns: {},
    },
  ],
  rules: {
    limits: { unackedStarts: 5, failedAttempts: 3 },
    tokenLifetimeMs: 1,
    autoLockAfterMs: 2,
    release: "1.2.28",
    failure: null,
  },
  columns: { time: { name: hostile, by: "name" } },
  vaultCount: 2,
  verdicts: { locked: 2, "at-risk": 0, "open-exchange": 0, unknown: 0, deleted: 0, ok: 0 },
  skippedLines: 1,
  skipped: [{ input: "a.ndjson", line: 7, reason: "no time" }],
  otherActions: [],
  unknownItems: 0,
  applicationItems: 0,
  withoutVault: 0,
  duplicates: 0,
  reordered: 0,
  late: 0,
  notes: [],
};

const both = [vault("one"), vault("two")];
const plain: Replay = { summary, vaults: () => both, close: async () => Promise.resolve() };
const whole: Replay = {
  ...plain,
  whatIf: {
    change: "lock-after-failed=5",
    vaults: [{ uuid: "one", before: vault("one"), after: vault("one") }],
    unchanged: 1,
    moreChanged: 0,
  },
};

/** What the contract says of it. */
const expected = ({ summary: facts, whatIf }: Replay): object => ({
  ...facts,
  ...(whatIf && { whatIf }),
});

const join = (pieces: Iterable<string>): string => [...pieces].join("");

describe("the document of --json", () => {
  test.each([
    ["plain", plain, both],
    ["without vaults", plain, []],
    ["with what differs", whole, both],
  ])("%s: all that was found, in the layout of every other document", (_what, replay, vaults) => {
    const text = join(jsonDocument(replay, vaults));
    const document = JSON.parse(text) as Record<string, unknown>;
    expect(document).toEqual({ ...expected(replay), vaults });
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(
      text.replaceAll(
        /\\u(?:00[89][0-9a-f]|20[0-9a-f]{2})/g,
        (escape) => JSON.parse(`"${escape}"`) as string,
      ),
    ).toBe(`${JSON.stringify(document, null, 2)}\n`);
    const order = Object.keys(document);
    expect(order[0]).toBe("found");
    expect(
      ["items", "rules", "columns", "vaults", "skipped"].map((key) => order.indexOf(key)),
    ).toEqual(
      ["items", "rules", "columns", "vaults", "skipped"]
        .map((key) => order.indexOf(key))
        .toSorted((a, b) => a - b),
    );
  });

  test("nothing in it moves the cursor of a terminal or turns the direction of text", () => {
    for (const text of [
      join(jsonDocument(whole, both)),
      join(ndjsonDocument(whole, both)),
      join(fieldPieces(whole, both, "vaults")),
    ]) {
      expect(text).not.toMatch(
        // oxlint-disable-next-line no-control-regex -- controls are what it is about
        /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/,
      );
      expect(text).toContain(String.raw`\u009b2J`);
    }
  });

  test("it comes vault by vault, each asked for only when the one before was taken", () => {
    let asked = 0;
    function* many(): Generator<VaultReport> {
      for (;;) yield vault(String((asked += 1)));
    }
    const pieces = jsonDocument(plain, many());
    for (let piece = 0; piece < 400; piece += 1) pieces.next();
    expect(asked).toBeGreaterThan(100);
    expect(asked).toBeLessThan(400);
  });
});

test("-o ndjson: a line per vault, and a last one with the rest", () => {
  const lines = join(ndjsonDocument(whole, both)).split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    ...both,
    { event: "summary", ...expected(whole) },
  ]);
});

describe("--field", () => {
  test.each<[string, unknown]>([
    ["items", 6],
    ["rules.release", "1.2.28"],
    ["verdicts.locked", 2],
    ["vaults", both],
    ["vaults.1", both[1]],
    ["vaults.1.uuid", "two"],
    ["vaults.0.who.addresses.0.value", "10.0.0.1"],
    ["skipped.0.line", 7],
    ["whatIf.vaults.0.after.verdict", "locked"],
  ])("%s", (path, value) => {
    expect(join(fieldPieces(whole, both, path))).toBe(
      typeof value === "string" ? value : jsonText(value),
    );
  });

  test("text is the exact bytes of the value", () => {
    expect(join(fieldPieces(whole, both, "vaults.0.reason"))).toBe(hostile);
  });

  test.each([
    ["vaults.2", /--field vaults\.2: no such field: 2/],
    ["vaults.locked", /--field vaults\.locked: vaults is a list; an index must follow/],
    ["vaults.0.nothing", /no such field: nothing/],
    ["whatIf", /no such field: whatIf/],
  ])("%s is not there, and not among those that are named", (path, message) => {
    let raised: unknown;
    try {
      join(fieldPieces(plain, both, path));
    } catch (error) {
      raised = error;
    }
    expect(asVaultError(raised)).toMatchObject({
      code: "usage",
      message: expect.stringMatching(message) as string,
      facts: { hint: expect.not.stringContaining(path) as string },
    });
  });
});

test("what is written at once is large, and never all", () => {
  const piece = "x".repeat(1000);
  const sizes = [...portions(Array.from({ length: 5000 }, () => piece))].map((text) => text.length);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(5_000_000);
  expect(Math.max(...sizes)).toBeLessThan(70_000);
  expect(sizes).toHaveLength(76);
  expect([...portions([])]).toEqual([]);
});

describe("its help, as it was when it was looked at", () => {
  test.each([80, 120])("on %i columns", async (columns) => {
    const host = fakeHost({ columns });
    expect(await main(["audit-replay", "--help"], host)).toBe(0);
    expect(host.out).toMatchSnapshot();
  });
});
