import type { AuditRecord } from "../records/record.ts";

/** Columns that are looked at. No export has as many. */
const mostColumns = 500;

/** What the sample holds in one column. */
export interface Profile {
  name: string;
  /** Those that are there, with the number of their record. */
  values: { record: number; value: string }[];
  /** How many are different. */
  distinct: number;
}

/** In the order in which the columns first appear. */
export function profilesOf(records: readonly AuditRecord[]): Profile[] {
  const found = new Map<string, Profile>();
  for (const [record, { fields }] of records.entries()) {
    for (const [name, value] of fields) {
      const profile = found.get(name) ?? { name, values: [], distinct: 0 };
      if (profile.values.length === 0 && found.size < mostColumns) found.set(name, profile);
      profile.values.push({ record, value });
    }
  }
  for (const profile of found.values()) profile.distinct = new Set(profile.values.map(({ value }) => value.toLowerCase())).size;
  return [...found.values()];
}

/** The part of its values, 0 to 1, of which something is true. */
export function share({ values }: Profile, is: (value: string) => boolean): number {
  return values.filter(({ value }) => is(value.trim())).length / values.length;
}
