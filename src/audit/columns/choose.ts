import type { Column, Columns } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { shellWord } from "../../way.ts";
import { clip, listNames } from "../read/clip.ts";
import { eventOfEndpoint } from "../meaning/actions.ts";
import type { Role } from "../read/item.ts";
import { roles } from "../read/item.ts";
import type { ColumnMap } from "./given.ts";
import type { Kind } from "./names.ts";
import { isOthers, isProperty, isSystems, rankOf } from "./names.ts";
import type { TimeStyle } from "./times.ts";
import { TimeReader, timeStyleOf } from "./times.ts";
import * as looks from "./values.ts";
import { uuidInEndpoint, uuidOf } from "./values.ts";
import { zoneOf } from "./zones.ts";

/** A record of the sample: its values by column, without empty ones. */
export interface SampleRecord {
  fields: ReadonlyMap<string, string>;
}

/** What the user said about columns and times. */
export interface Given {
  map?: ColumnMap | undefined;
  /** Zone of times without one. */
  zone?: string | undefined;
  /** Current time in milliseconds since the epoch. */
  now?: number | undefined;
}

/** The columns of an input, and how its times are read. */
export interface Choice {
  columns: Columns;
  times: TimeReader;
  /** What was chosen although something else could have been meant, each with the flag that decides it. It may grow while times are read. */
  warnings: string[];
}

/**
 * Assigns roles to columns by the map, then by their names and values. Exact names win over contained ones, a column that varies over
 * one that does not, and what contradicts itself is not taken. Without records, no column is required.
 *
 * @throws `usage` for a mapped column that no record has, `invalid-input` if time, action or vault is not found, or the time not read.
 */
export function chooseColumns(
  sample: readonly SampleRecord[],
  given: Given,
  input: string,
): Choice {
  if (sample.length === 0) return { columns: {}, times: new TimeReader(), warnings: [] };
  return new Search(sample, given, input).choose();
}

/** The values of a column in the sample. */
interface Profile {
  name: string;
  /** By the number of their record. */
  values: ReadonlyMap<number, string>;
  /** Number of different values, ignoring case. */
  distinct: number;
}

/** Maximum number of columns to profile. No export has as many. */
const maxColumns = 500;

/** Profiles the columns, in the order of their first appearance. */
function profilesOf(records: readonly SampleRecord[]): Profile[] {
  const found = new Map<string, Map<number, string>>();
  for (const [record, { fields }] of records.entries()) {
    for (const [name, value] of fields) {
      const values = found.get(name) ?? new Map<number, string>();
      if (values.size === 0 && found.size < maxColumns) found.set(name, values);
      values.set(record, value);
    }
  }
  return [...found].map(([name, values]) => ({
    name,
    values,
    distinct: new Set([...values.values()].map((value) => value.toLowerCase())).size,
  }));
}

/** Returns the share of the values that match a predicate, from 0 to 1. */
const share = ({ values }: Profile, is: (value: string) => boolean): number =>
  [...values.values()].filter((value) => is(value.trim())).length / values.size;

const varies = ({ distinct }: Profile): boolean => distinct > 1;

/** Maximum number of different outcomes. */
const maxOutcomes = 12;

/** A column that may hold the time. */
interface TimeCandidate {
  profile: Profile;
  /** The time of the event, of a log system, of arrival, of creation, or none by its name. */
  rank: 0 | 1 | 2 | 3 | 4;
  style: TimeStyle;
}

/** Difference between two times of an item from which it matters which is taken. */
const farApart = 10_000;

/** Roles assigned to columns so far. Only the map can give a column several roles. */
class Search {
  readonly #columns: Columns = {};
  readonly #warnings: string[] = [];
  readonly #profiles: readonly Profile[];
  readonly #records: number;
  readonly #taken = new Set<string>();
  /** Roles that have no column, by the map. */
  readonly #none = new Set<Role>();
  readonly #given: Given;
  readonly #input: string;
  #timeStyle: TimeStyle | undefined;

  constructor(sample: readonly SampleRecord[], given: Given, input: string) {
    this.#profiles = profilesOf(sample);
    this.#records = sample.length;
    this.#given = given;
    this.#input = input;
    const { map = {} } = given;
    for (const role of roles) {
      const wanted = map[role];
      if (wanted === "none") this.#none.add(role);
      else if (wanted !== undefined) this.#useMap(role, wanted);
    }
  }

  choose(): Choice {
    this.#byName("endpoint", (profile) => share(profile, (value) => value.includes("/")) >= 0.5);
    this.#byValue("endpoint", (profile) => share(profile, looks.looksLikeEndpoint) >= 0.5);
    this.#chooseVault();
    const undecided = this.#isOpen("vault") ? this.#undecidedUuids() : [];
    this.#chooseTime();
    this.#chooseAction();
    this.#byName("ip", (profile) => share(profile, looks.looksLikeAddress) >= 0.5);
    this.#byName("application");
    this.#byName("ref");
    this.#chooseOutcome();
    this.#chooseDescription();
    // A name like `uuid` may also mean the vault's, but ids of items rarely repeat.
    this.#byName("id", ({ values, distinct }) => distinct * 2 > values.size);
    this.#byValue(
      "ip",
      (profile) => !isOthers(profile.name) && share(profile, looks.looksLikeAddress) >= 0.8,
    );
    if (undecided.length === 0) this.#chooseOtherUuids();
    const endpoint = this.#profileOf("endpoint");
    if (this.#isOpen("action") && endpoint !== undefined && share(endpoint, isCall) > 0)
      this.#columns.action = { name: endpoint.name, by: "value" };
    if (undecided.length === 0) this.#byName("vault");
    if (undecided.length === 0) this.#byName("vault", undefined, "target");
    this.#checkFound(undecided);
    const columns = Object.fromEntries(
      roles.flatMap((role) => (this.#columns[role] ? [[role, this.#columns[role]]] : [])),
    );
    return { columns, times: this.#timeReader(), warnings: this.#warnings };
  }

  #useMap(role: Role, wanted: string): void {
    const same = this.#profiles.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
    const { name } =
      (this.#profiles.find(({ name }) => name === wanted) ?? (same.length === 1 && same[0])) || {};
    if (name === undefined) {
      throw new VaultError(
        "usage",
        `--map ${role}=…: ${this.#input} has no column ${clip(wanted)}`,
        { hint: `its columns are ${listNames(this.#profiles.map(({ name }) => name))}` },
      );
    }
    this.#take(role, name, "--map");
  }

  #isOpen(role: Role): boolean {
    return this.#columns[role] === undefined && !this.#none.has(role);
  }

  #free(): Profile[] {
    return this.#profiles.filter(({ name }) => !this.#taken.has(name));
  }

  #take(role: Role, name: string, by: Column["by"]): void {
    this.#columns[role] = { name, by };
    this.#taken.add(name);
  }

  #profileOf(role: Role): Profile | undefined {
    return this.#profiles.find(({ name }) => name === this.#columns[role]?.name);
  }

  /** Returns the free columns whose name fits, best first. */
  #named(kind: Kind): Profile[] {
    return this.#free()
      .map((profile) => ({ profile, rank: rankOf(kind, profile.name) }))
      .filter((each): each is { profile: Profile; rank: number } => each.rank !== null)
      .sort((a, b) => a.rank - b.rank)
      .map(({ profile }) => profile);
  }

  #byName(
    role: Exclude<Role, "time">,
    fits: (profile: Profile) => boolean = () => true,
    kind: Kind = role,
  ): void {
    if (!this.#isOpen(role)) return;
    const named = this.#named(kind).filter(fits);
    const best = role === "ip" ? (named.find(varies) ?? named[0]) : named[0];
    if (best !== undefined) this.#take(role, best.name, "name");
  }

  #byValue(role: Role, fits: (profile: Profile) => boolean): void {
    if (!this.#isOpen(role)) return;
    const best = this.#free().find(fits);
    if (best !== undefined) this.#take(role, best.name, "value");
  }

  #say(sentence: string): void {
    this.#warnings.push(`${this.#input}: ${sentence}.`);
  }

  /**
   * Assigns the vault: a column that is named for it, or for what an item is about, unless the paths of requests name others; the
   * column that has what the paths have, or has uuids that repeat; else the paths themselves.
   */
  #chooseVault(): void {
    if (!this.#isOpen("vault")) return;
    const uuids = this.#free().filter(
      (profile) => share(profile, (value) => uuidOf(value) !== null) >= 0.5,
    );
    const inPaths = this.#uuidsInPaths();
    const agrees = (profile: Profile): boolean => {
      const both = [...profile.values].filter(([record]) => inPaths.has(record));
      const same = both.filter(([record, value]) => inPaths.get(record) === uuidOf(value));
      return same.length > both.length / 2 || both.length === 0;
    };
    const named = this.#named("vault").filter((profile) => uuids.includes(profile));
    const targets = this.#named("target").filter((profile) => uuids.includes(profile));
    const contradicting = [...named, ...targets].find((profile) => !agrees(profile));
    const choices = [...named.filter(agrees), ...targets.filter(agrees)];
    const best = choices.find(varies) ?? choices[0];
    const endpoint = this.#columns.endpoint;
    if (best !== undefined) this.#take("vault", best.name, "name");
    else if (inPaths.size > 0 && endpoint !== undefined) {
      const same = uuids.find((profile) => agrees(profile) && !isOthers(profile.name));
      if (same !== undefined) this.#take("vault", same.name, "value");
      else this.#columns.vault = { name: endpoint.name, by: "value" };
    } else {
      const [first, second] = this.#repeating();
      if (first !== undefined && first.distinct !== second?.distinct)
        this.#take("vault", first.name, "value");
    }
    const taken = this.#columns.vault;
    if (taken !== undefined && contradicting !== undefined)
      this.#say(
        `vaults are those of ${listNames([taken.name])}; ${listNames([contradicting.name])} holds other ones (${this.#mapped("vault", contradicting)})`,
      );
  }

  /** The uuids in paths of requests (`/vault/…/{uuid}/get-start`), by record. */
  #uuidsInPaths(): Map<number, string> {
    const found = new Map<number, string>();
    for (const [record, path] of this.#profileOf("endpoint")?.values ?? []) {
      const uuid = uuidInEndpoint(path);
      if (uuid !== null) found.set(record, uuid);
    }
    return found;
  }

  /** Columns of uuids that may be the vault's, because they repeat; the one with most values is first. Ids never repeat. */
  #repeating(): Profile[] {
    return this.#free()
      .filter(({ name }) => !isOthers(name) && rankOf("application", name) === null)
      .filter((profile) => share(profile, looks.looksLikeUuid) >= 0.8)
      .filter(({ values, distinct }) => distinct < values.size || values.size === 1)
      .sort((a, b) => b.distinct - a.distinct);
  }

  #undecidedUuids(): string[] {
    const repeating = this.#repeating();
    return repeating
      .filter(({ distinct }) => distinct === repeating[0]?.distinct)
      .map(({ name }) => name);
  }

  #chooseOtherUuids(): void {
    const repeating = this.#repeating();
    this.#byValue("application", (profile) => repeating.includes(profile));
    this.#byValue(
      "id",
      (profile) => !repeating.includes(profile) && share(profile, looks.looksLikeUuid) >= 0.8,
    );
  }

  #chooseTime(): void {
    const mapped = this.#profileOf("time");
    if (mapped !== undefined) {
      this.#timeStyle = timeStyleOf([...mapped.values.values()], true, this.#given.now);
      if (this.#timeStyle.share === 0) throw this.#unreadTime(mapped);
      return;
    }
    const candidates = this.#timeCandidates();
    const isRead = ({ rank, style }: TimeCandidate): boolean =>
      style.share >= (rank < 4 ? 0.5 : 0.8);
    let best: TimeCandidate | undefined;
    for (const candidate of candidates) {
      const { profile, rank } = candidate;
      if (isRead(candidate)) {
        if (this.#isConstant(profile)) continue;
        best = candidate;
        break;
      }
      // Another date must not take the place of the one that is named for the time.
      const isWhole = share(profile, looks.looksLikeTime) >= 0.5;
      const isPart = share(profile, looks.looksLikePartOfTime) >= 0.5;
      if (
        (rank < 2 && isWhole) ||
        (isPart && candidates.every((other) => other.rank > 1 || !isRead(other)))
      )
        throw this.#unreadTime(profile);
    }
    best ??= candidates.find((candidate) => candidate.rank < 3 && isRead(candidate));
    best ??= candidates.find(isRead);
    if (best === undefined) return;
    this.#take("time", best.profile.name, best.rank < 4 ? "name" : "value");
    this.#timeStyle = best.style;
    const chosen = best;
    const other = candidates.find(
      (candidate) =>
        candidate !== chosen &&
        isRead(candidate) &&
        (candidate.rank < 4 || chosen.rank > 1) &&
        areApart(chosen, candidate),
    );
    if (other !== undefined)
      this.#say(
        `times are those of ${listNames([chosen.profile.name])}; ${listNames([other.profile.name])} has other ones (${this.#mapped("time", other.profile)})`,
      );
  }

  /** Columns that may hold the time, best first. */
  #timeCandidates(): TimeCandidate[] {
    const times = this.#named("time");
    const kinds: Profile[][] = [
      times.filter(({ name }) => !isSystems(name)),
      times.filter(({ name }) => isSystems(name)),
      this.#named("arrival"),
      this.#named("creation").filter((profile) => !this.#isOfVault(profile)),
    ];
    const known = new Set(kinds.flat());
    kinds.push(
      this.#free().filter(
        (profile) =>
          !known.has(profile) &&
          !isProperty(profile.name) &&
          share(profile, looks.looksLikeRecentTime) >= 0.8,
      ),
    );
    return kinds.flatMap((profiles, rank) =>
      profiles.map((profile) => ({
        profile,
        rank: rank as TimeCandidate["rank"],
        style: timeStyleOf([...profile.values.values()], rank < 4, this.#given.now),
      })),
    );
  }

  #isConstant(profile: Profile): boolean {
    return (profile.values.size > 1 && !varies(profile)) || this.#isOfVault(profile);
  }

  /** Whether all items of a vault have the same value, so that it tells of the vault. */
  #isOfVault(profile: Profile): boolean {
    const vaults = this.#profileOf("vault")?.values;
    if (vaults === undefined) return false;
    const byVault = new Map<string, string>();
    let isRepeated = false;
    for (const [record, value] of profile.values) {
      const vault = vaults.get(record) ?? "";
      const known = byVault.get(vault);
      if (known !== undefined && known !== value) return false;
      isRepeated ||= known !== undefined;
      byVault.set(vault, value);
    }
    return isRepeated;
  }

  /** Assigns the action. Known values weigh more than a name: with the early client they are in `description`. */
  #chooseAction(): void {
    if (!this.#isOpen("action")) return;
    const shares = new Map(
      this.#free().map((profile) => [profile, share(profile, looks.looksLikeAction)]),
    );
    const most = Math.max(0, ...shares.values());
    const known = [...shares]
      .filter(([, part]) => part > 0 && part >= most / 2)
      .map(([profile]) => profile);
    const named = this.#named("action").filter((profile) => most === 0 || known.includes(profile));
    const [best] = [...named, ...known.sort((a, b) => (shares.get(b) ?? 0) - (shares.get(a) ?? 0))];
    if (best !== undefined)
      this.#take("action", best.name, named.includes(best) ? "name" : "value");
  }

  /**
   * Assigns the outcome: a column with a telling name, words that can be nothing else, or what only failed calls have. True and false,
   * levels and numbers are none without a name for it.
   */
  #chooseOutcome(): void {
    if (!this.#isOpen("outcome")) return;
    const few = (kind: Kind): Profile[] =>
      this.#named(kind).filter(({ distinct }) => distinct <= maxOutcomes);
    const words = few("outcome");
    const flags = few("success");
    const failures = few("failure").filter(
      (profile) =>
        share(profile, (value) => looks.looksLikeFlag(value) || /^\d\d?$/.test(value)) >= 0.8,
    );
    const statuses = few("status");
    const known = [
      ...[...words, ...flags, ...statuses].filter(
        (profile) =>
          share(profile, flags.includes(profile) ? looks.looksLikeFlag : looks.looksLikeOutcome) >=
            0.5 || share(profile, looks.looksLikeOutcome) >= 0.5,
      ),
      ...failures,
    ];
    const errors = this.#named("error").filter(({ values }) => values.size < this.#records);
    const told = this.#free().filter(
      (profile) => profile.distinct <= 10 && share(profile, looks.isOutcomeWord) >= 0.8,
    );
    const unclear = [...words, ...flags, ...statuses.filter(varies)];
    const [best] = [
      ...known.filter(varies),
      ...words.filter((profile) => varies(profile)),
      ...errors,
      ...known,
      ...told,
      ...unclear,
    ];
    if (best === undefined) return this.#sayNoOutcome();
    const by = told.includes(best) && !known.includes(best) ? "value" : "name";
    const inverted = failures.includes(best) ? ({ inverted: true } as const) : {};
    this.#take("outcome", best.name, by);
    this.#columns.outcome = { name: best.name, by, ...inverted };
    // What only a failed call has is also why.
    if (
      errors.includes(best) &&
      this.#isOpen("description") &&
      this.#named("description").length === 0
    )
      this.#columns.description = { name: best.name, by };
  }

  /** Says which column could tell the outcome, although its name and values do not. */
  #sayNoOutcome(): void {
    const flag = this.#free().find(
      (profile) =>
        varies(profile) &&
        profile.distinct <= 5 &&
        share(profile, (value) => looks.looksLikeFlag(value) || looks.looksLikeLevel(value)) >= 0.8,
    );
    if (flag === undefined) return;
    const values = [...new Set(flag.values.values())].slice(0, 3).map((value) => clip(value));
    this.#say(
      `no column tells the outcome of calls; ${listNames([flag.name])} holds ${values.join(", ")} and is not taken for it (${this.#mapped("outcome", flag)})`,
    );
  }

  /** Assigns the description: the named column in which reasons of refusals are found most often. */
  #chooseDescription(): void {
    if (!this.#isOpen("description")) return;
    const named = this.#named("description");
    const reasons = (profile: Profile): number =>
      [...profile.values.values()].filter((value) => looks.looksLikeReason(value)).length;
    const [best] = named.toSorted((a, b) => reasons(b) - reasons(a));
    if (best !== undefined) this.#take("description", best.name, "name");
  }

  #mapped(role: Role, { name }: Profile): string {
    return `--map ${/^[\w.@ -]{1,60}$/.test(name) ? shellWord(`${role}=${name}`) : `${role}=COLUMN`}`;
  }

  #timeReader(): TimeReader {
    const { zone } = this.#given;
    const style = this.#timeStyle;
    if (style === undefined) return new TimeReader();
    const { name = "" } = this.#columns.time ?? {};
    const shown = listNames([name]);
    const isUtc = /utc|gmt/i.test(name);
    if (style.zoneless !== undefined && zone === undefined && !isUtc)
      this.#say(
        `times of ${shown}, like ${clip(style.zoneless)}, have no time zone and are read as UTC; name theirs with --zone, like --zone Europe/Berlin`,
      );
    if (style.zones.size > 0)
      this.#say(
        `zones of ${shown} are read by their abbreviations: ${[...style.zones]
          .slice(0, 5)
          .map((one) => clip(one))
          .join(", ")}; have times exported in UTC if they mean others`,
      );
    if (style.unclear !== undefined) {
      const order = style.isDayFirst ? "day first, then the month" : "month first, then the day";
      this.#say(
        `dates of ${shown}, like ${clip(style.unclear)}, are read with the ${order}; if that is wrong, ${timesHint}`,
      );
    }
    const chosen = zoneOf(zone ?? "UTC");
    return new TimeReader(style, chosen, (text) =>
      this.#say(
        `${clip(text)} comes twice in ${chosen?.name ?? "UTC"}, when clocks go back, and is read as the first time; have times exported in UTC`,
      ),
    );
  }

  #unreadTime(profile: Profile): VaultError {
    const values = [...profile.values.values()];
    const unread = values.find((value) => looks.looksLikeTime(value.trim())) ?? values[0] ?? "";
    return new VaultError(
      "invalid-input",
      `${this.#input}: found no column for time; ${listNames([profile.name])} holds ${clip(unread)}, ${looks.whyNoTime(unread.trim())}`,
      { hint: `${timesHint}; or name another column with --map time=COLUMN` },
    );
  }

  #checkFound(undecided: readonly string[]): void {
    const missing = (["time", "action", "vault"] as const).filter(
      (role) => this.#columns[role] === undefined,
    );
    if (missing.length === 0) return;
    const [almost] = missing.length === 1 && missing.includes("time") ? this.#named("time") : [];
    if (almost !== undefined) throw this.#unreadTime(almost);
    const names = this.#profiles.map(({ name }) => name);
    const note =
      undecided.length > 0
        ? `; the vault may be ${undecided.map((name) => listNames([name])).join(" or ")}`
        : "";
    const wrapping = this.#profiles.find((profile) => share(profile, looks.looksLikeItem) > 0);
    throw new VaultError(
      "invalid-input",
      `${this.#input}: found no column for ${missing.join(", ")}${note}`,
      {
        hint:
          wrapping !== undefined
            ? unwrapping(wrapping.name)
            : `name it with --map ${missing.map((role) => `${role}=COLUMN`).join(",")}; the columns are ${listNames(names)}`,
      },
    );
  }
}

const isCall = (value: string): boolean => eventOfEndpoint(value) !== undefined;

/** Whether two columns have times that differ. */
function areApart(one: TimeCandidate, other: TimeCandidate): boolean {
  const [first, second] = [new TimeReader(one.style), new TimeReader(other.style)];
  return [...one.profile.values].some(([record, value]) => {
    const [time, rival] = [
      first.parse(value),
      second.parse(other.profile.values.get(record) ?? ""),
    ];
    return time !== null && rival !== null && Math.abs(time - rival) > farApart;
  });
}

export const timesHint =
  "have it exported with times in ISO 8601, or format that column like 2026-11-20T14:02:11Z";

/** Says how to take the items out of the texts of a column: log systems wrap what they are sent. */
function unwrapping(column: string): string {
  const name = JSON.stringify(column.split(".").at(-1));
  const program = shellWord(`.. | objects | .[${name}] // empty | fromjson`);
  return `the items are JSON in the texts of ${listNames([column])}; give it these texts alone, one a line, as from JSON: jq -c ${program} FILE | vault audit-replay -`;
}
