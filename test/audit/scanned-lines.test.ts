import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Batch } from "../../src/audit/read/batch.ts";
import { contentHashOf } from "../../src/audit/read/hash.ts";
import { Classifier } from "../../src/audit/read/columns/classify-item.ts";
import { BatchWriter } from "../../src/audit/read/batch-writer.ts";
import type { Skip } from "../../src/audit/read/item.ts";
import { itemOf } from "../../src/audit/read/columns/items.ts";
import { PlainFile } from "../../src/audit/read/scan/plain-file.ts";
import { PlainSource } from "../../src/audit/read/scan/plain-source.ts";
import { VaultTable } from "../../src/audit/fold/vault-table.ts";
import { Dice } from "../support/dice.ts";
import { tempDir } from "../support/temp-dir.ts";
import { vaultUuid } from "./support.ts";

const names = {
  time: "time",
  action: "action",
  vault: "vaultUuid",
  outcome: "outcome",
  id: "id",
  description: "description",
};
const columns = Object.fromEntries(
  Object.entries(names).map(([role, name]) => [role, { name, by: "name" as const }]),
);

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
      outcome: dice.pick(["SUCCESS", "FAILURE", "", true, false, 200, null]),
      vaultUuid: dice.pick([
        vaultUuid(below(5000)),
        vaultUuid(below(9)).replace("00-4", "AB-4"),
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
    const text = JSON.stringify(Object.fromEntries(turned));
    if (below(20) > 0) return text;
    const at = below(text.length);
    if (text.charCodeAt(at) > 127) return text;
    return (
      text.slice(0, at) +
      dice.pick(["", '"', "\\", ",", "}", "\t", "0", "x", " "]) +
      text.slice(at + below(2))
    );
  });
}

/** Returns the items of a batch, with the uuids of their vaults. */
const rowsOf = (batch: Batch, vaults: VaultTable): unknown[] =>
  Array.from({ length: batch.size }, (_, at) => {
    const vault = batch.vault[at] as number;
    return [
      batch.line[at],
      batch.location[at],
      batch.time[at],
      batch.kind[at],
      vault < 0 ? null : vaults.uuid(vault),
      batch.idHash[at],
    ];
  });

function scanned(path: string) {
  const [vaults, classifier] = [new VaultTable(10_000), new Classifier(null)];
  const skipped: number[] = [];
  const skip = ({ line }: Skip): void => void skipped.push(line);
  const file = new PlainFile(path);
  const source = new PlainSource(file, columns, { index: 0, vaults, classifier, skip });
  const rows: unknown[] = [];
  const batch = new Batch();
  for (; source.next(batch); batch.clear()) rows.push(...rowsOf(batch, vaults));
  file.close();
  return { rows, skipped, others: classifier.others, former: classifier.former };
}

/** Reads the lines with JSON.parse. */
function parsed(path: string) {
  const [vaults, classifier] = [new VaultTable(10_000), new Classifier(null)];
  const writer = new BatchWriter(vaults, classifier);
  const batch = new Batch(20_000);
  const skipped: number[] = [];
  const bytes = readFileSync(path);
  let from = 0;
  for (let line = 1; from < bytes.length; line++) {
    const to = bytes.indexOf(10, from) + 1;
    const item = parsedItem(bytes.toString("utf8", from, to), line);
    if (item === undefined) skipped.push(line);
    else writer.add(batch, item, from, contentHashOf(bytes.subarray(from, to - 1)));
    from = to;
  }
  return {
    rows: rowsOf(batch, vaults),
    skipped,
    others: classifier.others,
    former: classifier.former,
  };
}

function parsedItem(text: string, line: number) {
  try {
    const fields = JSON.parse(text) as Record<string, string | number | boolean | null>;
    const valueOf = (name: string): [string] | [] => {
      const value = fields[name];
      return value === undefined || value === null || value === "" ? [] : [String(value)];
    };
    const values = Object.values(names).flatMap((name) =>
      valueOf(name).map((value) => [name, value] as const),
    );
    const item = itemOf(new Map(values), columns, 0, line);
    return "reason" in item ? undefined : item;
  } catch {
    return undefined;
  }
}

it.each([1, 2, 3])("lines are scanned to what JSON.parse makes of them (%i)", (seed) => {
  const path = join(tempDir("scanned"), "items.ndjson");
  // Several windows, which begin and end anywhere in a line.
  writeFileSync(path, `${linesOf(new Dice(`lines ${seed}`), 5000).join("\n")}\n`);
  const told = scanned(path);
  expect(told).toEqual(parsed(path));
  expect([told.rows.length > 4500, told.skipped.length > 50]).toEqual([true, true]);
});
