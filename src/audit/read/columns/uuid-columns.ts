import type { ColumnSearch } from "./column-search.ts";
import { looksLikeUuid, uuidInEndpoint } from "./looks.ts";
import type { Profile } from "./profile.ts";
import { share } from "./profile.ts";

/**
 * Assigns vault, application and id among columns of uuids without telling names. The vault is in the endpoint, or its values repeat;
 * applications repeat more often; ids never do. Returns the columns that could be the vault, if that is ambiguous.
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

/** Takes the vault from the path of the request (`/vault/…/{uuid}/get-start`) if no column has it. */
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
