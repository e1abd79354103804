import { VaultError } from "../../../errors.ts";
import { clip, listNames } from "../clip.ts";
import type { Column, Columns, Role } from "../item.ts";
import { roles } from "../item.ts";
import { looksLikeAction } from "./looks.ts";
import { rankOf } from "./names.ts";
import type { ColumnMap } from "./parse-map.ts";
import type { Profile } from "./profile.ts";
import { share } from "./profile.ts";

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
      const { name } = this.profiles.find(({ name }) => name === wanted) ?? this.#onlyNamed(wanted) ?? {};
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
    const shares = new Map(this.free().map((profile) => [profile, share(profile, looksLikeAction)]));
    const most = Math.max(0, ...shares.values());
    const known = [...shares].filter(([, part]) => part > 0 && part >= most / 2).map(([profile]) => profile);
    const named = this.named("action").filter((profile) => most === 0 || known.includes(profile));
    const [best] = [...named, ...known.sort((a, b) => (shares.get(b) ?? 0) - (shares.get(a) ?? 0))];
    if (best !== undefined) this.take("action", best.name, named.includes(best) ? "name" : "value");
  }
}
