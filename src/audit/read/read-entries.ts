import { VaultError } from "../../errors.ts";
import { chooseColumns } from "../columns/choose.ts";
import { itemOf, entryOf } from "./entries.ts";
import type { TimeReader } from "../columns/times.ts";
import type { EntryOptions } from "./entries.ts";
import type { Entry } from "./item.ts";
import type { Input } from "./records/input.ts";
import { Lines } from "./records/lines.ts";
import { LineReader, recordsIn } from "./records/ndjson.ts";
import type { AuditRecord, SkipLine } from "./records/record.ts";
import type { Columns } from "../../documents/audit.ts";

/** Number of records by which columns are recognized. */
const sampleSize = 1000;
/** Number of lines, none of them a record, after which the input is given up. */
const maxSkips = 100_000;
/** Maximum characters of all values in the sample: a single record may be a megabyte. */
const sampleLength = 8 * 1024 * 1024;

export interface Reading {
  columns: Columns;
  times: TimeReader;
  warnings: string[];
  order: "oldest-first" | "newest-first";
  /** All entries in the order of the input, once. */
  entries: AsyncGenerator<Entry[], void, undefined>;
}

/**
 * Reads the beginning of an input, which may be empty, and recognizes its columns. `skip` is called while the entries are read.
 *
 * @throws what `chooseColumns` throws, `invalid-input` if the input cannot be read or has no records.
 */
export async function readEntries(
  input: Input,
  options: EntryOptions,
  skip: SkipLine,
): Promise<Reading> {
  const early: Parameters<SkipLine>[] = [];
  let report: SkipLine = (...one) => void early.push(one);
  let lastLine = 0;
  const reported: SkipLine = (line, ...why) => {
    lastLine = Math.max(lastLine, line);
    report(line, ...why);
  };
  const { records: batches, rest } = recordsOf(input, reported);
  const sample: AuditRecord[] = [];
  let length = 0;
  while (sample.length < sampleSize && length < sampleLength && early.length < maxSkips) {
    const next = await batches.next();
    if (next.done === true) break;
    sample.push(...next.value);
    for (const { fields } of next.value) for (const text of fields.values()) length += text.length;
  }
  if (sample.length === 0 && early.length >= maxSkips) {
    const [first = []] = early;
    throw new VaultError(
      "invalid-input",
      `${input.name}: none of its first ${early.length} lines is an audit item`,
      { hint: `read as ${input.format}; line ${first[0]}: ${first[1]}` },
    );
  }
  const { columns, times, warnings } = chooseColumns(
    sample.slice(0, sampleSize),
    options,
    input.name,
  );
  const { index, vaults, classifier } = options;
  const entriesOf = (records: readonly AuditRecord[]): Entry[] => {
    const entries: Entry[] = [];
    for (const { line, fields, text } of records) {
      lastLine = line;
      const item = itemOf(fields, columns, times, index, line);
      if ("reason" in item)
        report(line, item.reason, false, text ?? [...fields.values()].join(" "));
      else
        entries.push(
          entryOf(item, text ?? JSON.stringify([...fields]), vaults, classifier, columns),
        );
    }
    return entries;
  };
  async function* all(): AsyncGenerator<Entry[], void, undefined> {
    const entries = entriesOf(sample.splice(0));
    report = skip;
    for (const one of early.toSorted(([a], [b]) => a - b)) skip(...one);
    yield entries;
    if (rest === undefined) for await (const records of batches) yield entriesOf(records);
    else {
      const reader = new LineReader(rest.lines, columns, times, options, reported, input.isFile);
      for await (const block of rest.blocks) yield reader.read(block);
      lastLine = rest.lines.next - 1;
    }
    const problem = input.problem();
    if (problem !== null) skip(lastLine + 1, `${problem}: reading stopped`, true);
  }
  return { columns, times, warnings, order: orderOf(sample, columns, times), entries: all() };
}

/** Returns `newest-first` if more neighbors go back in time than forward. */
function orderOf(
  sample: readonly AuditRecord[],
  columns: Columns,
  times: TimeReader,
): Reading["order"] {
  const name = columns.time?.name ?? "";
  const given = sample
    .map(({ fields }) => times.parse(fields.get(name) ?? ""))
    .filter((time) => time !== null);
  const steps = given.slice(1).map((time, index) => Math.sign(time - (given[index] ?? time)));
  return steps.reduce((sum, step) => sum + step, 0) < 0 ? "newest-first" : "oldest-first";
}

type Records = AsyncGenerator<AuditRecord[], void, undefined>;

/** The records of an input and, for NDJSON, the blocks that follow those already read. */
interface InputRecords {
  records: Records;
  rest?: { lines: Lines; blocks: ReturnType<Lines["blocks"]> };
}

/** Reads the records of an input, once. Calls `skip` for what is not a record. */
export function recordsOf(input: Input, skip: SkipLine): InputRecords {
  if (input.format !== "ndjson") return { records: parsedRecords(input, skip) };
  const lines = new Lines(input.chunks, skip);
  const blocks = lines.blocks();
  async function* records(): Records {
    for await (const block of blocks) yield recordsIn(block, lines, skip);
  }
  return { records: records(), rest: { lines, blocks } };
}

async function* parsedRecords(input: Input, skip: SkipLine): Records {
  // Each brings a parser.
  if (input.format === "json")
    yield* (await import("./records/json-array.ts")).jsonRecords(input.chunks, skip);
  else yield* (await import("./records/csv.ts")).csvRecords(input.chunks, input.delimiter, skip);
}
