import * as z from "zod/mini";
import type { Io } from "../parts/basics.ts";
import { readValue } from "../settings/given.ts";
import { VaultError } from "../errors.ts";
import type { VaultContents } from "../exchange/start/start.ts";
import { isCreditCard, type Kind } from "../protocol/endpoints.ts";
import { creditCard, type CreditCard } from "../protocol/fields.ts";
import { parseGivenJson } from "../protocol/json.ts";
import { brokenRule, checkGiven } from "../protocol/validate.ts";
import { notEmpty } from "../cli/prompts.ts";
import { shownCardNumber } from "../terminal/secrets.ts";
import { mayHold, type ContentsOptions } from "./flags.ts";

/** What was given of them: each part is valid, and `completeContents` asks for those that are missing. */
export interface GivenContents {
  card: Partial<CreditCard>;
  content: string | undefined;
}

/**
 * Refuses options that do not fit the kind of the vault. Reads nothing.
 * @throws `usage`
 */
export function checkContentsOptions(options: ContentsOptions, kind: Kind): void {
  if (mayHold(kind, options)) return;
  const [message, hint] = isCreditCard(kind)
    ? [
        `a ${kind} vault holds a card, not --content`,
        "use --card @FILE, or --card-number, --card-name and --expiry",
      ]
    : [`a ${kind} vault holds no card`, "use --content @FILE"];
  throw new VaultError("usage", `${message}; nothing was sent`, { hint });
}

/**
 * Reads and validates the given contents, and registers them with the redaction.
 * @throws `usage` and `invalid-input`, never showing a value
 */
export async function readContents(io: Io, options: ContentsOptions): Promise<GivenContents> {
  const card =
    options.card === undefined
      ? await readParts(io, options)
      : parseCard(await io.secretOption(options.card, "--card"));
  if (card.number !== undefined) io.redactor.add(card.number);
  if (options.content === undefined) return { card, content: undefined };
  // They are no document: a final newline is part of them.
  return { card, content: await io.secretOption(options.content, "--content", "exactly") };
}

/**
 * All that a vault of this kind holds: what was given, and on a terminal the answers to questions about the rest.
 * @throws `usage` naming what is missing, `interrupted`
 */
export async function completeContents(
  io: Io,
  kind: Kind,
  given: GivenContents,
): Promise<VaultContents> {
  const { ask, redactor } = io;
  if (isCreditCard(kind))
    return {
      creditCard: ask.isPossible ? await askCard(io, given.card) : completeCard(given.card),
    };
  if (given.content !== undefined) return { content: given.content };
  if (!ask.isPossible)
    throw new VaultError("usage", "--content is missing; nothing was sent", {
      hint: "use --content @FILE, - or env:NAME",
    });
  const content = await ask.secret({ message: "New contents (one line)", rule: notEmpty });
  redactor.add(content);
  return { content };
}

const cardFlags = "--card-number @FILE --card-name 'Ada Lovelace' --expiry 04/29";

function completeCard(card: Partial<CreditCard>): CreditCard {
  const flags = {
    "--card-number": card.number,
    "--card-name": card.name,
    "--expiry": card.expiryMonth,
  };
  const missing = Object.entries(flags).flatMap(([flag, part]) =>
    part === undefined ? [flag] : [],
  );
  if (missing.length === 0) return card as CreditCard;
  throw new VaultError("usage", `the card is missing (${missing.join(", ")}); nothing was sent`, {
    hint: `use --card @FILE (or -, env:NAME), or ${cardFlags}`,
  });
}

async function readParts(
  io: Io,
  { cardNumber, cardName, expiry }: ContentsOptions,
): Promise<Partial<CreditCard>> {
  const card: Partial<CreditCard> = {};
  const take = (flag: string, given: Partial<CreditCard>, rule = brokenPart(given)): void => {
    const hint = `nothing was sent; a valid card: ${cardFlags}`;
    if (rule !== null) throw new VaultError("invalid-input", `${flag}: ${rule}`, { hint });
    Object.assign(card, given);
  };
  if (cardName !== undefined)
    take("--card-name", { name: await readValue(cardName, "--card-name", io.sources) });
  if (expiry !== undefined) take("--expiry", expiryOf(expiry), brokenExpiry(expiry));
  if (cardNumber !== undefined)
    take("--card-number", { number: digitsOf(await io.secretOption(cardNumber, "--card-number")) });
  return card;
}

/** Month and year as they stand on a card, MM/YY, or MM/YYYY; nothing of any other text. */
function expiryOf(typed: string): Partial<Pick<CreditCard, "expiryMonth" | "expiryYear">> {
  const [, month, year] = /^\s*(\d{1,2})\s*\/\s*(\d{2}|\d{4})\s*$/.exec(typed) ?? [];
  if (month === undefined || year === undefined) return {};
  const century = year.length === 2 ? 2000 : 0;
  return { expiryMonth: Number(month), expiryYear: century + Number(year) };
}

function brokenExpiry(typed: string): string | null {
  const date = expiryOf(typed);
  return date.expiryMonth === undefined
    ? "must be month and year, such as 04/29"
    : brokenPart(date);
}

const validCard =
  'nothing was sent; a valid card: {"number":"4111111111111111","name":"Ada Lovelace","expiryMonth":4,"expiryYear":2029}';

const parseCard = (json: string): CreditCard =>
  checkGiven(creditCard, parseGivenJson(json, "--card", validCard), "--card", validCard);

/** The rule that parts of a card break (docs/interface.md, Credit card; a name must not be empty either), or null. */
const brokenPart = (given: Partial<CreditCard>): string | null =>
  given.name?.trim() === "" ? "must not be empty" : brokenRule(partOfCard, given);

const partOfCard = z.partial(creditCard);

const digitsOf = (typed: string): string => typed.replaceAll(/[ -]/g, "");

/** Asks for the missing parts of a card, each until it is valid. */
async function askCard({ ask, redactor }: Io, given: Partial<CreditCard>): Promise<CreditCard> {
  const card = { ...given };
  card.number ??= digitsOf(
    await ask.text({
      message: "Card number",
      rule: (typed) =>
        brokenPart({ number: digitsOf(typed) }) && "not a valid card number; check its digits",
      // In groups, as it stands on the card; what has been taken does not stay on the screen.
      shown: (typed, { isFinal }) => shownCardNumber(digitsOf(typed), !isFinal),
    }),
  );
  redactor.add(card.number);
  card.name ??= await ask.text({
    message: "Name on the card",
    rule: (typed) => brokenPart({ name: typed }),
  });
  if (card.expiryMonth !== undefined) return completeCard(card);
  const expiry = await ask.text({ message: "Expiry (MM/YY)", rule: brokenExpiry });
  return completeCard({ ...card, ...expiryOf(expiry) });
}
