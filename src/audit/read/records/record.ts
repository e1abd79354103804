/** What an export holds for one item, before anybody knows what its columns mean. */
export interface AuditRecord {
  /** Where it begins: the line, or in a JSON array the element, counted from 1. */
  line: number;
  /** By column; what is empty is absent. */
  fields: ReadonlyMap<string, string>;
  /** Of NDJSON: the line as it stands there. */
  text?: string;
}

/** Told of each line (element) that is no record. The reason is fit for a terminal. */
export type SkipLine = (line: number, reason: string) => void;
