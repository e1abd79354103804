import type { App } from "../../app.ts";
import type { CreditCard } from "../../protocol/fields.ts";
import { notEmpty, ruleFrom } from "../../cli/prompts.ts";
import { shownCardNumber } from "../../terminal/secrets.ts";
import { checkPart, digitsOf, parseExpiry } from "./card-options.ts";

/** The parts of a card that are not given yet, each asked for until it is valid (specification, section 2.7). */
export async function askCard(app: App, given: Partial<CreditCard>): Promise<CreditCard> {
  const { redactor } = app;
  const number =
    given.number ??
    digitsOf(
      await app.ask.text({
        message: "Card number",
        rule: ruleFrom((typed) => checkPart("number", digitsOf(typed), "the number")),
        // In groups, as it stands on the card; what has been taken does not stay on the screen.
        shown: (typed, { isFinal }) => shownCardNumber(digitsOf(typed), !isFinal),
      }),
    );
  redactor.add(number);
  const nameRule = ruleFrom((typed) => checkPart("name", typed, "the name"));
  const name = given.name ?? (await app.ask.text({ message: "Name on the card", rule: nameRule }));
  if (given.expiryMonth !== undefined && given.expiryYear !== undefined) {
    return { number, name, expiryMonth: given.expiryMonth, expiryYear: given.expiryYear };
  }
  return { number, name, ...parseExpiry(await app.ask.text({ message: "Expiry (MM/YYYY)", rule: ruleFrom(parseExpiry) })) };
}

/** The text of a generic vault, one line of it; not shown. */
export async function askContent(app: App): Promise<string> {
  const content = await app.ask.secret({
    message: "New contents (one line; for more, give --content @FILE)",
    rule: notEmpty,
  });
  app.redactor.add(content);
  return content;
}
