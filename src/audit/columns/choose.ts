import type { Column, Columns } from "../../documents/audit.ts";
import { defined } from "../../defined.ts";
import { VaultError } from "../../errors.ts";
import { shellWord } from "../../way.ts";
import { clip, listNames } from "../read/clip.ts";
import { eventOfEndpoint } from "../meaning/actions.ts";
import { describedOutcome, outcomeOf } from "../meaning/words.ts";
import type { Role } from "../read/item.ts";
import { roles } from "../read/item.ts";
import type { ColumnMap } from "../flags.ts";
import type { Kind } from "./names.ts";
import { isInverted, isOthers, isProperty, isSystems, rankOf } from "./names.ts";
import type { TimeStyle } from "./times.ts";
import { TimeReader, timeStyleOf } from "./times.ts";
import * as looks from "./values.ts";
import { uuidInEndpoint, uuidOf } from "./values.ts";
import { zoneOf } from "./zones.ts";

/** A record of the sample: its values by column, without empty ones. */
interface SampleRecord {
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

/** Returns the text of a record's time, of one column or two; empty if it has none. */
export const timeIn = (fields: ReadonlyMap<string, string>, { time }: Columns): string =>
  `${fields.get(time?.name ?? "") ?? ""} ${fields.get(time?.and ?? "") ?? ""}`.trim();

/** The values of a column in the sample. */
interface Profile {
  name: string;
  /** By the number of their record. */
  values: ReadonlyMap<number, string>;
  texts: readonly string[];
  /** Number of different values, ignoring case. */
  distinct: number;
}

/** Maximum number of columns to profile. No export has as many. */
const maxColumns = 500;

const profileOf = (name: string, values: ReadonlyMap<number, string>): Profile => {
  const texts = [...values.values()];
  return { name, values, texts, distinct: new Set(texts.map((text) => text.toLowerCase())).size };
};

/** Profiles the columns, in the order of their first appearance. */
function profilesOf(records: readonly SampleRecord[]): Profile[] {
  const found = new Map<string, Map<number, string>>();
  for (const [record, { fields }] of records.entries()) {
    for (const [name, value] of fields) {
      if (!found.has(name) && found.size < maxColumns) found.set(name, new Map());
      found.get(name)?.set(record, value.trim());
    }
  }
  return [...found].map(([name, values]) => profileOf(name, values));
}

/** Whether a share of the values matches, half of them if no other is given. */
function mostly({ texts }: Profile, is: (text: string) => boolean, part = 0.5): boolean {
  let others = 0;
  return texts.every((text) => is(text) || ++others <= texts.length * (1 - part) + 1e-9);
}

const varies = ({ distinct }: Profile): boolean => distinct > 1;

/** The first that varies, or the first. */
const varyingFirst = (profiles: readonly Profile[]): Profile | undefined =>
  profiles.find(varies) ?? profiles[0];

const isUuid = (text: string): boolean => uuidOf(text) !== null;
const holdsOutcomes = (profile: Profile): boolean =>
  mostly(
    profile,
    (text) =>
      text.length <= 60 &&
      outcomeOf(text, isInverted({ name: profile.name, by: "name" })) !== "unclear",
  );
const isCall = (text: string): boolean => eventOfEndpoint(text) !== undefined;

/** Whether the "true" of a column, or any number but 0, is a failure. */
const isFailure = (profile: Profile): boolean =>
  rankOf("failure", profile.name) !== null &&
  (mostly(profile, looks.looksLikeFlag, 0.8) ||
    (profile.texts.includes("0") && mostly(profile, (text) => /^\d{1,9}$/.test(text), 0.8)));

/** Maximum number of different outcomes. */
const maxOutcomes = 12;

/** A column that may hold the time. */
interface TimeCandidate {
  profile: Profile;
  /** By its name the time of the event, of a log system, of arrival, of creation, or none. */
  rank: number;
  style: TimeStyle;
  isRead: boolean;
  /** Another column with the time of day. */
  and?: string;
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
  readonly #given: Given;
  readonly #input: string;
  #timeStyle: TimeStyle | undefined;
  /** Columns of which any may be the vault's. */
  #undecided: string[] = [];

  constructor(sample: readonly SampleRecord[], given: Given, input: string) {
    this.#profiles = profilesOf(sample);
    this.#records = sample.length;
    this.#given = given;
    this.#input = input;
  }

  choose(): Choice {
    for (const role of roles) this.#useMap(role);
    const named = (kind: Kind, is: (text: string) => boolean): Profile[] =>
      this.#named(kind).filter((profile) => mostly(profile, is));
    this.#take("endpoint", named("endpoint", (text) => text.includes("/"))[0]);
    this.#take("endpoint", this.#valued(looks.looksLikeEndpoint, 0.5)[0], "value");
    this.#chooseVault();
    this.#chooseTime();
    this.#chooseAction();
    this.#take("ip", varyingFirst(named("ip", looks.looksLikeAddress)));
    this.#take("application", this.#named("application")[0]);
    this.#take("ref", this.#named("ref")[0]);
    this.#chooseOutcome();
    const outcome = this.#profileOf("outcome");
    if (outcome !== undefined && isFailure(outcome))
      this.#columns.outcome = { ...(this.#columns.outcome as Column), inverted: true };
    // Reasons of refusals are looked for in all of them.
    const reasons = ({ texts }: Profile): number =>
      texts.filter((text) => describedOutcome(text) === "bad").length;
    const texts = this.#named("description").toSorted((a, b) => reasons(b) - reasons(a));
    this.#take("description", texts[0]);
    if (outcome === undefined && !texts.some((one) => reasons(one) > 0)) this.#sayNoOutcome();
    // A name like `uuid` may also mean the vault's, but ids of items rarely repeat.
    const ids = this.#named("id").filter(({ texts, distinct }) => distinct * 2 > texts.length);
    this.#take("id", ids[0]);
    this.#take("ip", this.#valued(looks.looksLikeAddress)[0], "value");
    if (this.#undecided.length === 0) {
      const repeating = this.#repeating();
      this.#take("application", repeating[0], "value");
      const uuids = this.#free().filter((profile) => mostly(profile, isUuid, 0.8));
      this.#take(
        "id",
        uuids.find((profile) => !repeating.includes(profile)),
        "value",
      );
      this.#take("vault", this.#named("vault")[0] ?? this.#named("target")[0]);
    }
    const endpoint = this.#profileOf("endpoint");
    if (endpoint?.texts.some(isCall) === true) this.#take("action", endpoint, "value");
    this.#checkFound();
    const columns = Object.fromEntries(
      roles.flatMap((role) => (this.#columns[role] ? [[role, this.#columns[role]]] : [])),
    );
    return { columns, times: this.#timeReader(), warnings: this.#warnings };
  }

  #useMap(role: Role): void {
    const wanted = this.#given.map?.[role];
    if (wanted === undefined || wanted === "none") return;
    const same = this.#profiles.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
    const found =
      same.find(({ name }) => name === wanted) ?? (same.length === 1 ? same[0] : undefined);
    if (found === undefined) {
      const message = `--map ${role}=…: ${this.#input} has no column ${clip(wanted)}`;
      const hint = `its columns are ${listNames(this.#profiles.map(({ name }) => name))}`;
      throw new VaultError("usage", message, { hint });
    }
    this.#take(role, found, "--map");
  }

  /** Gives a role a column, if it has none yet. */
  #take(
    role: Role,
    profile: Profile | undefined,
    by: Column["by"] = "name",
    more: Partial<Column> = {},
  ): void {
    if (profile === undefined || !this.#isOpen(role)) return;
    this.#columns[role] = { name: profile.name, by, ...more };
    this.#taken.add(profile.name);
  }

  #isOpen(role: Role): boolean {
    return this.#columns[role] === undefined && this.#given.map?.[role] !== "none";
  }

  #free(): Profile[] {
    return this.#profiles.filter(({ name }) => !this.#taken.has(name));
  }

  #profileOf(role: Role): Profile | undefined {
    return this.#profiles.find(({ name }) => name === this.#columns[role]?.name);
  }

  /** Returns the free columns whose name fits, best first. */
  #named(kind: Kind): Profile[] {
    return this.#free()
      .flatMap((profile) => {
        const rank = rankOf(kind, profile.name);
        return rank === null ? [] : [{ profile, rank }];
      })
      .sort((a, b) => a.rank - b.rank)
      .map(({ profile }) => profile);
  }

  /** Returns the free columns whose values fit, but not those of users, sessions and machines. */
  #valued(is: (text: string) => boolean, part = 0.8): Profile[] {
    return this.#free().filter((profile) => !isOthers(profile.name) && mostly(profile, is, part));
  }

  #say(sentence: string): void {
    this.#warnings.push(`${this.#input}: ${sentence}.`);
  }

  /** Says that a column was taken, and not another one. */
  #sayOther(role: Role, { name }: { name: string }, other: Profile): void {
    const [taken, left] = [listNames([name]), listNames([other.name])];
    this.#say(
      `${role}s are those of ${taken}; ${left} has other ones (${mapped(role, other)} takes them)`,
    );
  }

  /**
   * Assigns the vault: a column that is named for it, or for what an item is about, unless the paths of requests name others; the
   * column that has what the paths have, or has uuids that repeat; else the paths themselves.
   */
  #chooseVault(): void {
    if (!this.#isOpen("vault")) return;
    const endpoint = this.#profileOf("endpoint");
    const inPaths = new Map<number, string>();
    for (const [record, path] of endpoint?.values ?? []) {
      const uuid = uuidInEndpoint(path);
      if (uuid !== null) inPaths.set(record, uuid);
    }
    const agrees = ({ values }: Profile): boolean => {
      const both = [...values].filter(([record]) => inPaths.has(record));
      const same = both.filter(([record, value]) => inPaths.get(record) === uuidOf(value));
      return same.length > both.length / 2 || both.length === 0;
    };
    const named = [...this.#named("vault"), ...this.#named("target")].filter((profile) =>
      mostly(profile, isUuid),
    );
    this.#take("vault", varyingFirst(named.filter(agrees)));
    if (inPaths.size > 0) {
      this.#take("vault", this.#valued(isUuid, 0.5).find(agrees) ?? endpoint, "value");
    } else {
      const repeating = this.#repeating();
      const most = repeating.filter(({ distinct }) => distinct === repeating[0]?.distinct);
      if (most.length === 1) this.#take("vault", most[0], "value");
      else if (this.#isOpen("vault")) this.#undecided = most.map(({ name }) => name);
    }
    const contradicting = named.find((profile) => !agrees(profile));
    const taken = this.#columns.vault;
    if (taken !== undefined && contradicting !== undefined)
      this.#sayOther("vault", taken, contradicting);
  }

  /** Columns of uuids that may be the vault's, because they repeat; the one with most values is first. Ids never repeat. */
  #repeating(): Profile[] {
    return this.#valued(isUuid)
      .filter(({ name }) => rankOf("application", name) === null)
      .filter(({ texts, distinct }) => distinct < texts.length || texts.length === 1)
      .sort((a, b) => b.distinct - a.distinct);
  }

  #chooseTime(): void {
    const mapped = this.#profileOf("time");
    if (mapped !== undefined) {
      this.#timeStyle = timeStyleOf(mapped.texts, true, this.#given.now);
      if (this.#timeStyle.share === 0) throw this.#unreadTime(mapped);
      return;
    }
    const candidates = this.#timeCandidates();
    const read = candidates.filter(({ isRead }) => isRead);
    const best =
      read.find(({ profile }) => profile.texts.length === 1 || !this.#isOfVault(profile)) ??
      read[0];
    // Another date must not take the place of the one that is named for the time.
    const unread = candidates.find(
      ({ profile, rank, isRead }) =>
        !isRead &&
        ((rank < 2 && mostly(profile, looks.looksLikeTime)) ||
          (mostly(profile, looks.isPartOfTime) && (best?.rank ?? 4) > 1)),
    );
    if (
      unread !== undefined &&
      (best === undefined || candidates.indexOf(unread) < candidates.indexOf(best))
    )
      throw this.#unreadTime(unread.profile);
    if (best === undefined) return;
    this.#take("time", best.profile, best.rank < 4 ? "name" : "value", defined({ and: best.and }));
    this.#timeStyle = best.style;
    const other = read.find(
      (one) => one !== best && (one.rank < 4 || best.rank > 1) && areApart(best, one),
    );
    if (other !== undefined) this.#sayOther("time", best.profile, other.profile);
  }

  /** Columns that may hold the time, best first. */
  #timeCandidates(): TimeCandidate[] {
    const times = this.#named("time");
    const named = [
      times.filter(({ name }) => !isSystems(name)),
      times.filter(({ name }) => isSystems(name)),
      this.#named("arrival"),
      this.#named("creation").filter((profile) => !this.#isOfVault(profile)),
    ];
    const known = new Set(named.flat());
    const others = this.#free().filter(
      (one) => !known.has(one) && !isProperty(one.name) && mostly(one, looks.isRecentTime, 0.8),
    );
    const candidate = (profile: Profile, rank: number): TimeCandidate => {
      const style = timeStyleOf(profile.texts, rank < 4, this.#given.now);
      return { profile, rank, style, isRead: style.share >= 0.5 };
    };
    const found = [...named, others].flatMap((profiles, rank) =>
      profiles.map((profile) => candidate(profile, rank)),
    );
    const date = times.find((profile) => mostly(profile, looks.isDate));
    const clock = times.find((profile) => mostly(profile, looks.isTimeOfDay));
    if (date === undefined || clock === undefined) return found;
    const joined = [...date.values].map(
      ([at, text]) => [at, `${text} ${clock.values.get(at) ?? ""}`] as const,
    );
    const both = candidate(profileOf(date.name, new Map(joined)), 1);
    return [{ ...both, and: clock.name }, ...found].sort((a, b) => a.rank - b.rank);
  }

  /** Whether all items, or all of a vault, have the same value, so that it tells of the log, or of the vault. */
  #isOfVault(profile: Profile): boolean {
    const vaults = this.#profileOf("vault")?.values;
    const byVault = new Map<string, Set<string>>();
    for (const [record, value] of profile.values) {
      const vault = vaults?.get(record) ?? "";
      byVault.set(vault, (byVault.get(vault) ?? new Set()).add(value));
    }
    const isOne = [...byVault.values()].every(({ size }) => size === 1);
    return !varies(profile) || (isOne && byVault.size < profile.texts.length);
  }

  /** Assigns the action. Known values weigh more than a name: with the early client they are in `description`. */
  #chooseAction(): void {
    const shares = new Map(
      this.#free().map((profile) => {
        const known = profile.texts.filter(looks.looksLikeAction).length;
        return [profile, known / profile.texts.length] as const;
      }),
    );
    const most = Math.max(0, ...shares.values());
    const known = [...shares].filter(([, part]) => part > 0 && part >= most / 2);
    const fits = new Set(known.map(([profile]) => profile));
    this.#take(
      "action",
      this.#named("action").find((one) => most === 0 || fits.has(one)),
    );
    this.#take("action", known.sort(([, a], [, b]) => b - a)[0]?.[0], "value");
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
    const statuses = few("status");
    const failures = few("failure").filter(isFailure);
    const named = [...words, ...few("success"), ...statuses].filter(
      (profile) => !failures.includes(profile),
    );
    const known = [...named.filter(holdsOutcomes), ...failures];
    const errors = this.#named("error").filter(({ texts }) => texts.length < this.#records);
    const told = this.#free().filter((profile) => mostly(profile, looks.isOutcomeWord, 0.8));
    // Words that nobody knows in a column for outcomes are none; that only failed calls have an error does not change that.
    const tellsErrors = ({ values }: Profile): boolean =>
      errors.some((error) => {
        const ofErrors = new Set([...error.values.keys()].map((at) => values.get(at)));
        return [...values].every(([at, text]) => error.values.has(at) || !ofErrors.has(text));
      });
    const unclear = few("failure").filter(
      (one) => varies(one) && !failures.includes(one) && !errors.includes(one),
    );
    const best = [
      ...[...known, ...words.filter((one) => named.includes(one))].filter(varies),
      ...[...named, ...unclear].filter((profile) => varies(profile) && tellsErrors(profile)),
      ...errors,
      ...known,
      ...told.filter(({ distinct }) => distinct <= maxOutcomes),
      ...named.filter((profile) => !statuses.includes(profile) || !this.#isOfVault(profile)),
      ...unclear,
    ][0];
    if (best === undefined) return;
    this.#take("outcome", best, named.includes(best) || !told.includes(best) ? "name" : "value");
    // What only a failed call has is also why.
    if (errors.includes(best) && this.#named("description").length === 0)
      this.#take("description", best);
  }

  /** Says which column could tell the outcome, although its name and values do not. */
  #sayNoOutcome(): void {
    const flag = this.#free().find(
      (profile) =>
        varies(profile) &&
        profile.distinct <= 5 &&
        (mostly(profile, looks.looksLikeFlag, 0.8) || mostly(profile, looks.looksLikeLevel, 0.8)),
    );
    if (flag === undefined) return;
    const shown = [...new Set(flag.texts)].map((text) => clip(text)).join(", ");
    this.#say(
      `no column tells the outcome of calls; ${listNames([flag.name])} holds ${shown} and is not taken for it (${mapped("outcome", flag)})`,
    );
  }

  /** Makes the reader of the times, and says what it takes for granted. */
  #timeReader(): TimeReader {
    const style = this.#timeStyle;
    if (style === undefined) return new TimeReader();
    const { name = "" } = this.#columns.time ?? {};
    const beside = this.#named("zone").find((one) => !varies(one) && zoneOf(one.texts[0] ?? ""));
    const ofColumn = /utc|gmt/i.test(name) ? "UTC" : beside?.texts[0];
    const { zone = ofColumn ?? "UTC" } = this.#given;
    const shown = listNames([name]);
    const { zoneless, unclear, isDayFirst } = style;
    if (zoneless !== undefined && this.#given.zone === undefined && ofColumn === undefined)
      this.#say(
        `times of ${shown}, like ${clip(zoneless)}, have no time zone and are read as UTC; name theirs with --zone, like --zone Europe/Berlin`,
      );
    const zones = [...style.zones].slice(0, 5).join(", ");
    if (zones !== "")
      this.#say(
        `zones of ${shown} are read by their abbreviations, ${zones}; have times exported in UTC if they mean others`,
      );
    if (unclear !== undefined)
      this.#say(
        `dates of ${shown}, like ${clip(unclear)}, are read with the ${isDayFirst ? "day before the month" : "month before the day"}; if that is wrong, ${timesHint}`,
      );
    return new TimeReader(style, zoneOf(zone), (text) =>
      this.#say(
        `${clip(text)} comes twice in ${zone}, when clocks go back, and is read as the first time; have times exported in UTC`,
      ),
    );
  }

  #unreadTime({ name, texts }: Profile): VaultError {
    const unread = texts.find((text) => looks.looksLikeTime(text)) ?? texts[0] ?? "";
    return new VaultError(
      "invalid-input",
      `${this.#input}: found no column for time; ${listNames([name])} holds ${clip(unread)}, ${looks.whyNoTime(unread)}`,
      { hint: `${timesHint}; or name another column with --map time=COLUMN` },
    );
  }

  #checkFound(): void {
    const required = ["time", "action", "vault"] as const;
    const missing = required.filter((role) => this.#columns[role] === undefined);
    if (missing.length === 0) return;
    const [almost] = missing.join() === "time" ? this.#named("time") : [];
    if (almost !== undefined) throw this.#unreadTime(almost);
    const either = this.#undecided.map((name) => listNames([name])).join(" or ");
    const note = either === "" ? "" : `; the vault may be ${either}`;
    const names = listNames(this.#profiles.map(({ name }) => name));
    const flag = `--map ${missing.map((role) => `${role}=COLUMN`).join(",")}`;
    throw new VaultError(
      "invalid-input",
      `${this.#input}: found no column for ${missing.join(", ")}${note}`,
      { hint: `name it with ${flag}; the columns are ${names}` },
    );
  }
}

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

const mapped = (role: Role, { name }: Profile): string =>
  `--map ${/^[\w.@ -]{1,60}$/.test(name) ? shellWord(`${role}=${name}`) : `${role}=COLUMN`}`;

export const timesHint =
  "have it exported with times in ISO 8601, or format that column like 2026-11-20T14:02:11Z";
