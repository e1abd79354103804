import type { Actor, Holder } from "../actor.ts";
import { actorWords, isSameUser } from "../actor.ts";
import { printableLine } from "./redactor.ts";
import { since } from "./time.ts";

/** Who reads a message, and when; null for a program, which is given times as they are. */
export interface Reader {
  self: Actor;
  now: number | null;
}

/** ` by ada@build-7 since 10:02`, of an exchange: empty for this user on this machine, or if it is not known. */
export const bySince = (
  { by, startedAt }: { by: Actor | null; startedAt: string },
  { self, now }: Reader,
  word: " by" | ", by" | " of" = " by",
): string =>
  by === null || isSameUser(by, self)
    ? ""
    : `${word} ${printableLine(actorWords(by))} ${since(startedAt, now)}`;

/** `by ada@build-7 (pid 4711) since 10:02`, of a vault in use; of this very user here, the process alone. */
export function usedBy({ by, since: at }: Holder, { self, now }: Reader): string {
  const who = isSameUser(by, self) ? `process ${by.pid}` : actorWords(by, "process");
  return `by ${printableLine(who)} ${since(at, now)}`;
}

export const inUse = (holder: Holder, reader: Reader): string => `in use ${usedBy(holder, reader)}`;

/** States of an exchange, in words for a person, where they differ. */
export const stateWords: Readonly<Record<string, string>> = {
  intent: "start sent, outcome unknown",
  started: "started, not acknowledged",
  ending: "acknowledging",
  "in-doubt": "in doubt",
};

/** The state of an exchange, and whose it is: `held by ada@build-7 since 10:02`. */
export function stateOf(
  exchange: { state: string; by: Actor | null; startedAt: string },
  reader: Reader,
): string {
  const { state } = exchange;
  const who = bySince(exchange, reader, state === "held" ? " by" : ", by");
  return `${stateWords[state] ?? state}${who}`;
}
