import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventKinds } from "../../src/audit/read/item.ts";
import { Classifier } from "../../src/audit/meaning/classifier.ts";
import { describedOutcome, outcomeOf } from "../../src/audit/meaning/words.ts";
import { Dice } from "../support/dice.ts";
import { rows } from "./support.ts";

const classifier = new Classifier();
const kindOf = (
  action: string,
  outcome: string | undefined,
  description?: string,
  by = classifier,
): string => eventKinds[by.take(by.meaningOf(by.actionOf(action), outcome), description)] ?? "";

/** What a text means, by what it is. */
const meaningOf: Record<string, (text: string) => string> = {
  reason: (text) => kindOf("READ_VAULT", "FAILURE", text),
  outcome: (text) => outcomeOf(text),
  action: (text) => kindOf(text, "SUCCESS"),
};

const texts = readFileSync(new URL("texts.tsv", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .slice(1)
  .flatMap((row) => {
    const [what = "", kind = "", , ...list] = row.split("\t");
    return list.map((text) => ({ what, kind, text }));
  });

test("texts of services, consoles and programs mean what a person would say, or nothing", () => {
  expect(texts.map((one) => ({ ...one, kind: meaningOf[one.what]?.(one.text) }))).toEqual(texts);
});

test.each(
  rows(`
readVault              |                     |                     | read
acknowledge-read-vault | ok                  |                     | ack-read
READ_VAULT             | Operation succeeded | read started        | read
READ_VAULT             | false               |                     | refused
DELETE_VAULT           | 403                 | payload does not match | failed
READ_VAULT             | 403                 |                     | refused
READ_VAULT             | 423                 |                     | refused-locked
READ_VAULT             | 404                 |                     | gone
READ_VAULT             | 429                 |                     | not-performed
READ_VAULT             | 504                 |                     | unclear-start
READ_VAULT             | 401                 |                     | unauthorized
READ_VAULT             | 401                 | API key check failed | not-performed
OPTIONS /vault/generic/offline/x/get-start | 204 |                 | application
READ_VAULT             | CREDENTIALS-REFUSED |                     | failed
READ_VAULT_FAILED      | SUCCESS             | bad credentials     | failed
READ_VAULT failed: bad credentials |         |                     | failed
BAD_CREDENTIALS        |                     |                     | failed
VaultAccessDenied      | FAILURE             | vault is locked     | refused-locked
LOCK_VAULT             | SUCCESS             | vault locked by an administrator | lock
LOCK_VAULT             | SUCCESS             | too many failed attempts | locking-failure
LOCK_VAULT             | FAILURE             |                     | not-performed
VAULT_LOCKED           | FAILURE             | too many failed attempts | locking-failure
VAULT_LOCKED           | FAILURE             | by an administrator | not-performed
UNLOCK_VAULT           |                     | vault unlocked      | unlock
ACKNOWLEDGE_READ_VAULT | FAILURE             | the token is unknown or has expired | failed-ack
ACKNOWLEDGE_READ_VAULT | FAILURE             | Gateway Timeout     | unclear-ack
READ_VAULT             | UNKNOWN             | sent, no whole answer: it may count | unanswered-start
API_KEY_CHECK          | FAILURE             | API key check failed | application
READ_VAULT (JWT)       | SUCCESS             |                     | read
ACKNOWLEDGE_READ_VAULT (JWT) | SUCCESS       |                     | ack-read
vaultsvc.CREATE_API_KEY | SUCCESS            |                     | application
READ_VAULT_ATTEMPT     | FAILURE             | bad credentials     | failed
READ_VAULT             | FAILURE             | rate limit reached, vault credentials not checked | not-performed
READ_VAULT             | FAILURE             | API key mismatch; vault credentials not checked | not-performed
READ_VAULT_WITH_JWT    | SUCCESS             |                     | other
READ_VAULT_WITH_JWT    | FAILURE             | bad credentials     | other
READ_VAULT_ATTEMPT     |                     |                     | other
READ_VAULT             | FAILURE             | possibly wrong credentials | refused
READ_VAULT             | FAILURE             | Invalid credentials (LDAP bind) | refused
READ_VAULT             | FAILURE             | HashiCorp Vault: invalid credentials | refused
READ_VAULT             | FAILURE             | Key Vault: invalid credentials | refused
READ_VAULT             | FAILURE             | SASL authentication failed: invalid credentials | refused
READ_VAULT             | FAILURE             | Vault: invalid credentials | failed
READ_VAULT             | FAILURE             | Invalid vault credentials for application shop | refused
READ_VAULT             | FAILURE             | Validation failed for vault credentials | refused
READ_VAULT             | 400                 | Invalid vault credentials: payload must not be blank | refused
READ_VAULT             | 400                 | payload does not match regex | refused
READ_VAULT             | 413                 | payload too large   | not-performed
READ_VAULT             | FAILURE             | hashedPin must not be blank | refused
DELETE_VAULT           |                     | no uses remain      | delete`),
)("%s, %s, %s: %s", (action = "", outcome = "", description = "", kind = "") => {
  expect(kindOf(action, outcome, description === "" ? undefined : description)).toBe(kind);
});

test("in a column whose true is a failure, true and numbers are failures; else 0 and 1 are unclear", () => {
  const meant = (inverted?: boolean) =>
    ["true", "false", "0", "1", "17"].map((text) => outcomeOf(text, inverted)).join(" ");
  expect(meant(true)).toBe("bad good good bad bad");
  expect(meant(false)).toBe("good bad bad good unclear");
  expect(meant()).toBe("good bad unclear unclear unclear");
});

test("a log without outcomes is read by its descriptions, and with --failure by that", () => {
  const kinds = ["read started", "bad credentials", "dfg hjk", undefined].map((description) =>
    kindOf("READ_VAULT", undefined, description),
  );
  expect(kinds).toEqual(["read", "failed", "unclear-start", "read"]);
  const told = new Classifier({ failure: "^READ_VAULT dfg" });
  expect(kindOf("READ_VAULT", undefined, "dfg hjk", told)).toBe("failed");
  expect(kindOf("READ_VAULT", undefined, "hjk", told)).toBe("read");
});

test("a text of words that nobody knows is an unknown action, outcome or reason, whatever stands beside it", () => {
  const dice = new Dice("words that nobody knows");
  const word = (): string =>
    Array.from({ length: dice.between(3, 10) }, () => dice.pick("bcdfghjkmqvwxz".split(""))).join(
      "",
    );
  const reasons = texts.filter(({ what }) => what === "reason");
  for (let count = 0; count < 2000; count += 1) {
    const between = dice.pick([" ", "_", "-", ". ", ": "]);
    const text = Array.from({ length: dice.between(1, 6) }, word).join(between);
    expect(kindOf(text, "SUCCESS"), text).toBe("other");
    expect(kindOf("READ_VAULT", text), text).toBe("unclear-start");
    expect(kindOf("ACKNOWLEDGE_READ_VAULT", text, "read acknowledged"), text).toBe("unclear-ack");
    expect(kindOf("READ_VAULT", "FAILURE", text), text).toBe("refused");
    expect(kindOf("UNLOCK_VAULT", text), text).toBe("other");
    // What a known text says is less certain beside it.
    const known = kindOf("READ_VAULT", text, reasons[count % reasons.length]?.text);
    expect(known, text).not.toMatch(/^(?:read|failed-|locking-)/);
  }
});

test("known words are no success beside one that is not, however long the text", () => {
  const dice = new Dice("long outcomes");
  const outcomes = texts.filter(({ what }) => what === "outcome");
  const all = outcomes.flatMap(({ text }) => text.split(" ")).concat("ok:1", "s_ok", "1 s");
  // A status in front is believed.
  const words = all.filter((word) => !/^(?:2|http|status)/i.test(word));
  for (let count = 0; count < 1000; count += 1) {
    const some = Array.from({ length: dice.between(1, 4) }, () => dice.pick(words)).join(" ");
    const text = `${`${some} `.repeat(1000).slice(0, 900)} dfghjk`;
    expect(outcomeOf(text), some).not.toBe("good");
    expect(() => describedOutcome(text), some).not.toThrow();
  }
  expect(outcomeOf(`${"ok:1 s_ok ".repeat(90)} dfghjk`)).toBe("unclear");
});
