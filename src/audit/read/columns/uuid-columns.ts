import type { ColumnSearch } from "./column-search.ts";
import { looksLikeUuid, uuidInEndpoint } from "./looks.ts";
import type { Profile } from "./profile.ts";
import { share } from "./profile.ts";

/**
 * Vault, application and item id among columns of uuids whose names say nothing: the vault's is the one that the endpoint
 * names, or whose values repeat; the application's repeats more often; the item's never does. Returns the columns that
 * could each be the vault's, where that cannot be decided.
 */
export function assignUuids(search: ColumnSearch): string[] {
  const uuids = search.free().filter((profile) => share(profile, looksLikeUuid) >= 0.8);
  const repeating = uuids.filter(({ values, distinct }) => distinct < values.length || values.length === 1);
  const candidates = repeating.sort((a, b) => b.distinct - a.distinct);
  const undecided: string[] = [];
  if (search.columns.vault === undefined) {
    const named = uuids.find((profile) => isInEndpoint(profile, search.profileOf("endpoint")));
    const tied = candidates.filter(({ distinct }) => distinct === candidates[0]?.distinct);
    const [first] = tied;
    if (named !== undefined) search.take("vault", named.name, "value");
    else if (tied.length === 1 && first !== undefined) search.take("vault", first.name, "value");
    else undecided.push(...tied.map(({ name }) => name));
  }
  if (undecided.length > 0) return undecided;
  search.byValue("application", (profile) => candidates.includes(profile));
  search.byValue("id", (profile) => uuids.includes(profile) && !candidates.includes(profile));
  return undecided;
}

/** An export without a column for the vault has it in the path of the request (`/vault/…/{uuid}/get-start`). */
export function vaultInEndpoint(search: ColumnSearch): void {
  const endpoint = search.profileOf("endpoint");
  if (endpoint === undefined || share(endpoint, (value) => uuidInEndpoint(value) !== null) === 0) return;
  search.columns.vault = { name: endpoint.name, by: "value" };
}

function isInEndpoint(profile: Profile, endpoint: Profile | undefined): boolean {
  const inPath = new Map(endpoint?.values.map(({ record, value }) => [record, uuidInEndpoint(value)]));
  const both = profile.values.filter(({ record }) => typeof inPath.get(record) === "string");
  const same = both.filter(({ record, value }) => inPath.get(record) === value.trim().toLowerCase());
  return same.length > both.length / 2;
}
