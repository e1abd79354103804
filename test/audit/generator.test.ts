import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { tellFacts, writeLog } from "../support/audit-log/audit-log.ts";
import type { LogOptions } from "../support/audit-log/audit-log.ts";
import type { DialectName } from "../support/audit-log/dialects.ts";
import { dialects } from "../support/audit-log/dialects.ts";
import { some } from "../support/campaign.ts";
import type { Truth, TruthItem, VaultTruth } from "../support/audit-log/facts.ts";
import { description, endpoint } from "../support/audit-log/facts.ts";
import { formNames } from "../support/audit-log/files.ts";
import { tempDir } from "../support/cleanup.ts";

const names = Object.keys(dialects) as DialectName[];
const small: LogOptions = { seed: "one", items: 6000, vaults: 300, problems: 0.5 };

async function write(options: LogOptions, files = 1): Promise<{ truth: Truth; texts: string[] }> {
  const folder = tempDir("log");
  const paths = Array.from({ length: files }, (_, part) => join(folder, `log-${part}`));
  const truth = await writeLog(files === 1 ? (paths[0] ?? "") : paths, options);
  const read = (path: string): string =>
    (options.gzip === true ? gunzipSync(readFileSync(path)) : readFileSync(path)).toString("utf8");
  return { truth, texts: paths.map(read) };
}

const all = (truth: Truth): VaultTruth[] => [...truth.vaults.values()];

describe("a file", () => {
  test("has the items asked for, in the order of time, and marks where they are", async () => {
    const { truth, texts } = await write(small);
    const items = (texts[0] ?? "")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; time: string; action: string });
    expect(items).toHaveLength(6000);
    expect(truth).toMatchObject({
      items: 6000,
      written: 6000,
      asOf: Date.parse(items.at(-1)?.time ?? ""),
    });
    expect(truth.vaults.size).toBe(300);
    const times = items.map(({ time }) => Date.parse(time));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(truth.applicationItems).toBe(
      items.filter(({ action }) => action === "API_KEY_CHECK").length,
    );
    expect(truth.applicationItems).toBeGreaterThan(10);
    expect(all(truth).reduce((sum, { items }) => sum + items, 0) + truth.applicationItems).toBe(
      6000,
    );
    const marks = marksOf(truth);
    expect(marks.length).toBeGreaterThan(100);
    for (const { id, line, index } of marks)
      expect([items[line - 1]?.id, index]).toEqual([id, line - 1]);
    expect((truth.asOf - truth.firstAt) / 86_400_000).toBeGreaterThan(28);
    expect((truth.asOf - truth.firstAt) / 86_400_000).toBeLessThan(33);
    const activity = all(truth)
      .map(({ items }) => items)
      .toSorted((a, b) => b - a);
    expect(activity[0]).toBeGreaterThan(3 * (activity[150] ?? 0));
  });

  test("has the same bytes for the same seed, and others for another", async () => {
    const digest = async (options: LogOptions): Promise<string> =>
      createHash("sha256")
        .update((await write(options)).texts.join(""))
        .digest("hex");
    const options: LogOptions = {
      ...small,
      dialect: "local",
      disorder: true,
      duplicates: 0.05,
      garbage: 9,
    };
    expect(await digest(options)).toBe(await digest(options));
    expect(await digest(options)).not.toBe(await digest({ ...options, seed: "two" }));
  });

  test.each(some(names.flatMap((dialect) => formNames.map((form) => ({ dialect, form })))))(
    "$dialect as $form parses",
    async ({ dialect, form }) => {
      const { truth, texts } = await write({ ...small, items: 1200, vaults: 60, dialect, form });
      const plain = await write({ ...small, items: 1200, vaults: 60, dialect });
      expect(all(truth).map(unplaced)).toEqual(all(plain.truth).map(unplaced));
      const rows = parse(texts[0] ?? "", form);
      expect(rows).toHaveLength(1200);
      const known = new Set(
        (plain.texts[0] ?? "")
          .trimEnd()
          .split("\n")
          .flatMap((line) => Object.values(JSON.parse(line) as Record<string, unknown>)),
      );
      const id = dialects[dialect].columns.find(
        (column) => /id$/i.test(column) && !/vault|app|walletUdid/i.test(column),
      );
      if (id !== undefined) for (const { shown } of rows) expect(known.has(shown[id])).toBe(true);
      const lines = new Map(rows.map(({ line, shown }) => [line, shown]));
      for (const mark of marksOf(truth))
        expect(JSON.stringify(lines.get(mark.line) ?? {})).toContain(
          id === undefined ? "_VAULT" : mark.id,
        );
    },
  );

  test("can be out of order, but not by more than the window", async () => {
    const { texts, truth } = await write({ ...small, disorder: 50 });
    const times = (texts[0] ?? "")
      .trimEnd()
      .split("\n")
      .map((line) => Date.parse((JSON.parse(line) as { time: string }).time));
    const overtaken = times.map(
      (time, at) => times.slice(Math.max(0, at - 400), at).filter((other) => other > time).length,
    );
    expect(Math.max(...overtaken)).toBeGreaterThan(10);
    expect(Math.max(...overtaken)).toBeLessThanOrEqual(50);
    expect(truth.items).toBe(6000);
  });

  test("can have items twice: the mark is at the first one", async () => {
    const { texts, truth } = await write({ ...small, duplicates: 0.2 });
    const ids = (texts[0] ?? "")
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(ids).toHaveLength(truth.written);
    expect(ids.length).toBeGreaterThan(7000);
    expect(new Set(ids).size).toBe(6000);
    for (const { id, line } of marksOf(truth)) expect(ids.indexOf(id)).toBe(line - 1);
  });

  test("can be newest first, whole", async () => {
    const forward = await write(small);
    const backward = await write({ ...small, newestFirst: true });
    expect(backward.texts[0]?.trimEnd().split("\n").toReversed()).toEqual(
      forward.texts[0]?.trimEnd().split("\n"),
    );
    for (const [uuid, { causeItem }] of backward.truth.vaults) {
      const other = forward.truth.vaults.get(uuid)?.causeItem;
      if (causeItem !== undefined) expect(causeItem.line).toBe(6001 - (other?.line ?? 0));
    }
  });

  test.each(formNames)(
    "%s can have what is no item, an end that is missing, a mark at its beginning and CRLF",
    async (form) => {
      const { texts, truth } = await write({
        ...small,
        form,
        garbage: 7,
        cutOff: true,
        byteOrderMark: true,
        crlf: true,
      });
      const text = texts[0] ?? "";
      expect(text.startsWith("\ufeff")).toBe(true);
      expect(text.endsWith("\n")).toBe(false);
      expect(truth.garbage).toHaveLength(8);
      expect(truth.items).toBe(6000);
      if (form !== "json-compact") expect(text.replaceAll("\r\n", "")).not.toContain("\n");
      if (form !== "ndjson") return;
      const lines = text.slice(1).split("\r\n");
      expect(lines).toHaveLength(6008);
      for (const { line } of truth.garbage) expect(isItem(lines[line - 1] ?? "")).toBe(false);
      for (const { id, line } of marksOf(truth)) expect(lines[line - 1]).toContain(id);
    },
  );

  test("can be compressed", async () => {
    const plain = await write({ ...small, form: "csv" });
    expect((await write({ ...small, form: "csv", gzip: true })).texts).toEqual(plain.texts);
  });

  test("can begin in the middle: what happened before is not in it, and said to be unknown", async () => {
    const { texts, truth } = await write({ ...small, beginsAt: 0.4 });
    const lines = (texts[0] ?? "").trimEnd().split("\n");
    expect(lines).toHaveLength(3600);
    expect(truth.items).toBe(3600);
    const created = new Set(
      lines
        .filter((line) => line.includes("CREATE_VAULT"))
        .map((line) => (JSON.parse(line) as { vaultUuid: string }).vaultUuid),
    );
    expect(
      all(truth)
        .filter(({ baselineKnown }) => baselineKnown)
        .map(({ uuid }) => uuid)
        .toSorted(),
    ).toEqual([...created].toSorted());
    expect(all(truth).some(({ baselineKnown }) => !baselineKnown)).toBe(true);
    for (const mark of all(truth).flatMap(({ chain }) => chain)) {
      expect(mark.index < 0).toBe(mark.line === 0);
      if (mark.line > 0) expect(lines[mark.line - 1]).toContain(mark.id);
    }
  });

  test("can be several, which overlap", async () => {
    const { texts, truth } = await write({ ...small, overlap: 100 }, 3);
    const ids = texts.map((text) =>
      text
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: string }).id),
    );
    const [a = [], b = [], c = []] = ids;
    const common = (one: string[], other: string[]): number =>
      one.filter((id) => other.includes(id)).length;
    expect([common(a, b), common(b, c), common(a, c)]).toEqual([100, 100, 0]);
    expect(new Set(ids.flat()).size).toBe(6000);
    for (const { id, part, line } of marksOf(truth)) expect(ids[part]?.[line - 1]).toBe(id);
  });
});

const marksOf = (truth: Truth): TruthItem[] =>
  all(truth).flatMap(({ chain, pending }) => (pending === undefined ? chain : [...chain, pending]));

const unplaced = (truth: VaultTruth): unknown =>
  JSON.parse(JSON.stringify(truth, (key, value: unknown) => (key === "line" ? 0 : value)));

function isItem(line: string): boolean {
  try {
    return Object.hasOwn(JSON.parse(line) as object, "action");
  } catch {
    return false;
  }
}

/** Parses CSV in the simplest possible way. */
function parse(text: string, form: string): { line: number; shown: Record<string, unknown> }[] {
  if (form === "ndjson") {
    return text
      .trimEnd()
      .split("\n")
      .map((line, index) => ({
        line: index + 1,
        shown: JSON.parse(line) as Record<string, unknown>,
      }));
  }
  if (form.startsWith("json"))
    return (JSON.parse(text) as Record<string, unknown>[]).map((shown, index) => ({
      line: index + 1,
      shown,
    }));
  const separator = form === "csv" ? "," : "\t";
  const [head = { line: 1, cells: [] }, ...rows] = cellsOf(text, separator);
  return rows.map(({ line, cells }) => ({
    line,
    shown: Object.fromEntries(head.cells.map((name, index) => [name, cells[index]])),
  }));
}

function cellsOf(text: string, separator: string): { line: number; cells: string[] }[] {
  const rows: { line: number; cells: string[] }[] = [];
  let [line, cells, cell, isQuoted] = [1, [] as string[], "", false];
  let begin = 1;
  for (const character of text) {
    if (character === "\n") line += 1;
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted || (character !== separator && character !== "\n")) {
      cell += character;
      continue;
    }
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    cell = "";
    if (character === separator) continue;
    rows.push({ line: begin, cells });
    [begin, cells] = [line, []];
  }
  return rows;
}

test("what an item says of its call fits what it is about", () => {
  const [fact] = [...tellFacts(small).facts].filter(({ what }) => what === "ack-update");
  expect(fact).toBeDefined();
  if (fact === undefined) return;
  expect(endpoint(fact)).toEqual({
    method: "PUT",
    path: `/vaultsvc/v1-2/vault/${fact.kind}/${fact.uuid}/update-end`,
  });
  expect(description(fact)).toBe("update acknowledged");
});
