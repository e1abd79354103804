import type { VaultError } from "../../errors.ts";
import { grouped } from "../../terminal/count.ts";
import { hintLines } from "../../terminal/narrator.ts";
import { printableLine } from "../../terminal/redactor.ts";
import type { SkipReason } from "./entry.ts";
import { skipWords } from "./skips.ts";

/** Vaults with the same cause. */
interface Group {
  count: number;
  /** The first ones. */
  uuids: string[];
}

/** Message and hint are of the first vault, with secrets replaced. */
type Failure = Group & { code: string; message: string; hint: string | undefined };

/** What went wrong in a run, grouped by cause. Its size does not grow with the number of vaults. */
export interface Causes {
  fail(uuid: string, error: VaultError): void;
  skip(uuid: string, reason: SkipReason): void;
  /** Formats the groups for a person, each with the commands that help. `isStopped`: vaults are left that are in no group. */
  lines(isStopped: boolean): string[];
}

/** Maximum number of vaults that a group names. */
const named = 3;

/** Maximum number of messages told apart; further ones are grouped by error code. */
const mostMessages = 20;

/** What differs from vault to vault in messages with the same meaning: ids of vaults and exchanges, generations, seconds. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, "VAULT"],
  [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, "ID"],
  [/\bgeneration \d+/g, "generation N"],
  [/\b[\d.]+s\b/g, "Ns"],
];

const alike = (text: string): string => varying.reduce((result, [pattern, name]) => result.replaceAll(pattern, name), text);

/**
 * Collects causes. `redact` is applied at once, because the secrets of an exchange are forgotten with it. `again` returns the command
 * line that repeats the given vaults in the same run; without any, all that is left.
 */
export function createCauses(redact: (text: string) => string, again: (uuids: string[]) => string): Causes {
  const failures = new Map<string, Failure>();
  const skips = new Map<SkipReason, Group>();
  return {
    fail: (uuid, { code, message, facts }) => {
      const key = `${code} ${alike(redact(message))}`;
      if (failures.has(key) || failures.size < mostMessages) {
        const hint = facts.hint === undefined ? undefined : redact(facts.hint);
        addTo(failures, key, uuid, () => ({ code, message: redact(message), hint }));
      } else addTo(failures, code, uuid, () => ({ code, message: "other errors", hint: undefined }));
    },
    skip: (uuid, reason) => addTo(skips, reason, uuid, () => ({})),
    lines: (isStopped) => {
      const mostFirst = (a: Group, b: Group): number => b.count - a.count;
      const failed = [...failures.values()].toSorted(mostFirst);
      const skipped = [...skips].toSorted(([, a], [, b]) => mostFirst(a, b));
      const isLeft = isStopped || failed.some((group) => !isFew(group));
      return [
        ...failed.flatMap((failure) => failedLines(failure, again)),
        ...skipped.flatMap(([reason, group]) => skippedLines(reason, group, again)),
        ...(isLeft ? [`next: ${again([])} (continues the run with what is left)`] : []),
      ].map(printableLine);
    },
  };
}

function addTo<K, G extends Group>(groups: Map<K, G>, key: K, uuid: string, first: () => Omit<G, keyof Group>): void {
  const group = groups.get(key) ?? ({ ...first(), count: 0, uuids: [] as string[] } as G);
  groups.set(key, group);
  group.count += 1;
  if (group.uuids.length < named) group.uuids.push(uuid);
}

const isFew = ({ count }: Group): boolean => count <= named;

/** One vault has its own message and hint; several have what theirs have in common. */
function failedLines({ code, message, hint, ...group }: Failure, again: (uuids: string[]) => string): string[] {
  const shown = group.count === 1 ? (text: string) => text : alike;
  const ways = hintLines(hint && shown(hint));
  const repeat = ways.some((line) => line.startsWith("  next:")) ? "then" : "next";
  return [
    `${grouped(group.count)} failed (${code}): ${shown(message)}`,
    ...(isFew(group) ? [] : [names(group)]),
    ...ways,
    ...(isFew(group) ? [`  ${repeat}: ${again(group.uuids)}`] : []),
  ];
}

function skippedLines(reason: SkipReason, group: Group, again: (uuids: string[]) => string): string[] {
  const { count, uuids } = group;
  const one = count === 1 ? (uuids[0] ?? "") : "VAULT";
  const rest = again(isFew(group) ? uuids : []);
  const ways: Record<SkipReason, string> = {
    held: `vault ack ${isFew(group) ? uuids.join(" ") : "--all"}; ${rest} --discard-pending (starts again with the old credentials)`,
    locked: `${skipWords.locked.help}; vault guard ${one} --reset (after the vault was unlocked)`,
    guard: `vault guard ${one} (shows the counters)`,
    limited: `${rest} --out-dir DIR (or --exec CMD)`,
  };
  const isNamed = isFew(group) && ways[reason].includes(uuids.join(" "));
  return [
    `${grouped(count)} skipped (${reason}): ${skipWords[reason].why}`,
    ...(isNamed ? [] : [names(group)]),
    ...hintLines(ways[reason]),
  ];
}

function names({ count, uuids }: Group): string {
  return `  ${uuids.join(", ")}${count > named ? ` and ${grouped(count - named)} more` : ""}`;
}
