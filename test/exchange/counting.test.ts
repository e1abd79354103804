import { describe, expect, it } from "vitest";
import { count, type Counters, type CountedExchange } from "../../src/exchange/counting.ts";

/**
 * One exchange for each word, in the order in which they were begun: what became of it, `1>2` for the generations, `a` where it is
 * acknowledged, `x` where it was begun elsewhere, `s` where its credentials were sole.
 */
function exchangesOf(words: string): CountedExchange[] {
  return words.split(" ").map((word, at) => {
    const [, outcome = "", base = "1", made, flags = ""] =
      /^([a-z]+)(?:\[(\d)(?:>(\d))?\])?([axs]*)$/.exec(word.replace(/!/, "")) ?? [];
    return {
      id: `x${at}`,
      state: flags.includes("a") ? "acknowledged" : made === undefined ? "intent" : "ending",
      adopted: flags.includes("x"),
      baseGeneration: Number(base),
      newGeneration: made === undefined ? null : Number(made),
      outcome: outcome === "died" ? null : (outcome as CountedExchange["outcome"]),
      sole: flags.includes("s"),
    };
  });
}

const counted = (
  words: string,
  carried: Counters | null = null,
  carriedUpTo: string | null = null,
) => {
  const found = count(exchangesOf(words), { carried, carriedUpTo });
  const { unackedStarts, unansweredStarts, failedAttempts, possiblyFailed, refusedSince } = found;
  return `${unackedStarts}-${unansweredStarts} ${failedAttempts}-${possiblyFailed}${refusedSince ? " refused" : ""}`;
};

const shown = (starts: number, failed: number): Counters => ({
  unackedStarts: starts,
  unansweredStarts: 0,
  failedAttempts: failed,
  possiblyFailed: 0,
});

describe("what a start counts, by what became of it", () => {
  it.each([
    ["counts nothing", "free", "0-0 0-0"],
    ["refused", "refused", "0-0 1-0 refused"],
    ["no whole answer", "none", "1-1 1-1"],
    ["no whole answer, sole", "none[1]s", "1-1 0-0"],
    ["its process died, sole", "died[1]s", "1-1 1-1"],
    ["a SUCCESS that cannot be used", "success", "1-0 0-0"],
    ["a SUCCESS", "success[1>2]", "1-0 0-0"],
    ["acknowledged", "success[1>2]a", "0-0 0-0"],
    ["sole, and its credentials refused since", "none[1]s none[2]s refused[1]", "2-2 2-1 refused"],
    ["before a SUCCESS", "none refused success[1>2]", "2-1 0-0"],
    ["before an acknowledgement", "none success[1>2]a none[2]s", "1-1 0-0"],
    ["after what was acknowledged late", "success[1>2]a none none", "2-2 2-2"],
    [
      "before what its SUCCESS shows to be acknowledged",
      "none success[1>2] none[2] success[2>3]",
      "2-1 0-0",
    ],
    ["before what was acknowledged elsewhere", "none success[1>2]ax", "2-1 1-1"],
    [
      "before a SUCCESS with what was begun elsewhere",
      "none success[1>2]x success[2>3]",
      "3-1 0-0",
    ],
  ])("%s", (_, words, expected) => {
    expect(counted(words)).toBe(expected);
  });
});

describe("what is carried stands for the exchanges up to one", () => {
  it.each([
    [
      "what an audit log shows, and more since",
      "none none none[1]s",
      shown(1, 1),
      "x1",
      "2-1 1-0 refused",
    ],
    ["void after a SUCCESS, and the starts not", "none success[1>2]", shown(2, 1), "x0", "3-0 0-0"],
    ["void after an acknowledgement", "none success[1>2]a", shown(2, 1), "x0", "0-0 0-0"],
    [
      "not void where that was begun before it",
      "success[1>2]a none",
      shown(2, 1),
      "x1",
      "2-0 1-0 refused",
    ],
    ["of what is gone", "none", shown(2, 1), null, "3-1 2-1 refused"],
    ["void with what is gone", "success[1>2]a", shown(2, 1), null, "0-0 0-0"],
    ["nothing, but what was refused is not sole", "refused", shown(0, 0), "x0", "0-0 0-0 refused"],
  ])("%s", (_, words, carried, upTo, expected) => {
    expect(counted(words, carried, upTo)).toBe(expected);
  });
});
