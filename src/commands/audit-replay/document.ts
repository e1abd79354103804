import type { ReplaySummary, VaultReport } from "../../documents/audit.ts";
import { fieldOf } from "../../cli/output.ts";
import { jsonText } from "../../terminal/redactor.ts";

// The document in pieces: there may be a million vaults.

type Vaults = Iterable<VaultReport>;

/** Yields the document of --json: the answer first, the vaults last. */
export function* jsonDocument(summary: ReplaySummary, vaults: Vaults): Generator<string> {
  yield jsonText({ ...summary, vaults: [] }, 2).slice(0, -"]\n}".length);
  let isFirst = true;
  for (const vault of vaults) {
    yield `${isFirst ? "" : ","}${jsonText([[vault]], 2).slice("[\n  [".length, -"\n  ]\n]".length)}`;
    isFirst = false;
  }
  yield isFirst ? "]\n}\n" : "\n  ]\n}\n";
}

/** Yields the lines of -o ndjson: one for each vault, and one with the rest. */
export function* ndjsonDocument(summary: ReplaySummary, vaults: Vaults): Generator<string> {
  for (const vault of vaults) yield `${jsonText(vault)}\n`;
  yield `${jsonText({ event: "summary", ...summary })}\n`;
}

/**
 * Returns the value at a path of the document.
 * @throws `usage` if there is none
 */
export function fieldText(summary: ReplaySummary, vaults: Vaults, path: string): string {
  const isOfVault = path.split(".", 1)[0] === "vaults";
  const value = fieldOf(isOfVault ? { vaults: [...vaults] } : summary, path);
  return typeof value === "string" ? value : jsonText(value);
}
