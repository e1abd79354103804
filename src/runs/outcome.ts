import type { ExchangeSummary, VaultError } from "../errors.ts";
import { grouped } from "../terminal/count.ts";
import { hintLines } from "../terminal/narrator.ts";
import { printableLine } from "../terminal/redactor.ts";

/** Why nothing is sent for a vault. */
export type SkipReason = "held" | "locked" | "guard" | "limited";

/** Why a vault is skipped, in words, and what helps. */
export const skipWords: Readonly<Record<SkipReason, { why: string; help: string }>> = {
  held: { why: "an exchange is held", help: "vault ack finishes it, --discard-pending drops it" },
  locked: {
    why: "the vault is locked, or gone",
    help: "an administrator can unlock it in the console",
  },
  guard: {
    why: "the lockout guard would refuse the start",
    help: "vault guard shows the counters and what to do",
  },
  limited: {
    why: "the number of its reads is limited",
    help: "another run with --out-dir or --exec keeps what they deliver",
  },
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

/** Message and hint are of the first vault, with secrets replaced. `stays`: the same command would skip these vaults. */
type Failure = Group & { code: string; message: string; hint: string | undefined; stays: boolean };

/** What went wrong in a run, grouped by cause. Its size does not grow with the number of vaults. */
export interface Causes {
  fail(uuid: string, error: VaultError): void;
  skip(uuid: string, reason: SkipReason): void;
  /** Formats the groups for a person, each with the commands that help. */
  lines(): string[];
  /** The groups by their codes: `2 failed (rejected), 1 skipped (guard)`. */
  inShort(): string;
  /** The number of vaults that the same command would skip, and what helps them. */
  staying(): { count: number; ways: string[] };
}

/** Maximum number of vaults that a group names. */
const mostNamed = 3;

/** Maximum number of messages told apart; further ones are grouped by error code. */
const mostMessages = 20;

/** What differs from vault to vault in messages with the same meaning: ids of vaults and exchanges, generations, seconds. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, "VAULT"],
  [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, "ID"],
  [/\bgeneration \d+/g, "generation N"],
  [/\b[\d.]+s\b/g, "Ns"],
];

const alike = (text: string): string =>
  varying.reduce((result, [pattern, name]) => result.replaceAll(pattern, name), text);

/** Collects causes. `redact` is applied at once, because the secrets of an exchange are forgotten with it. */
export function createCauses(
  redact: (text: string) => string,
  operation: "get" | "update" | "ack",
): Causes {
  const failures = new Map<string, Failure>();
  const skips = new Map<SkipReason, Group>();
  return {
    fail: (uuid, { code, message, facts }) => {
      const key = `${code} ${alike(redact(message))}`;
      if (failures.has(key) || failures.size < mostMessages) {
        const hint = facts.hint === undefined ? undefined : redact(facts.hint);
        addTo(failures, key, uuid, () => ({
          code,
          message: redact(message),
          hint,
          stays: willStay(code, facts, operation),
        }));
      } else
        addTo(failures, code, uuid, () => ({
          code,
          message: "other errors",
          hint: undefined,
          stays: false,
        }));
    },
    skip: (uuid, reason) => addTo(skips, reason, uuid, () => ({})),
    lines: () => {
      const mostFirst = (a: Group, b: Group): number => b.count - a.count;
      const failed = [...failures.values()].toSorted(mostFirst);
      const skipped = [...skips].toSorted(([, a], [, b]) => mostFirst(a, b));
      return [
        ...failed.flatMap(failedLines),
        ...skipped.flatMap(([reason, group]) => skippedLines(reason, group)),
      ].map(printableLine);
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
      const hints = [
        ...failed.map(({ count, hint = "" }) => (count === 1 ? hint : alike(hint))),
        ...[...skips].map(([reason, group]) => waysOf(reason, group)),
      ];
      const ways = new Set(hints.flatMap((hint) => hint.split("; ")));
      ways.delete("");
      return {
        count: groups.reduce((sum, group) => sum + group.count, 0),
        ways: [...ways],
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

/** One vault has its own message and hint; several have what theirs have in common. */
function failedLines({ code, message, hint, ...group }: Failure): string[] {
  const shown = group.count === 1 ? (text: string) => text : alike;
  return [
    `${grouped(group.count)} failed (${code}): ${shown(message)}`,
    ...named(group, hint),
    ...hintLines(hint && shown(hint)),
  ];
}

function skippedLines(reason: SkipReason, group: Group): string[] {
  const ways = waysOf(reason, group);
  return [
    `${grouped(group.count)} skipped (${reason}): ${skipWords[reason].why}`,
    ...named(group, ways),
    ...hintLines(ways),
  ];
}

function waysOf(reason: SkipReason, { count, uuids }: Group): string {
  const one = count === 1 ? (uuids[0] ?? "") : "VAULT";
  const ways: Record<SkipReason, string> = {
    held: `with --discard-pending the same command line starts again with the old credentials; vault ack ${count === uuids.length ? uuids.join(" ") : "--all"} (finishes what is held)`,
    locked: `${skipWords.locked.help}; vault guard ${one} --reset (after it was unlocked); vault get ${one} (asks the service again where it is gone)`,
    guard: `vault guard ${one} (shows the counters and what to do)`,
    limited: skipWords.limited.help,
  };
  return ways[reason];
}

/** Names the vaults of a group, unless what helps them does. */
function named({ count, uuids }: Group, ways = ""): string[] {
  if (count === uuids.length && ways.includes(uuids.join(" "))) return [];
  return [
    `  ${uuids.join(", ")}${count > mostNamed ? ` and ${grouped(count - mostNamed)} more` : ""}`,
  ];
}
