import type { ExchangeSummary, VaultError } from "../errors.ts";
import { unlockedOf } from "../exchange/ways.ts";
import { grouped } from "../terminal/count.ts";
import type { Way } from "../way.ts";
import { command, withWords } from "../way.ts";

/** Why nothing is sent for a vault. */
export type SkipReason = "held" | "locked" | "guard" | "limited";

/** Why a vault is skipped, in words, and what helps. */
export const skipWords: Readonly<Record<SkipReason, { why: string; help: string }>> = {
  held: {
    why: "an exchange is held",
    help: "--discard-pending starts again with the old credentials",
  },
  locked: {
    why: "the vault is locked, or gone",
    help: "an administrator can unlock it in the console",
  },
  guard: {
    why: "the lockout guard would refuse the start",
    help: "the counters toward lockout say why",
  },
  limited: {
    why: "the number of its reads is limited",
    help: "another run with --out-dir or --exec keeps what they deliver",
  },
};

/** Stands for any vault of a group. */
const anyVault = "VAULT";

/**
 * The commands that help vaults that are skipped; `names` are theirs, or a word that stands for them, `rest` is the line that continues
 * the run. What is held may be what nobody has received: it is read again first.
 */
const skipWays: Readonly<Record<SkipReason, (names: readonly string[], rest: Way) => Way[]>> = {
  held: (names, rest) => [
    { argv: withWords(rest, "--discard-pending").argv },
    {
      ...command`vault ack ${names.includes(anyVault) ? "--all" : names}`,
      note: "finishes what is held",
    },
  ],
  locked: ([name = ""]) => [
    unlockedOf(name),
    { ...command`vault get ${name}`, note: "asks the service again where it is gone" },
  ],
  guard: (names) => [{ ...command`vault guard ${names}`, note: "shows the counters" }],
  limited: () => [],
};

/** What became of a vault. `earlier`: before this command, in the same run; `stopped`: the command ended before its turn. */
export type Outcome =
  | { ok: true; earlier?: true }
  | { ok: false; error: VaultError }
  | { ok: false; skipped: SkipReason | "stopped"; exchange?: ExchangeSummary };

/** Vaults with the same cause. */
interface Group {
  count: number;
  /** The first ones. */
  uuids: string[];
}

/**
 * Message and hint are of the first vault, with secrets replaced; the ways are those of all. `stays`: the same command would skip these
 * vaults.
 */
type Failure = Group & {
  code: string;
  message: string;
  hint: string | undefined;
  next: Way[];
  stays: boolean;
};

/** What is said of a group: lines, and the ways on below them. */
interface Told {
  lines: string[];
  next: Way[];
}

/** What went wrong in a run, grouped by error code and ways on. Its size does not grow with the number of vaults. */
export interface Causes {
  fail(uuid: string, error: VaultError): void;
  skip(uuid: string, reason: SkipReason): void;
  /** Formats the groups for a person, those with most vaults first. */
  told(): Told[];
  /** The groups by their codes: `2 failed (rejected), 1 skipped (guard)`. */
  inShort(): string;
  /** The number of vaults that the same command would skip, and what helps them. */
  staying(): { count: number; hint: string | undefined; next: Way[] };
}

/** Maximum number of vaults that a group names. */
const mostNamed = 3;

/** Maximum number of groups; further failures are grouped by error code alone. */
const mostGroups = 15;

/** The way for any vault of a group. */
const forAny = ({ argv, fill = [], ...way }: Way, uuid: string): Way =>
  argv.includes(uuid)
    ? {
        argv: argv.map((word) => (word === uuid ? anyVault : word)),
        ...way,
        fill: [anyVault, ...fill],
      }
    : { argv, ...way, ...(fill.length > 0 ? { fill } : {}) };

/** Collects causes. `redact` is applied at once, because the secrets of an exchange are forgotten with it. */
export function createCauses(
  redact: (text: string) => string,
  operation: "get" | "update" | "ack",
  rest: Way,
): Causes {
  const failures = new Map<string, Failure>();
  const skips = new Map<SkipReason, Group>();
  return {
    fail: (uuid, { code, message, facts }) => {
      const ways = (facts.next ?? []).map(({ argv, ...way }) => ({
        argv: argv.map(redact),
        ...way,
      }));
      const key = JSON.stringify([code, ways.map((way) => forAny(way, uuid))]);
      const isTold = failures.has(key) || failures.size < mostGroups;
      addTo(failures, isTold ? key : code, uuid, () => ({
        code,
        message: isTold ? redact(message) : "other errors",
        hint: isTold && facts.hint !== undefined ? redact(facts.hint) : undefined,
        next: isTold ? ways : [],
        stays: isTold && willStay(code, facts, operation),
      }));
    },
    skip: (uuid, reason) => addTo(skips, reason, uuid, () => ({})),
    told: () => {
      const mostFirst = (a: Group, b: Group): number => b.count - a.count;
      const failed = [...failures.values()].toSorted(mostFirst);
      const skipped = [...skips].toSorted(([, a], [, b]) => mostFirst(a, b));
      return [
        ...failed.map((failure) => ({
          lines: [
            `${grouped(failure.count)} failed (${failure.code})${failure.count === 1 ? "" : ", the first"}: ${failure.message}`,
            named(failure),
            ...(failure.hint === undefined ? [] : [`  hint: ${failure.hint}`]),
          ],
          next: waysOf(failure),
        })),
        ...skipped.map(([reason, group]) => ({
          lines: [
            `${grouped(group.count)} skipped (${reason}): ${skipWords[reason].why}`,
            named(group),
            `  hint: ${skipWords[reason].help}`,
          ],
          next: skipWays[reason](namesOf(group), rest),
        })),
      ];
    },
    inShort: () => {
      const codes = Map.groupBy(failures.values(), ({ code }) => code);
      const failed = [...codes].map(
        ([code, groups]) =>
          `${grouped(groups.reduce((sum, group) => sum + group.count, 0))} failed (${code})`,
      );
      return [
        ...failed,
        ...[...skips].map(([reason, group]) => `${grouped(group.count)} skipped (${reason})`),
      ].join(", ");
    },
    staying: () => {
      const failed = [...failures.values()].filter(({ stays }) => stays);
      const groups = [...failed, ...skips.values()];
      const next = [
        ...failed.flatMap(waysOf),
        ...[...skips].flatMap(([reason, group]) => skipWays[reason](namesOf(group), rest)),
      ];
      return {
        count: groups.reduce((sum, group) => sum + group.count, 0),
        hint: [...skips.keys()].map((reason) => skipWords[reason].help)[0],
        next: [...new Map(next.map((way) => [JSON.stringify(way), way])).values()],
      };
    },
  };
}

/** Whether a repetition of the command skips a vault that has failed so, or fails again: until a person does something. */
const willStay = (code: string, { exchange }: VaultError["facts"], operation: string): boolean =>
  code === "locked" ||
  code === "guard" ||
  code === "rejected" ||
  (code === "pending" && exchange?.state === "held") ||
  // Only a read finds out.
  (code === "in-doubt" && operation === "ack");

function addTo<K, G extends Group>(
  groups: Map<K, G>,
  key: K,
  uuid: string,
  first: () => Omit<G, keyof Group>,
): void {
  const group = groups.get(key) ?? ({ ...first(), count: 0, uuids: [] as string[] } as G);
  groups.set(key, group);
  group.count += 1;
  if (group.uuids.length < mostNamed) group.uuids.push(uuid);
}

/** One vault has its own ways; several have those of any. */
const waysOf = ({ count, uuids: [uuid = ""], next }: Failure): Way[] =>
  count === 1 ? next : next.map((way) => forAny(way, uuid));

/** The vaults of a group, if all are known, or the word that stands for them. */
const namesOf = ({ count, uuids }: Group): string[] =>
  count === uuids.length ? uuids : [anyVault];

/** Names the vaults of a group. */
const named = ({ count, uuids }: Group): string =>
  `  ${uuids.join(", ")}${count > mostNamed ? ` and ${grouped(count - mostNamed)} more` : ""}`;
