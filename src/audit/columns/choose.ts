import type { Columns } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { shellWord } from "../../way.ts";
import type { ColumnMap } from "../flags.ts";
import { clip, listNames } from "../read/clip.ts";
import { eventOfEndpoint } from "../meaning/actions.ts";
import { describedOutcome, isNumber, outcomeOf, reasonOf, saysNothing } from "../meaning/words.ts";
import type { Fields } from "../read/fields.ts";
import { roles, type Role } from "../read/item.ts";
import { TimeReader, timesHint, zoneOf } from "./times.ts";
import * as looks from "./looks.ts";

/** What the user said about columns and times. */
export interface Given {
  map?: ColumnMap | undefined;
  zone?: string | undefined;
  /** Current time in milliseconds since the epoch. */
  now?: number | undefined;
  /** Columns of this machine's journal, which are not looked for. */
  columns?: Columns | undefined;
}

/** The columns of an input, and how its times are read. */
export interface Choice {
  columns: Columns;
  times: TimeReader;
  /** Whether the column of outcomes has successes: an item without one may be a failure. */
  hasSuccesses: boolean;
  /** Whether a column calls all calls accepted, also those whose texts tell failed attempts. */
  isContradicted: boolean;
  /** Whether a column counts the items that a row stands for. */
  isCounted: boolean;
  /** Ambiguous choices, each with the flag that decides it. Grows while times are read. */
  warnings: string[];
}

/**
 * Assigns columns to roles by the map, then names and values. Exact names win over contained ones,
 * varying columns over constant ones; contradictions lose. Without records there are none.
 *
 * @throws `usage` for an unknown mapped column, `invalid-input` if time, action or vault is missing
 */
export function chooseColumns(
  sample: readonly { fields: Fields }[],
  given: Given,
  input: string,
): Choice {
  if (given.columns === undefined && sample.length > 0)
    return new Search(withClock(profilesOf(sample)), given, input).choose();
  const { columns = {} } = given;
  const times = new TimeReader();
  const none = { hasSuccesses: false, isContradicted: false, isCounted: false };
  return { columns, times, ...none, warnings: [] };
}

/** Returns the text of a record's time, of one column or two; empty if it has none. */
export const timeIn = (fields: Fields, { time }: Columns): string =>
  `${fields.get(time?.name ?? "") ?? ""} ${fields.get(time?.and ?? "") ?? ""}`.trim();

interface Profile {
  name: string;
  /** By the number of their record. */
  values: ReadonlyMap<number, string>;
  texts: readonly string[];
  /** Numbers of records by value: what a text means is found out once. */
  counts: ReadonlyMap<string, number>;
  /** Number of different values, ignoring case. */
  distinct: number;
  isWhole: boolean;
  /** Of a date: the column with the time of day, which its values have too. */
  and?: string;
}

/** Profiles the columns, in the order of their first appearance. */
function profilesOf(records: readonly { fields: Fields }[]): Profile[] {
  const found = new Map<string, Map<number, string>>();
  for (const [record, { fields }] of records.entries()) {
    for (const [name, value] of fields) {
      if (saysNothing(value)) continue;
      const values = found.get(name) ?? new Map<number, string>();
      found.set(name, values.set(record, value.trim()));
    }
  }
  return [...found].map(([name, values]) =>
    profileOf(name, values, values.size === records.length),
  );
}

function profileOf(name: string, values: Profile["values"], isWhole: boolean): Profile {
  const texts = [...values.values()];
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const distinct = new Set(texts.map((text) => text.toLowerCase())).size;
  return { name, values, texts, counts, distinct, isWhole };
}

/** Gives a date the time of day that is in a column of its own. */
function withClock(profiles: readonly Profile[]): readonly Profile[] {
  const times = profiles.filter(({ name }) => looks.rankOf("time", name) < Infinity);
  const date = times.find((one) => mostly(one, looks.isDate));
  const clock = times.find((one) => mostly(one, looks.isTimeOfDay));
  if (date === undefined || clock === undefined) return profiles;
  const at = (record: number): string => clock.values.get(record) ?? "";
  const both = [...date.values].map(([record, day]) => [record, `${day} ${at(record)}`] as const);
  const dated = { ...profileOf(date.name, new Map(both), date.isWhole), and: clock.name };
  return profiles.map((one) => (one === date ? dated : one));
}

/** Whether a share of the values matches, half of them if no other is given. */
function mostly({ texts, counts }: Profile, is: (text: string) => boolean, part = 0.5): boolean {
  let others = texts.length * (1 - part) + 1e-9;
  return [...counts].every(([text, count]) => is(text) || (others -= count) >= 0);
}

const countOf = ({ counts }: Profile, is: (text: string) => boolean): number =>
  [...counts].reduce((sum, [text, count]) => sum + (is(text) ? count : 0), 0);

const varies = ({ distinct }: Profile): boolean => distinct > 1;

const varyingFirst = (profiles: readonly Profile[]): Profile | undefined =>
  profiles.find(varies) ?? profiles[0];

const isUuid = (text: string): boolean => looks.uuidOf(text) !== null;

/** Whether the "true" of a column, or any number but 0, is a failure. */
const isFailure = (profile: Profile): boolean =>
  looks.rankOf("failure", profile.name) < Infinity &&
  (mostly(profile, looks.looksLikeFlag, 0.8) ||
    (profile.texts.includes("0") && mostly(profile, isNumber, 0.8)));

const isInverted = (profile: Profile): boolean | undefined =>
  isFailure(profile) || looks.isInverted(profile);

const holdsOutcomes = (profile: Profile): boolean => {
  const inverted = isInverted(profile);
  return mostly(profile, (text) => outcomeOf(text, inverted) !== "unclear");
};

/** Whether a column's values are words for both outcomes. Flags and numbers need a telling name. */
const tellsOutcomes = (profile: Profile): boolean => {
  const outcomes = new Set([...profile.counts.keys()].map((text) => outcomeOf(text)));
  const isOther = (text: string): boolean => looks.looksLikeFlag(text) || isNumber(text);
  return (
    outcomes.size === 2 &&
    !outcomes.has("unclear") &&
    looks.rankOf("reason", profile.name) === Infinity &&
    !profile.texts.some(isOther)
  );
};

interface TimeCandidate extends Profile {
  /** Place of the kind of its name, and whether others go before it. */
  rank: number;
  reader: TimeReader;
}

const timeAt = ({ values, reader }: TimeCandidate, record: number): number =>
  reader.parse(values.get(record) ?? "") ?? Number.NaN;

/** Whether two columns have times of an item so far apart that it matters which is taken. */
const areApart = (one: TimeCandidate, other: TimeCandidate): boolean =>
  [...one.values.keys()].some((at) => Math.abs(timeAt(one, at) - timeAt(other, at)) > 10_000);

const timeKinds = ["time", "arrival", "creation"] as const;
/** Rank of a column whose name means no time. */
const unnamed = 2 * timeKinds.length;

/** Kinds of names for the columns of a role; by default, only the role's own name. */
const kindsOf: Partial<Record<Role, readonly looks.Kind[]>> = {
  time: timeKinds,
  vault: ["vault", "target"],
  outcome: ["outcome", "success", "status", "failure", "error"],
};

/** Roles assigned to columns so far. Only the map can give a column several roles. */
class Search {
  readonly #columns: Columns = {};
  readonly #warnings: string[] = [];
  readonly #profiles: readonly Profile[];
  readonly #given: Given;
  readonly #input: string;

  constructor(profiles: readonly Profile[], given: Given, input: string) {
    this.#profiles = profiles;
    this.#given = given;
    this.#input = input;
  }

  choose(): Choice {
    for (const role of roles) this.#useMap(role);
    const [path] = this.#named("endpoint", (text) => text.includes("/"));
    this.#take("endpoint", path ?? this.#valued(looks.looksLikeEndpoint, 0.5)[0]);
    this.#chooseVault();
    this.#chooseTime();
    this.#chooseAction();
    this.#take("ip", varyingFirst(this.#named("ip", looks.looksLikeAddress)));
    this.#take("app", this.#named("app")[0]);
    this.#take("ref", this.#named("ref")[0]);
    const isContradicted = this.#chooseOutcome();
    this.#chooseReason();
    // A name like `uuid` may also mean the vault's, but ids of items rarely come more than twice.
    const isId = ({ texts, distinct }: Profile): boolean => distinct * 2 >= texts.length;
    this.#take("id", this.#named("id").find(isId));
    // By values only what no role has by name: ids may come twice, and references be addresses.
    this.#take("ip", this.#valued(looks.looksLikeAddress)[0]);
    this.#take("app", this.#repeating()[0]);
    const isSingle = (one: Profile) => one.distinct === one.texts.length;
    const single = this.#free().find((one) => isSingle(one) && mostly(one, isUuid, 0.8));
    this.#take("id", single);
    const missing = (["time", "action", "vault"] as const).filter((role) => !this.#columns[role]);
    if (missing.length > 0)
      throw this.#notFound(missing.join(", "), `the columns are ${this.#names}; name it`, missing);
    const columns = Object.fromEntries(
      roles.flatMap((role) => (this.#columns[role] ? [[role, this.#columns[role]]] : [])),
    );
    const outcome = this.#column("outcome");
    const inverted = outcome && isInverted(outcome);
    const hasSuccesses =
      outcome !== undefined &&
      looks.rankOf("error", outcome.name) === Infinity &&
      countOf(outcome, (text) => outcomeOf(text, inverted) === "good") > 0;
    const times = this.#timeReader();
    const isCount = ({ name, texts }: Profile): boolean =>
      /^(?:(?:event|item|doc|dup)?_?c(?:oun|n)t(?: of (?:events|records|items|rows))?|number[ _]of[ _]events|anzahl(?: (?:der )?ereignisse)?|hits|oc+urrenc(?:es|ias)|nombre|repeat(?:s|ed|_?count)?|times|recuento|conteggio|aantal|quantity|frequency|h[aä]ufigkeit|suppressed)(?:\(.*\))?$/i.test(
        name,
      ) && texts.some((text, at) => Number(text) > 1 && Number(text) !== at + 1);
    const isCounted = this.#free().some(isCount);
    return { columns, times, hasSuccesses, isContradicted, isCounted, warnings: this.#warnings };
  }

  get #names(): string {
    return listNames(this.#profiles.map(({ name }) => name));
  }

  #useMap(role: Role): void {
    const wanted = this.#given.map?.[role];
    if (wanted === undefined || wanted === "none") return;
    const found =
      this.#profiles.find(({ name }) => name === wanted) ??
      this.#profiles.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
    if (found === undefined) {
      const message = `--map ${role}=…: ${this.#input} has no column ${clip(wanted)}`;
      throw new VaultError("usage", message, { hint: `its columns are ${this.#names}` });
    }
    this.#take(role, found, "--map");
  }

  /** Gives a role a column, if it has none yet. */
  #take(role: Role, profile: Profile | undefined, by?: "--map"): void {
    if (profile === undefined || !this.#isOpen(role)) return;
    const { name, and } = profile;
    const isNamed = (kindsOf[role] ?? [role]).some((kind) => looks.rankOf(kind, name) < Infinity);
    this.#columns[role] = {
      name,
      by: by ?? (isNamed ? "name" : "value"),
      ...(role === "outcome" && isFailure(profile) && { inverted: true }),
      ...(and !== undefined && { and }),
    };
  }

  #isOpen(role: Role): boolean {
    return this.#columns[role] === undefined && this.#given.map?.[role] !== "none";
  }

  #free(): Profile[] {
    const taken = new Set(Object.values(this.#columns).map(({ name }) => name));
    return this.#profiles.filter(({ name }) => !taken.has(name));
  }

  #column(role: Role): Profile | undefined {
    return this.#profiles.find(({ name }) => name === this.#columns[role]?.name);
  }

  /** Returns the free columns whose name fits, and most of their values, best first. */
  #named(kind: looks.Kind, is: (text: string) => boolean = () => true): Profile[] {
    return this.#free()
      .map((profile) => ({ profile, rank: looks.rankOf(kind, profile.name) }))
      .filter(({ profile, rank }) => rank < Infinity && mostly(profile, is))
      .sort((a, b) => a.rank - b.rank)
      .map(({ profile }) => profile);
  }

  /** Returns the free columns whose values fit, but not those of users, sessions and machines. */
  #valued(is: (text: string) => boolean, part = 0.8): Profile[] {
    return this.#free().filter(
      (profile) => !looks.isOthers(profile.name) && mostly(profile, is, part),
    );
  }

  /** Columns of uuids that repeat, as the vault's do and ids never; most different values first. */
  #repeating(): Profile[] {
    return this.#valued(isUuid)
      .filter(({ name }) => looks.rankOf("app", name) === Infinity)
      .filter(({ texts, distinct }) => distinct < texts.length || texts.length === 1)
      .sort((a, b) => b.distinct - a.distinct);
  }

  /**
   * Assigns the vault: a column named for it or for what an item is about, unless request paths
   * name others; else one that agrees with the paths, the paths, or one whose uuids repeat.
   */
  #chooseVault(): void {
    if (!this.#isOpen("vault")) return;
    const endpoint = this.#column("endpoint");
    const inPath = (record: number) => looks.uuidInEndpoint(endpoint?.values.get(record) ?? "");
    const agrees = ({ values }: Profile): boolean => {
      const both = [...values].filter(([record]) => inPath(record) !== null);
      const same = both.filter(([record, value]) => inPath(record) === looks.uuidOf(value));
      return same.length > both.length / 2 || both.length === 0;
    };
    const named = [...this.#named("vault"), ...this.#named("target")];
    const ofUuids = named.filter((profile) => mostly(profile, isUuid));
    this.#take("vault", varyingFirst(ofUuids.filter(agrees)));
    if (endpoint?.texts.some((text) => looks.uuidInEndpoint(text) !== null) === true)
      this.#take("vault", this.#valued(isUuid, 0.5).find(agrees) ?? endpoint);
    const [most, next] = this.#repeating();
    if (most === undefined || most.distinct !== next?.distinct)
      this.#take("vault", most ?? named[0]);
    const other = ofUuids.find((one) => !agrees(one));
    this.#sayOther("vault", other);
  }

  #chooseTime(): void {
    if (!this.#isOpen("time")) return;
    const candidates = this.#timeCandidates();
    const read = candidates.filter(({ reader }) => reader.share >= 0.5);
    const best = read.find((one) => !this.#isOfVault(one)) ?? read[0];
    const rank = best?.rank ?? unnamed;
    // Another date must not take the place of the one that is named for the time.
    const unread = candidates
      .slice(0, best === undefined ? undefined : candidates.indexOf(best))
      .filter((one) => one.rank < 2 && !read.includes(one))
      .find((one) => mostly(one, rank > 1 ? looks.isTimeOrPart : looks.looksLikeTime));
    if (unread !== undefined) throw this.#unreadTime(unread);
    if (best === undefined) return;
    this.#take("time", best);
    const others = read.filter((one) => one !== best && (one.rank < unnamed || rank > 1));
    const other = others.find((one) => areApart(best, one));
    this.#sayOther("time", other);
  }

  #timeCandidates(): TimeCandidate[] {
    const named = timeKinds.flatMap((kind, index) =>
      this.#named(kind)
        .filter((one) => kind !== "creation" || !this.#isOfVault(one))
        .map((one) => ({ ...one, rank: 2 * index + Number(looks.isSecondary(one.name)) })),
    );
    const others = this.#free()
      .filter(({ name }) => !looks.isProperty(name) && named.every((one) => one.name !== name))
      .filter((one) => mostly(one, looks.isRecentTime, 0.8))
      .map((one) => ({ ...one, rank: unnamed }));
    const found = [...named, ...others].sort((a, b) => a.rank - b.rank);
    return found.map((one) => {
      const reading = { isNamed: one.rank < unnamed, now: this.#given.now };
      return { ...one, reader: new TimeReader(one.texts, reading) };
    });
  }

  /** Whether all items, or all of a vault, share a value, which is about the log or the vault. */
  #isOfVault(profile: Profile): boolean {
    const vaults = this.#column("vault")?.values;
    const byVault = [...profile.values].map(([at, text]) => [vaults?.get(at) ?? "", text] as const);
    const known = new Map(byVault);
    const isOne = byVault.every(([vault, text]) => known.get(vault) === text);
    return byVault.length > 1 && (!varies(profile) || (isOne && known.size < byVault.length));
  }

  /** Assigns the action. Known values outweigh names: the early client's are in `description`. */
  #chooseAction(): void {
    const shareOf = (one: Profile) => countOf(one, looks.looksLikeAction) / one.texts.length;
    const most = Math.max(...this.#free().map(shareOf));
    const named = this.#named("action").find((one) => shareOf(one) * 2 >= most);
    const best = this.#free().find((one) => most > 0 && shareOf(one) === most);
    const endpoint = this.#column("endpoint");
    const isCall = endpoint?.texts.some((text) => eventOfEndpoint(text) !== undefined) === true;
    const method = this.#free().find((one) => one.isWhole && mostly(one, looks.isMethod, 1));
    const ofCall = isCall ? (method ?? endpoint) : undefined;
    this.#take("action", named && (varies(named) || !isCall) ? named : (best ?? ofCall ?? named));
  }

  /**
   * Assigns the outcome: a column with a telling name, words that can be nothing else, or what only
   * failed calls have. Without a name, true and false, levels and numbers are none. Returns
   * `isContradicted`.
   */
  #chooseOutcome(): boolean {
    const isFew = ({ distinct }: Profile): boolean => distinct <= 12;
    const errors = this.#named("error").filter(({ isWhole }) => !isWhole);
    const words = [...this.#named("outcome"), ...this.#named("success")].filter(isFew);
    const codes = [...this.#named("status"), ...this.#named("failure")].filter(isFew);
    const reasons = this.#named("reason");
    const ofSecrets = (text: string): boolean =>
      /^(?:credentials|device|pin)$/.test(reasonOf(undefined, [text]) ?? "");
    // A status 200 of all calls, also of those whose text tells a failed attempt, is another one.
    const isOfAll = (one: Profile): boolean =>
      reasons.some(
        (reason) =>
          // A note beside one of hundreds of accepted calls is no sign of it.
          reason.name !== one.name && countOf(reason, ofSecrets) * 200 >= one.texts.length,
      ) &&
      ((isFailure(one) && one.isWhole && !varies(one)) ||
        [...one.counts.keys()].every((text) => outcomeOf(text, isInverted(one)) === "good"));
    const named = [...new Set([...words, ...codes])].filter(
      (one) => !errors.includes(one) && !isOfAll(one),
    );
    const known = named.filter(holdsOutcomes);
    // What calls an item good that its text calls refused is the outcome of something else.
    const contradicts = ({ values }: Profile): boolean =>
      [...values].some(([at, text]) => {
        const isRefused = ({ values: texts }: Profile): boolean =>
          describedOutcome(texts.get(at) ?? "") === "bad";
        return outcomeOf(text) === "good" && reasons.some(isRefused);
      });
    const permissions = this.#named("permission").filter(holdsOutcomes);
    const told = [...permissions.filter(varies), ...this.#free().filter(tellsOutcomes)].filter(
      (one) => isFew(one) && !contradicts(one),
    );
    // Unknown words in a column for outcomes are none, even if only failed calls have an error.
    const tellsErrors = ({ values }: Profile): boolean =>
      errors.some((error) => {
        const ofErrors = new Set([...error.values.keys()].map((at) => values.get(at)));
        return [...values].every(([at, text]) => error.values.has(at) || !ofErrors.has(text));
      });
    const [best] = [
      ...[...known, ...words].filter((one) => varies(one) && named.includes(one)),
      ...named.filter((one) => varies(one) && tellsErrors(one)),
      ...errors.filter(holdsOutcomes),
      ...errors,
      ...known,
      ...told,
      ...named.filter((one) => words.includes(one) || !this.#isOfVault(one)),
    ];
    const isOpen = this.#isOpen("outcome");
    this.#take("outcome", best);
    // What calls all accepted may be about something else, if other words tell them apart.
    const isOfLog = best?.isWhole === true && !varies(best);
    const [other] = isOfLog ? told : [...words, ...codes].filter((one) => !best && isOfAll(one));
    if (other === undefined || !isOpen) return false;
    this.#sayOther("outcome", other);
    return true;
  }

  /** Assigns the reason: the text with most refusal reasons, else what only failed calls have. */
  #chooseReason(): void {
    const outcome = this.#column("outcome");
    const isReason = (text: string): boolean => describedOutcome(text) === "bad";
    const texts = this.#named("reason", (text) => !looks.looksLikeFlag(text));
    const found = texts.map((one) => ({ one, reasons: countOf(one, isReason) }));
    const [best] = found.sort((a, b) => b.reasons - a.reasons);
    const isError = outcome?.isWhole === false && looks.rankOf("error", outcome.name) < Infinity;
    this.#take("reason", best?.one ?? (isError ? outcome : undefined));
    if (outcome !== undefined || (best?.reasons ?? 0) > 0) return;
    const isFlag = (text: string) => looks.looksLikeFlag(text) || looks.looksLikeLevel(text);
    const few = this.#free().filter((one) => varies(one) && one.distinct <= 5);
    const flag = few.find((one) => mostly(one, isFlag, 0.8));
    const words = few.find((one) => !looks.isOthers(one.name) && this.#isOfCalls(one));
    this.#sayOther("outcome", flag ?? words);
  }

  /** Whether calls of one vault with one action have different words. */
  #isOfCalls({ values, texts }: Profile): boolean {
    const [actions, vaults] = [this.#column("action")?.values, this.#column("vault")?.values];
    const calls = [...values].map(
      ([at, text]) => [`${actions?.get(at)} ${vaults?.get(at)}`, text] as const,
    );
    const known = new Map(calls);
    const areWords = texts.every((text) => /^\p{L}{2,}$/u.test(text));
    return areWords && calls.some(([call, text]) => known.get(call) !== text);
  }

  #say(sentence: string): void {
    this.#warnings.push(`${this.#input}: ${sentence}.`);
  }

  /** Says that a column was not taken, but could have been meant. */
  #sayOther(role: Role, other: Profile | undefined): void {
    if (other === undefined) return;
    const { name } = other;
    const taken = this.#columns[role]?.name;
    const shown = taken === undefined ? "no column" : listNames([taken]);
    const word = /^[\w.@ -]{1,60}$/.test(name) ? shellWord(`${role}=${name}`) : `${role}=COLUMN`;
    this.#say(`${shown} is taken for ${role}; --map ${word} takes ${listNames([name])}`);
  }

  /** Makes the reader of the times, and says what it takes for granted. */
  #timeReader(): TimeReader {
    const time = this.#column("time") as Profile;
    const { name } = time;
    const beside = this.#named("zone").find((one) => !varies(one) && zoneOf(one.texts[0] ?? ""));
    // An abbreviation in a header does not know of summers.
    const [own = ""] =
      /(?<=[([])(?:[a-z]+\/\w+|(?:utc|gmt)?[+-][\d:]+)(?=[)\]]$)/i.exec(name) ?? [];
    const named = zoneOf(own) ? own : /utc|gmt/i.test(name) ? "UTC" : undefined;
    const known = this.#given.zone ?? named ?? beside?.texts[0];
    const reader = new TimeReader(time.texts, {
      now: this.#given.now,
      zone: zoneOf(known ?? ""),
      say: (text, why) => this.#say(`times of ${listNames([name])}, like ${clip(text)}, ${why}`),
    });
    if (reader.share === 0) throw this.#unreadTime(time);
    return reader;
  }

  #unreadTime({ name, texts }: Profile): VaultError {
    const unread = texts.find((text) => looks.looksLikeTime(text)) ?? texts[0] ?? "";
    const why = `${listNames([name])} holds ${clip(unread)}, which is no whole time in a form that is known`;
    return this.#notFound(`time; ${why}`, `${timesHint}; or name another column`, ["time"]);
  }

  #notFound(what: string, hint: string, missing: readonly Role[]): VaultError {
    const flag = `--map ${missing.map((role) => `${role}=COLUMN`).join(",")}`;
    const message = `${this.#input}: found no column for ${what}`;
    return new VaultError("invalid-input", message, { hint: `${hint} with ${flag}` });
  }
}
