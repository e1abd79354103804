import type { Deps } from "../../deps.ts";
import type { CreditCard } from "../../protocol/fields.ts";
import type { Rule } from "../../terminal/prompts.ts";
import { shownCardNumber } from "../../terminal/secrets.ts";
import { checkPart, digitsOf, parseExpiry } from "./card-options.ts";

/** The parts of a card that are not given yet, each asked for until it is valid (specification, section 2.7). */
export async function askCard(deps: Deps, given: Partial<CreditCard>): Promise<CreditCard> {
  const { askText } = await import("../../terminal/prompts.ts");
  const { host, redactor } = deps;
  const number =
    given.number ??
    digitsOf(
      await askText(host, {
        message: "Card number",
        rule: rule((typed) => checkPart("number", digitsOf(typed), "the number")),
        // In groups, as it stands on the card; what has been taken does not stay on the screen.
        shown: (typed, { isFinal }) => shownCardNumber(digitsOf(typed), !isFinal),
      }),
    );
  redactor.add(number);
  const nameRule = rule((typed) => checkPart("name", typed, "the name"));
  const name = given.name ?? (await askText(host, { message: "Name on the card", rule: nameRule }));
  if (given.expiryMonth !== undefined && given.expiryYear !== undefined) {
    return { number, name, expiryMonth: given.expiryMonth, expiryYear: given.expiryYear };
  }
  return { number, name, ...parseExpiry(await askText(host, { message: "Expiry (MM/YYYY)", rule: rule(parseExpiry) })) };
}

/** The text of a generic vault, one line of it; not shown. */
export async function askContent(deps: Deps): Promise<string> {
  const { askSecret } = await import("../../terminal/prompts.ts");
  const content = await askSecret(deps.host, {
    message: "New contents (one line; for more, give --content @FILE)",
    rule: (typed) => (typed === "" ? "must not be empty" : null),
  });
  deps.redactor.add(content);
  return content;
}

/** What a check that raises says of an answer. */
const rule =
  (check: (typed: string) => unknown): Rule =>
  (typed) => {
    try {
      check(typed);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
