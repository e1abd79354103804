/** A record of an export, before the meaning of its columns is known. */
export interface AuditRecord {
  /** Line where the record begins, or index in a JSON array; from 1. */
  line: number;
  /** Values by column, without empty ones. */
  fields: ReadonlyMap<string, string>;
  /** NDJSON: the line. */
  text?: string;
}

/** Called for each line or element that is not a record. The reason is safe on a terminal. */
export type SkipLine = (line: number, reason: string) => void;
