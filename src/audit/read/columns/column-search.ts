import { VaultError } from "../../../errors.ts";
import { clip, listNames } from "../clip.ts";
import type { Role } from "../item.ts";
import { roles } from "../item.ts";
import type { AuditRecord } from "../records/record.ts";
import { looksLikeAction } from "./looks.ts";
import { rankOf } from "./names.ts";
import type { ColumnMap } from "./parse-map.ts";
import type { Column, Columns } from "../../../documents/audit.ts";

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
  for (const profile of found.values())
    profile.distinct = new Set(profile.values.map(({ value }) => value.toLowerCase())).size;
  return [...found.values()];
}

/** Returns the share of the values that match a predicate, from 0 to 1. */
export function share({ values }: Profile, is: (value: string) => boolean): number {
  return values.filter(({ value }) => is(value.trim())).length / values.length;
}

/** Roles assigned to columns so far. Only the map can give a column several roles. */
export class ColumnSearch {
  readonly columns: Columns = {};
  readonly profiles: readonly Profile[];
  readonly #taken = new Set<string>();

  constructor(profiles: readonly Profile[]) {
    this.profiles = profiles;
  }

  free(): Profile[] {
    return this.profiles.filter(({ name }) => !this.#taken.has(name));
  }

  take(role: Role, name: string, by: Column["by"]): void {
    this.columns[role] = { name, by };
    this.#taken.add(name);
  }

  profileOf(role: Role): Profile | undefined {
    return this.profiles.find(({ name }) => name === this.columns[role]?.name);
  }

  useMap(map: ColumnMap, input: string): void {
    for (const role of roles) {
      const wanted = map[role];
      if (wanted === undefined) continue;
      const { name } =
        this.profiles.find(({ name }) => name === wanted) ?? this.#onlyNamed(wanted) ?? {};
      if (name === undefined) {
        throw new VaultError("usage", `--map ${role}=…: ${input} has no column ${clip(wanted)}`, {
          hint: `its columns are ${listNames(this.profiles.map(({ name }) => name))}`,
        });
      }
      this.take(role, name, "--map");
    }
  }

  #onlyNamed(wanted: string): Profile | undefined {
    const similar = this.profiles.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
    return similar.length === 1 ? similar[0] : undefined;
  }

  byName(role: Role, fits: (profile: Profile) => boolean): void {
    if (this.columns[role] !== undefined) return;
    const [best] = this.named(role).filter(fits);
    if (best !== undefined) this.take(role, best.name, "name");
  }

  byValue(role: Role, fits: (profile: Profile) => boolean): void {
    if (this.columns[role] !== undefined) return;
    const [best] = this.free().filter(fits);
    if (best !== undefined) this.take(role, best.name, "value");
  }

  /** Returns the free columns whose name fits the role, best first. */
  named(role: Role): Profile[] {
    const ranked = this.free().map((profile) => ({ profile, rank: rankOf(role, profile.name) }));
    return ranked
      .filter(({ rank }) => rank !== null)
      .sort((a, b) => Number(a.rank) - Number(b.rank))
      .map(({ profile }) => profile);
  }

  /** Assigns the action. Known values weigh more than a name: with the early client they are in `description`. */
  findAction(): void {
    if (this.columns.action !== undefined) return;
    const shares = new Map(
      this.free().map((profile) => [profile, share(profile, looksLikeAction)]),
    );
    const most = Math.max(0, ...shares.values());
    const known = [...shares]
      .filter(([, part]) => part > 0 && part >= most / 2)
      .map(([profile]) => profile);
    const named = this.named("action").filter((profile) => most === 0 || known.includes(profile));
    const [best] = [...named, ...known.sort((a, b) => (shares.get(b) ?? 0) - (shares.get(a) ?? 0))];
    if (best !== undefined) this.take("action", best.name, named.includes(best) ? "name" : "value");
  }
}
