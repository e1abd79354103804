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
const kindOf = (action: string, outcome: string | null, description: string | null): EventKind =>
  classifier.kindOf({ action, outcome, description });

/** What a text means, by what it is. */
const meaningOf: Record<string, (text: string) => string> = {
  reason: (text) => kindOf("READ_VAULT", "FAILURE", text),
  outcome: (text) => outcomeOf(text),
  action: (text) => kindOf(text, "SUCCESS", null),
};

test("texts of services, consoles and programs mean what a person would say, or nothing", () => {
  const wrong = texts
    .map(([what, kind, , , text]) => ({ text, kind, came: meaningOf[what]?.(text) }))
    .filter(({ kind, came }) => kind !== came);
  expect(wrong).toEqual([]);
});

test.each<[string, string | null, string | null, EventKind]>([
  ["READ_VAULT", "SUCCESS", null, "read"],
  ["readVault", null, null, "read"],
  ["acknowledge-read-vault", "ok", null, "ack-read"],
  ["Update Vault", "Success (200)", null, "update"],
  ["START_USE_VAULT", "200", null, "read"],
  ["READ_VAULT", "Accepted", null, "read"],
  ["READ_VAULT", "Operation succeeded", "read started", "read"],
  ["READ_VAULT", "SUCCESS_WITH_WARNING", null, "read"],
  ["READ_VAULT", "No error", null, "read"],
  ["READ_VAULT", "true", null, "read"],
  ["READ_VAULT", "false", null, "refused"],
  ["READ_VAULT", "FAILURE", "bad credentials (vault.credentials)", "failed-read"],
  ["READ_VAULT", "FAILURE", "bad_credentials", "failed-read"],
  ["DELETE_VAULT", "403", "payload does not match", "failed-delete"],
  ["READ_VAULT", "403", null, "refused"],
  ["READ_VAULT", "unsuccessful", "", "refused"],
  ["READ_VAULT", "423", null, "refused-locked"],
  ["READ_VAULT", "429", null, "not-performed"],
  ["READ_VAULT", "503", null, "not-performed"],
  ["READ_VAULT", "404", null, "gone"],
  ["READ_VAULT", "FAILURE", "rate limit exceeded", "not-performed"],
  ["READ_VAULT", "FAILURE", "API key check failed", "not-performed"],
  ["READ_VAULT", "FAILURE", "bad credentials (vault.credentials), vault locked", "locking-failure"],
  [
    "READ_VAULT",
    "FAILURE",
    "Invalid credentials. 2 attempts remaining before the vault is locked",
    "failed-read",
  ],
  ["READ_VAULT", "FAILURE", "read refused (vault not locked)", "refused"],
  [
    "READ_VAULT",
    "FAILURE",
    "the vault is locked; an administrator can unlock it",
    "refused-locked",
  ],
  [
    "READ_VAULT",
    "FAILURE",
    "too many starts without acknowledgement, vault locked",
    "locking-start",
  ],
  ["READ_VAULT", "FAILURE", "Access refused, request from address 203.0.113.9", "refused"],
  ["READ_VAULT", "FAILURE", "Read of vault refused for application shop-frontend", "refused"],
  ["READ_VAULT_FAILED", null, null, "refused"],
  ["FAILED_READ_VAULT", null, "bad credentials", "failed-read"],
  ["READ_VAULT failed: bad credentials", null, null, "failed-read"],
  ["BAD_CREDENTIALS", null, null, "failed-attempt"],
  ["READ_VAULT_INFO", "SUCCESS", null, "other"],
  ["DELETE_VAULT_METADATA", "SUCCESS", null, "other"],
  ["UNDELETE_VAULT", "SUCCESS", null, "other"],
  ["LOCK_VAULT", "SUCCESS", "vault locked by an administrator", "lock"],
  ["LOCK_VAULT", "FAILURE", null, "not-performed"],
  ["UNLOCK_VAULT", "FAILED", "not allowed", "not-performed"],
  ["UNLOCK_VAULT", null, "vault unlocked", "unlock"],
  ["ACKNOWLEDGE_READ_VAULT", "FAILURE", "the token is unknown or has expired", "failed-ack"],
  ["READ_VAULT", "UNKNOWN", "sent, no whole answer: it may count", "unanswered-start"],
  ["API_KEY_CHECK", "FAILURE", "API key check failed", "application"],
  ["ROTATE_KEYS", "SUCCESS", null, "other"],
  ["DELETE_VAULT", null, "no uses remain", "delete"],
  ["READ_VAULT", "no", null, "refused"],
  ["READ_VAULT", "401", null, "unauthorized"],
  ["READ_VAULT", "401", "API key check failed", "not-performed"],
])("%s, %s, %s: %s", (action, outcome, description, kind) => {
  expect(kindOf(action, outcome, description)).toBe(kind);
});

test("an unknown outcome is counted and told", () => {
  const counting = new Classifier();
  expect(counting.take(counting.meaningOf("READ_VAULT", "qwx-1"), null)).toBe("unclear-start");
  expect(counting.unknowns.warnings((text) => text, 0, 1)).toMatchObject([/"qwx-1" ×1.*--outcome/]);
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
    expect(kindOf(text, "SUCCESS", null), text).toBe("other");
    expect(kindOf("READ_VAULT", text, null), text).toBe("unclear-start");
    expect(kindOf("ACKNOWLEDGE_READ_VAULT", text, "read acknowledged"), text).toBe("unclear-ack");
    expect(kindOf("READ_VAULT", "FAILURE", text), text).toBe("refused");
    expect(kindOf("UNLOCK_VAULT", text, null), text).toBe("other");
  }
});

test("what a known text says is less certain with an outcome of unknown words", () => {
  const certain = /^(?:read|failed-|locking-)/;
  const kinds = texts
    .filter(([what]) => what === "reason")
    .map(([, , , , text]) => kindOf("READ_VAULT", unknownText(), text));
  expect(kinds.filter((kind) => certain.test(kind))).toEqual([]);
});
