import type { Columns } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { shellWord } from "../../way.ts";
import { clip, listNames } from "../read/clip.ts";
import { parseObject } from "../read/records/record.ts";
import { eventOfEndpoint } from "../read/columns/actions.ts";
import type { Profile, SampleRecord } from "./column-search.ts";
import { ColumnSearch, profilesOf, share } from "./column-search.ts";
import type { ColumnMap } from "./given.ts";
import {
  looksLikeAddress,
  looksLikeEndpoint,
  looksLikeOutcome,
  looksLikeUuid,
  uuidInEndpoint,
  uuidOf,
} from "./values.ts";
import { parseTime, TimeReader } from "./times.ts";

/** What the user said about columns and times. */
export interface Given {
  map?: ColumnMap | undefined;
  /** Zone of times without one. */
  zone?: string | undefined;
}

/** The columns of an input, and how its times are read. */
export interface Choice {
  columns: Columns;
  times: TimeReader;
  /** What was chosen although something else could have been meant, each with the flag that decides it. */
  warnings: string[];
}

/**
 * Assigns roles to columns by the map, then by their names and values. Without records, no column is required.
 *
 * @throws `usage` for a mapped column that no record has, `invalid-input` if time, action or vault is not found.
 */
export function chooseColumns(
  sample: readonly SampleRecord[],
  { map = {} }: Given,
  input: string,
): Choice {
  const columns = columnsOf(sample, map, input);
  return { columns, times: new TimeReader(), warnings: [] };
}

function columnsOf(records: readonly SampleRecord[], map: ColumnMap, input: string): Columns {
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
  search.byValue(
    "outcome",
    (profile) => share(profile, looksLikeOutcome) >= 0.8 && profile.distinct <= 10,
  );
  const undecided = assignUuids(search);
  if (search.columns.vault === undefined) vaultInEndpoint(search);
  if (search.columns.action === undefined) actionInEndpoint(search);
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
  const missing = (["time", "action", "vault"] as const).filter(
    (role) => search.columns[role] === undefined,
  );
  if (missing.length === 0) return;
  const names = search.profiles.map(({ name }) => name);
  const notes: string[] = [];
  const [almost] = missing.includes("time") ? search.named("time") : [];
  if (almost !== undefined) {
    const value = clip(almost.values[0]?.value ?? "");
    notes.push(
      `; ${listNames([almost.name])} holds ${value}, which is neither ISO 8601 nor seconds or milliseconds since 1970`,
    );
  }
  if (undecided.length > 0)
    notes.push(`; the vault may be ${undecided.map((name) => listNames([name])).join(" or ")}`);
  const wrapping = search.profiles.find((profile) => share(profile, isItemText) >= 0.5);
  throw new VaultError(
    "invalid-input",
    `${input}: found no column for ${missing.join(", ")}${notes.join("")}`,
    {
      hint:
        wrapping !== undefined
          ? unwrapping(wrapping.name)
          : almost !== undefined && missing.length === 1
            ? timesHint
            : `name it with --map ${missing.map((role) => `${role}=COLUMN`).join(",")}; the columns are ${listNames(names)}`,
    },
  );
}

export const timesHint =
  "have it exported with times in ISO 8601, or format that column like 2026-11-20T14:02:11Z";

/** Whether a value is an item itself, as JSON in a text: log systems wrap what they are sent. */
const isItemText = (value: string): boolean => parseObject(value).value !== undefined;

/** Says how to take the items out of the texts of a column. */
function unwrapping(column: string): string {
  const name = JSON.stringify(column.split(".").at(-1));
  const program = shellWord(`.. | objects | .[${name}] // empty | fromjson`);
  return `the items are JSON in the texts of ${listNames([column])}; give it these texts alone, one a line, as from JSON: jq -c ${program} FILE | vault audit-replay -`;
}

/**
 * Assigns vault, application and id among columns of uuids without telling names. The vault is in the endpoint, or its values repeat;
 * applications repeat more often; ids never do. Returns the columns that could be the vault, if that is ambiguous.
 */
function assignUuids(search: ColumnSearch): string[] {
  const uuids = search.free().filter((profile) => share(profile, looksLikeUuid) >= 0.8);
  const repeating = uuids.filter(
    ({ values, distinct }) => distinct < values.length || values.length === 1,
  );
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
function vaultInEndpoint(search: ColumnSearch): void {
  const endpoint = search.profileOf("endpoint");
  if (endpoint === undefined || share(endpoint, (value) => uuidInEndpoint(value) !== null) === 0)
    return;
  search.columns.vault = { name: endpoint.name, by: "value" };
}

/** Takes what a call does from its endpoint if no column has the action. */
function actionInEndpoint(search: ColumnSearch): void {
  const endpoint = search.profileOf("endpoint");
  if (
    endpoint === undefined ||
    share(endpoint, (value) => eventOfEndpoint(value) !== undefined) === 0
  )
    return;
  search.columns.action = { name: endpoint.name, by: "value" };
}

function isInEndpoint(profile: Profile, endpoint: Profile | undefined): boolean {
  const inPath = new Map(
    endpoint?.values.map(({ record, value }) => [record, uuidInEndpoint(value)]),
  );
  const both = profile.values.filter(({ record }) => typeof inPath.get(record) === "string");
  const same = both.filter(
    ({ record, value }) => inPath.get(record) === value.trim().toLowerCase(),
  );
  return same.length > both.length / 2;
}
