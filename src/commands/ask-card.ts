import type { Deps } from "../deps.ts";
import type { CreditCard } from "../interface/fields.ts";
import { creditCard } from "../interface/fields.ts";
import { validate } from "../interface/validate.ts";
import type { Rule } from "../terminal/prompts.ts";

/** The parts of a card that are not given yet, each asked for until it is valid (specification, section 2.7). */
export async function askCard(deps: Deps, given: Partial<CreditCard>): Promise<CreditCard> {
  const { askText } = await import("../terminal/prompts.ts");
  const { host, redactor } = deps;
  const digits = (typed: string): string => typed.replaceAll(/[ -]/g, "");
  const number =
    given.number ??
    digits(
      await askText(host, {
        message: "Card number",
        rule: (typed) => broken("number", digits(typed)),
        shown: (typed) => grouped(digits(typed)),
      }),
    );
  redactor.add(number);
  const name = given.name ?? (await askText(host, { message: "Name on the card", rule: (typed) => broken("name", typed) }));
  if (given.expiryMonth !== undefined && given.expiryYear !== undefined) {
    return { number, name, expiryMonth: given.expiryMonth, expiryYear: given.expiryYear };
  }
  const typed = await askText(host, { message: "Expiry (MM/YYYY)", rule: isExpiry });
  const [expiryMonth = 0, expiryYear = 0] = typed.split("/").map(Number);
  return { number, name, expiryMonth, expiryYear };
}

/** The text of a generic vault, one line of it; not shown. */
export async function askContent(deps: Deps): Promise<string> {
  const { askSecret } = await import("../terminal/prompts.ts");
  const content = await askSecret(deps.host, {
    message: "New contents (one line; for more, give --content @FILE)",
    rule: (typed) => (typed === "" ? "must not be empty" : null),
  });
  deps.redactor.add(content);
  return content;
}

/** In fours, as it stands on the card. */
const grouped = (number: string): string => number.replaceAll(/(.{4})(?=.)/gu, "$1 ");

const isExpiry: Rule = (typed) => {
  const [, month, year] = /^(\d{1,2})\/(\d{4})$/.exec(typed) ?? [];
  if (month === undefined || year === undefined) return "must be month and year, like 04/2029";
  return broken("expiryMonth", Number(month)) ?? broken("expiryYear", Number(year));
};

/** The rule that one part of a card breaks. */
function broken(part: keyof CreditCard, value: unknown): string | null {
  const fine = { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2029 };
  const checked = validate(creditCard, { ...fine, [part]: value });
  return checked.ok ? null : (checked.violations[0]?.rule ?? "does not fit");
}
