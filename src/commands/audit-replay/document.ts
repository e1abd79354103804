import type { Replay } from "../../audit/replay.ts";
import { fieldOf } from "../../cli/output.ts";
import type { VaultReport } from "../../documents/audit.ts";
import { jsonText } from "../../terminal/redactor.ts";

/** Returns the parts of the document before and after its vaults: the answer first, then what may make it wrong. */
function factsOf({ summary, whatIf }: Pick<Replay, "summary" | "whatIf">) {
  const { found, warnings } = summary;
  const all = Object.entries({ found, warnings, ...(summary as object) });
  const end = all.findIndex(([key]) => key === "skippedLines");
  return {
    before: Object.fromEntries(all.slice(0, end)),
    after: { ...(whatIf && { whatIf }), ...Object.fromEntries(all.slice(end)) },
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
    const indented = jsonText([[vault]], space).slice("[\n  [".length, -"\n  ]\n]".length);
    yield start + (space === 0 ? jsonText(vault) : indented);
    start = ",";
  }
  if (start === "[") yield "[]";
  else yield space === 0 ? "]" : "\n  ]";
}

/**
 * Yields the value at a path in pieces; the whole list of vaults is one line of JSON.
 * @throws `usage` if there is none
 */
export function* fieldPieces(
  replay: Replay,
  vaults: Iterable<VaultReport>,
  path: string,
): Generator<string> {
  const [root, index = ""] = path.split(".");
  if (path === "vaults") {
    yield* listPieces(vaults, 0);
    return;
  }
  const { before, after } = factsOf(replay);
  const document = root === "vaults" ? { vaults: oneOf(vaults, index) } : { ...before, ...after };
  const value = fieldOf(document, path);
  yield typeof value === "string" ? value : jsonText(value);
}

/** Returns only the vault with that index. */
function oneOf(vaults: Iterable<VaultReport>, index: string): Record<string, VaultReport> {
  let number = 0;
  for (const vault of vaults) {
    if (String(number) === index) return { [index]: vault };
    number += 1;
  }
  return {};
}
