import type { AuditRecord } from "../records/record.ts";

/** Maximum number of columns to profile. No export has as many. */
const maxColumns = 500;

/** The values of a column in the sample. */
export interface Profile {
  name: string;
  /** Values with the index of their record. */
  values: { record: number; value: string }[];
  /** Number of different values, ignoring case. */
  distinct: number;
}

/** Profiles the columns, in the order of their first appearance. */
export function profilesOf(records: readonly AuditRecord[]): Profile[] {
  const found = new Map<string, Profile>();
  for (const [record, { fields }] of records.entries()) {
    for (const [name, value] of fields) {
      const profile = found.get(name) ?? { name, values: [], distinct: 0 };
      if (profile.values.length === 0 && found.size < maxColumns) found.set(name, profile);
      profile.values.push({ record, value });
    }
  }
  for (const profile of found.values()) profile.distinct = new Set(profile.values.map(({ value }) => value.toLowerCase())).size;
  return [...found.values()];
}

/** Returns the share of the values that match a predicate, from 0 to 1. */
export function share({ values }: Profile, is: (value: string) => boolean): number {
  return values.filter(({ value }) => is(value.trim())).length / values.length;
}
