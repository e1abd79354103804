import { VaultError } from "../../../errors.ts";
import { clip, listNames } from "../clip.ts";
import { ColumnSearch } from "./column-search.ts";
import type { Columns } from "../item.ts";
import { looksLikeAddress, looksLikeEndpoint, looksLikeOutcome, uuidOf } from "./looks.ts";
import type { ColumnMap } from "./parse-map.ts";
import { profilesOf, share } from "./profile.ts";
import type { AuditRecord } from "../records/record.ts";
import { parseTime } from "./times.ts";
import { assignUuids, vaultInEndpoint } from "./uuid-columns.ts";

/**
 * Assigns roles to columns by the map, then by their names and values. Without records, no column is required.
 *
 * @throws `usage` for a mapped column that no record has, `invalid-input` if time, action or vault is not found.
 */
export function recognizeColumns(records: readonly AuditRecord[], map: ColumnMap = {}, input = "the input"): Columns {
  if (records.length === 0) return {};
  const search = new ColumnSearch(profilesOf(records));
  search.useMap(map, input);
  search.byName("time", (profile) => share(profile, isTime) >= 0.5);
  search.byValue("time", (profile) => share(profile, isLikelyTime) >= 0.8);
  search.findAction();
  search.byName("vault", (profile) => share(profile, (value) => uuidOf(value) !== null) >= 0.5);
  search.byName("endpoint", (profile) => share(profile, (value) => value.includes("/")) >= 0.5);
  search.byName("ip", (profile) => share(profile, looksLikeAddress) >= 0.5);
  search.byName("application", () => true);
  search.byName("ref", () => true);
  search.byName("outcome", (profile) => share(profile, looksLikeOutcome) >= 0.5);
  search.byName("description", () => true);
  // A name like `uuid` may also mean the vault's, but ids of items rarely repeat.
  search.byName("id", ({ values, distinct }) => distinct * 2 > values.length);
  search.byValue("endpoint", (profile) => share(profile, looksLikeEndpoint) >= 0.5);
  search.byValue("ip", (profile) => share(profile, looksLikeAddress) >= 0.8);
  search.byValue("outcome", (profile) => share(profile, looksLikeOutcome) >= 0.8 && profile.distinct <= 10);
  const undecided = assignUuids(search);
  if (search.columns.vault === undefined) vaultInEndpoint(search);
  search.byName("vault", () => undecided.length === 0);
  checkFound(search, undecided, input);
  return search.columns;
}

const isTime = (value: string): boolean => parseTime(value) !== null;

/** Stricter check for a column without a telling name: ten digits may be anything. */
function isLikelyTime(value: string): boolean {
  const time = parseTime(value);
  return time !== null && time >= Date.UTC(2010, 0) && time < Date.UTC(2100, 0);
}

function checkFound(search: ColumnSearch, undecided: readonly string[], input: string): void {
  const missing = (["time", "action", "vault"] as const).filter((role) => search.columns[role] === undefined);
  if (missing.length === 0) return;
  const names = search.profiles.map(({ name }) => name);
  const notes: string[] = [];
  const [almost] = missing.includes("time") ? search.named("time") : [];
  if (almost !== undefined) {
    const value = clip(almost.values[0]?.value ?? "");
    notes.push(`; ${listNames([almost.name])} holds ${value}, which is neither ISO 8601 nor seconds or milliseconds since 1970`);
  }
  if (undecided.length > 0) notes.push(`; the vault may be ${undecided.map((name) => listNames([name])).join(" or ")}`);
  throw new VaultError("invalid-input", `${input}: found no column for ${missing.join(", ")}${notes.join("")}`, {
    hint:
      almost !== undefined && missing.length === 1
        ? "export it again with times in ISO 8601, or format that column like 2026-11-20T14:02:11Z"
        : `say which it is with --map ${missing.map((role) => `${role}=COLUMN`).join(",")}; the columns are ${listNames(names)}`,
  });
}
