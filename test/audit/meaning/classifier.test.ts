import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { EventKind } from "../../../src/audit/fold/events.ts";
import { Classifier } from "../../../src/audit/meaning/classifier.ts";
import { outcomeOf } from "../../../src/audit/meaning/words.ts";
import { Dice } from "../../support/dice.ts";

const [, ...rows] = readFileSync(new URL("texts.tsv", import.meta.url), "utf8")
  .trim()
  .split("\n");
const texts = rows.map((row) => row.split("\t") as [string, string, string, string, string]);

const classifier = new Classifier();
const kindOf = (action: string, outcome: string | null, description?: string): EventKind =>
  classifier.kindOf({ action, outcome, description });

/** What a text means, by what it is. */
const meaningOf: Record<string, (text: string) => string> = {
  reason: (text) => kindOf("READ_VAULT", "FAILURE", text),
  outcome: (text) => outcomeOf(text),
  action: (text) => kindOf(text, "SUCCESS"),
};

test("texts of services, consoles and programs mean what a person would say, or nothing", () => {
  const wrong = texts
    .map(([what, kind, , , text]) => ({ text, kind, came: meaningOf[what]?.(text) }))
    .filter(({ kind, came }) => kind !== came);
  expect(wrong).toEqual([]);
});

test.each<[string, string | null, string | undefined, EventKind]>([
  ["readVault", null, undefined, "read"],
  ["acknowledge-read-vault", "ok", undefined, "ack-read"],
  ["READ_VAULT", "Operation succeeded", "read started", "read"],
  ["READ_VAULT", "false", undefined, "refused"],
  ["DELETE_VAULT", "403", "payload does not match", "failed-delete"],
  ["READ_VAULT", "403", undefined, "refused"],
  ["READ_VAULT", "423", undefined, "refused-locked"],
  ["READ_VAULT", "404", undefined, "gone"],
  ["READ_VAULT", "429", undefined, "not-performed"],
  ["READ_VAULT", "504", undefined, "unclear-start"],
  ["READ_VAULT", "401", undefined, "unauthorized"],
  ["READ_VAULT", "401", "API key check failed", "not-performed"],
  ["READ_VAULT", "CREDENTIALS-REFUSED", undefined, "failed-read"],
  ["READ_VAULT_FAILED", "SUCCESS", "bad credentials", "failed-read"],
  ["READ_VAULT failed: bad credentials", null, undefined, "failed-read"],
  ["BAD_CREDENTIALS", null, undefined, "failed-attempt"],
  ["VaultAccessDenied", "FAILURE", "vault is locked", "refused-locked"],
  ["LOCK_VAULT", "SUCCESS", "vault locked by an administrator", "lock"],
  ["LOCK_VAULT", "SUCCESS", "too many failed attempts", "locking-failure"],
  ["LOCK_VAULT", "FAILURE", undefined, "not-performed"],
  ["UNLOCK_VAULT", null, "vault unlocked", "unlock"],
  ["ACKNOWLEDGE_READ_VAULT", "FAILURE", "the token is unknown or has expired", "failed-ack"],
  ["ACKNOWLEDGE_READ_VAULT", "FAILURE", "Gateway Timeout", "unclear-ack"],
  ["READ_VAULT", "UNKNOWN", "sent, no whole answer: it may count", "unanswered-start"],
  ["API_KEY_CHECK", "FAILURE", "API key check failed", "application"],
  ["DELETE_VAULT", null, "no uses remain", "delete"],
])("%s, %s, %s: %s", (action, outcome, description, kind) => {
  expect(kindOf(action, outcome, description)).toBe(kind);
});

test.each([
  ["true", true, "bad"],
  ["0", true, "good"],
  ["17", true, "bad"],
  ["false", false, "bad"],
  ["1", false, "good"],
  ["0", false, "bad"],
  ["0", undefined, "unclear"],
])("%s in a column whose true is a failure (%s): %s", (outcome, inverted, meaning) => {
  expect(outcomeOf(outcome, inverted)).toBe(meaning);
});

test("a log without outcomes is read by its descriptions, and with --failure by that", () => {
  const silent = { action: "READ_VAULT", outcome: undefined };
  const kinds = ["read started", "bad credentials", "dfg hjk", undefined].map((description) =>
    classifier.kindOf({ ...silent, description }),
  );
  expect(kinds).toEqual(["read", "failed-read", "unclear-start", "read"]);
  const told = new Classifier({ failure: "^READ_VAULT dfg" });
  expect(told.kindOf({ ...silent, description: "dfg hjk" })).toBe("failed-read");
  expect(told.kindOf({ ...silent, description: "hjk" })).toBe("read");
});

test("a redacted report shows outcomes of one word and no descriptions", () => {
  const counting = new Classifier();
  counting.take(counting.meaningOf("READ_VAULT", "dfg"));
  counting.take(counting.meaningOf("READ_VAULT", "FAILURE"), "Ada");
  counting.take(counting.meaningOf("READ_VAULT", "FAILURE"), "Maintenance");
  const word = (text: string): string => (/^\w+$/.test(text) ? text : "…");
  const told = [...counting.unknowns.warnings(word, 0, 3), ...counting.unknowns.notes(word)];
  expect(told).toMatchObject([/"dfg" ×1.*--outcome/, /"…" ×1.*--failure/, /"…" ×1$/]);
});

const dice = new Dice("words that nobody knows");
/** Words of letters that no row has. */
const word = (): string =>
  Array.from({ length: dice.between(3, 10) }, () => dice.pick("bcdfghjkmqvwxz".split(""))).join("");
const unknownText = (): string =>
  Array.from({ length: dice.between(1, 6) }, word).join(dice.pick([" ", "_", "-", ". ", ": "]));

test("a text of unknown words is an unknown action, outcome or reason, whatever stands beside it", () => {
  for (let count = 0; count < 2000; count += 1) {
    const text = unknownText();
    expect(kindOf(text, "SUCCESS"), text).toBe("other");
    expect(kindOf("READ_VAULT", text), text).toBe("unclear-start");
    expect(kindOf("ACKNOWLEDGE_READ_VAULT", text, "read acknowledged"), text).toBe("unclear-ack");
    expect(kindOf("READ_VAULT", "FAILURE", text), text).toBe("refused");
    expect(kindOf("UNLOCK_VAULT", text), text).toBe("other");
  }
});

test("what a known text says is less certain with an outcome of unknown words", () => {
  const certain = /^(?:read|failed-|locking-)/;
  const kinds = texts
    .filter(([what]) => what === "reason")
    .map(([, , , , text]) => kindOf("READ_VAULT", unknownText(), text));
  expect(kinds.filter((kind) => certain.test(kind))).toEqual([]);
});
