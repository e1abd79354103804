import type { Replay } from "../../audit/replay.ts";
import { defined } from "../../defined.ts";
import { VaultError } from "../../errors.ts";
import { jsonText } from "../../terminal/redactor.ts";
import type { VaultReport } from "../../documents/audit.ts";
import { fieldOf } from "../../cli/output.ts";

/** Returns the parts of the document before and after its vaults, by the names that --field takes. */
function factsOf({ summary, whatIf }: Pick<Replay, "summary" | "whatIf">) {
  const {
    warnings,
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
    before: {
      found,
      warnings,
      selected,
      items,
      asOf,
      inputs,
      rules,
      columns,
      vaultCount,
      verdicts,
    },
    after: { whatIf, skippedLines, skipped, ...rest },
  };
}

/** Yields the document of --json in pieces: there may be a million vaults. */
export function* jsonDocument(replay: Replay, vaults: Iterable<VaultReport>): Generator<string> {
  const { before, after } = factsOf(replay);
  yield `${jsonText(before, 2).slice(0, -"\n}".length)},\n  "vaults": `;
  yield* listPieces(vaults, 2);
  yield `,${jsonText(after, 2).slice("{".length)}\n`;
}

/** Yields the lines of -o ndjson: one for each vault, and one with the rest. */
export function* ndjsonDocument(replay: Replay, vaults: Iterable<VaultReport>): Generator<string> {
  for (const vault of vaults) yield `${jsonText(vault)}\n`;
  const { before, after } = factsOf(replay);
  yield `${jsonText({ event: "summary", ...before, ...after })}\n`;
}

/** Yields the list of vaults on one line, or indented for its place in the document. */
function* listPieces(vaults: Iterable<VaultReport>, space: 0 | 2): Generator<string> {
  let start = "[";
  for (const vault of vaults) {
    yield start + (space === 0 ? jsonText(vault) : indented(vault));
    start = ",";
  }
  if (start === "[") yield "[]";
  else yield space === 0 ? "]" : "\n  ]";
}

/** Formats an element of a list in the document, from the end of the line before it. */
const indented = (element: object): string =>
  jsonText([[element]], 2).slice("[\n  [".length, -"\n  ]\n]".length);

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
    yield* listPieces(vaults, 0);
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
