import type { Replay } from "../../audit/replay.ts";
import { defined } from "../../defined.ts";
import { VaultError } from "../../errors.ts";
import { jsonText } from "../../terminal/redactor.ts";
import type { VaultReport } from "../../documents/audit.ts";
import { fieldOf } from "../../cli/output.ts";

/** A list in a document, created and written element by element, because there may be a million. */
export class List {
  readonly elements: Iterable<unknown>;

  constructor(elements: Iterable<unknown>) {
    this.elements = elements;
  }
}

/** Returns the parts of the document before and after its vaults, by the names that --field takes. */
function factsOf({
  summary,
  whatIf,
  reenactment,
}: Pick<Replay, "summary" | "whatIf" | "reenactment">) {
  const {
    found,
    selected,
    items,
    asOf,
    inputs,
    rules,
    columns,
    vaultCount,
    verdicts,
    skippedLines,
    skipped,
    ...rest
  } = summary;
  return {
    before: { found, selected, items, asOf, inputs, rules, columns, vaultCount, verdicts },
    after: { whatIf, reenactment, skippedLines, skipped, ...rest },
  };
}

/** Keys that --field may begin with. */
export const documentRoots = [
  "found",
  "selected",
  "items",
  "asOf",
  "inputs",
  "rules",
  "columns",
  "vaultCount",
  "verdicts",
  "vaults",
  "whatIf",
  "reenactment",
  "skippedLines",
  "skipped",
  "otherActions",
  "unknownItems",
  "applicationItems",
  "withoutVault",
  "duplicates",
  "reordered",
  "late",
  "notes",
] as const;

/** Yields the document of --json in pieces. */
export function* jsonDocument(replay: Replay, vaults: Iterable<VaultReport>): Generator<string> {
  const { before, after } = factsOf(replay);
  yield* jsonPieces({ ...before, vaults: new List(vaults), ...withLists(after) }, 2);
  yield "\n";
}

/** Yields the lines of -o ndjson in pieces: one for each vault, and one with the rest. */
export function* ndjsonDocument(replay: Replay, vaults: Iterable<VaultReport>): Generator<string> {
  for (const vault of vaults) yield `${jsonText(vault)}\n`;
  const { before, after } = factsOf(replay);
  yield* jsonPieces({ event: "summary", ...before, ...withLists(after) }, 0);
  yield "\n";
}

/** Turns the vaults of `whatIf`, each of which has two reports, into a list. */
const withLists = ({ whatIf, ...after }: ReturnType<typeof factsOf>["after"]): object =>
  whatIf === undefined
    ? after
    : { whatIf: { ...whatIf, vaults: new List(whatIf.vaults) }, ...after };

/**
 * Yields the value at a path in pieces; the whole list of vaults is one line of JSON.
 * @throws `usage` if there is none
 */
export function* fieldPieces(
  replay: Replay,
  vaults: Iterable<VaultReport>,
  path: string,
): Generator<string> {
  const [root, index] = path.split(".");
  if (root === "vaults" && index === undefined) {
    yield* jsonPieces(new List(vaults), 0);
    return;
  }
  const { before, after } = factsOf(replay);
  const value = fieldOf(
    root === "vaults"
      ? { vaults: oneOf(vaults, index ?? "", path) }
      : defined({ ...before, ...after }),
    path,
  );
  yield typeof value === "string" ? value : jsonText(value);
}

/** Returns only the vault with that index. */
function oneOf(
  vaults: Iterable<VaultReport>,
  index: string,
  path: string,
): Record<string, VaultReport> {
  if (!/^\d{1,9}$/.test(index)) {
    throw new VaultError(
      "usage",
      `--field ${path}: vaults is a list; an index must follow, from 0`,
      {
        hint: "--field vaults.0.verdict; --vault VAULT selects a vault",
      },
    );
  }
  let number = 0;
  for (const vault of vaults) {
    if (number === Number(index)) return { [index]: vault };
    number += 1;
  }
  return {};
}

/** Maximum depth of lists in a document. Objects below are written whole. */
const deepest = 3;

/** Yields what JSON.stringify returns, with 2 spaces or none, lists element by element. */
export function* jsonPieces(value: unknown, space: 0 | 2, depth = 0): Generator<string> {
  const isList = value instanceof List;
  if (
    !isList &&
    (depth >= deepest || typeof value !== "object" || value === null || Array.isArray(value))
  ) {
    yield indentedJson(value, space, depth);
    return;
  }
  const [open, close] = isList ? "[]" : "{}";
  let isEmpty = true;
  for (const [key, each] of isList ? unnamed(value.elements) : Object.entries(value)) {
    if (each === undefined) continue;
    const start = `${isEmpty ? open : ","}${lineEnd(space, depth + 1)}`;
    isEmpty = false;
    if (key === null) yield start + indentedJson(each, space, depth + 1);
    else {
      yield `${start}${JSON.stringify(key)}:${space === 0 ? "" : " "}`;
      yield* jsonPieces(each, space, depth + 1);
    }
  }
  yield isEmpty ? `${open}${close}` : `${lineEnd(space, depth)}${close}`;
}

function* unnamed(elements: Iterable<unknown>): Generator<[null, unknown]> {
  for (const each of elements) yield [null, each];
}

const lineEnd = (space: number, depth: number): string =>
  space === 0 ? "" : `\n${" ".repeat(space * depth)}`;

/** Formats a value, indented for its depth in the document. */
function indentedJson(value: unknown, space: 0 | 2, depth: number): string {
  if (space === 0) return jsonText(value);
  let nested = value;
  let around = 0;
  for (let level = 1; level <= depth; level += 1) {
    nested = [nested];
    around += lineEnd(space, level).length + 1;
  }
  // What stands after the value is shorter by an indentation for each level.
  return jsonText(nested, space).slice(around, depth === 0 ? undefined : space * depth - around);
}
