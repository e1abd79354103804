import { card } from "../support/lab.ts";
import type { BadInput } from "./bad-inputs.ts";
import { uuid } from "./bad-inputs.ts";

const create = (kind: string, ...more: string[]): string[] => ["create", "--kind", kind, ...more];
const note = create("generic/offline", "--content", "env:PAIR");
const parts = ["--card-number", "env:CARD", "--card-name", "Ada Lovelace", "--expiry", "04/2029"];
/** None that a message shows as an example: all begin like this. */
export const secretNumber = "5105105105105100";
const cardOf = (change: object) => JSON.stringify({ ...card, number: secretNumber, ...change });
const rightCard = /"number":"4111111111111111"/;

/** Of the contents of a vault, and of the extended operations. */
export const extendedInputs: readonly BadInput[] = [
  {
    what: "create without kind",
    args: ["create", "--content", "env:PAIR"],
    exit: 2,
    says: /--kind is missing/,
    example: /generic\/offline/,
  },
  {
    what: "create without contents",
    args: create("generic/offline"),
    exit: 2,
    says: /--content is missing/,
    example: /@FILE/,
  },
  {
    what: "create without a card",
    args: create("credit-card/offline"),
    exit: 2,
    says: /the card is missing/,
    example: /--card @FILE/,
  },
  {
    what: "half a card",
    args: create("credit-card/offline", "--card-number", "env:CARD"),
    exit: 2,
    says: /--card-name and --expiry are missing/,
    example: /--expiry 04\/2029/,
    env: { CARD: secretNumber },
  },
  {
    what: "a card in two forms",
    args: create("credit-card/offline", "--card", "env:CARD", "--expiry", "04/2029"),
    exit: 2,
    says: /--card and --expiry exclude/,
    example: /one form/,
  },
  {
    what: "a card for a generic vault",
    args: create("generic/offline", ...parts),
    exit: 2,
    says: /holds no card/,
    example: /--content @FILE/,
  },
  {
    what: "a text for a card vault",
    args: create("credit-card/offline", "--content", "x"),
    exit: 2,
    says: /holds a card/,
    example: /--card @FILE/,
  },
  {
    what: "both",
    args: create("generic/offline", "--content", "x", "--card", "y"),
    exit: 2,
    says: /exclude each other/,
    example: /one of them/,
  },
  ...(
    [
      [
        "a card number that fails the Luhn check",
        { number: "5105105105105101" },
        /--card\.number.*Luhn/,
      ],
      ["a card number of 7 digits", { number: "5105105" }, /--card\.number.*8 to 19/],
      ["a card number with a letter", { number: "510510510510510x" }, /--card\.number/],
      ["a name of 31 characters", { name: "x".repeat(31) }, /--card\.name.*at most 30/],
      ["a month 13", { expiryMonth: 13 }, /--card\.expiryMonth.*1 to 12/],
      ["a year of two digits", { expiryYear: 29 }, /--card\.expiryYear.*4 digits/],
      ["no year", { expiryYear: undefined }, /--card\.expiryYear.*is missing/],
    ] as const
  ).map(([what, change, says]): BadInput => ({
    what: `--card: ${what}`,
    args: create("credit-card/offline", "--card", "env:CARD"),
    env: { CARD: cardOf(change) },
    exit: 3,
    says,
    example: rightCard,
  })),
  {
    what: "a card that is not JSON",
    args: create("credit-card/offline", "--card", "@not.json"),
    exit: 3,
    says: /--card: not valid JSON/,
    example: rightCard,
  },
  {
    what: "--card-number that fails the Luhn check",
    args: create("credit-card/offline", ...parts),
    env: { CARD: "5105 1051 0510 5101" },
    exit: 3,
    says: /--card-number.*Luhn/,
    example: rightCard,
  },
  {
    what: "--expiry without a century",
    args: create("credit-card/offline", "--expiry", "04/29"),
    exit: 3,
    says: /--expiry.*such as 04\/2029/,
    example: rightCard,
  },
  {
    what: "--expiry in month 13",
    args: create("credit-card/offline", "--expiry", "13/2029"),
    exit: 3,
    says: /--expiry.*1 to 12/,
    example: rightCard,
  },
  {
    what: "content that is not there",
    args: create("generic/offline", "--content", "@gone"),
    exit: 3,
    says: /--content.*ENOENT/,
    example: /@FILE/,
  },
  {
    what: "metadata without a value",
    args: [...note, "--metadata", "team"],
    exit: 3,
    says: /--metadata.*KEY=VALUE/,
    example: /cost-center=/,
  },
  {
    what: "metadata with an umlaut",
    args: [...note, "--metadata", "team=ü"],
    exit: 3,
    says: /--metadata: "team" must have values/,
    example: /EU-West/,
  },
  {
    what: "metadata with a dot",
    args: [...note, "--metadata", "a.b=c"],
    exit: 3,
    says: /--metadata: "a\.b" must have keys/,
    example: /EU-West/,
  },
  {
    what: "metadata twice",
    args: [...note, "--metadata", "a=b", "a=c"],
    exit: 3,
    says: /--metadata: a is given twice/,
    example: /cost-center=/,
  },
  {
    what: "51 pairs of metadata",
    args: [...note, "--metadata", ...Array.from({ length: 51 }, (_, n) => `k${n}=v`)],
    exit: 3,
    says: /--metadata.*at most 50 entries/,
    example: /cost-center=/,
  },
  {
    what: "a hashedPin offline",
    args: [...note, "--hashed-pin", "env:PAIR"],
    exit: 2,
    says: /--hashed-pin is for online vaults only/,
    example: /--kind/,
  },
  {
    what: "an online vault with --max-usage",
    args: create("generic/online", "--content", "x", "--max-usage", "3"),
    exit: 2,
    says: /--max-usage is for offline vaults only/,
    example: /--kind/,
  },
  {
    what: "an online vault without a device",
    args: create("generic/online", "--content", "env:PAIR"),
    exit: 2,
    says: /device/,
    example: /--device @FILE/,
  },
  {
    what: "a hashedPin that is not base64 at creation",
    args: create("generic/online", "--content", "env:PAIR", "--hashed-pin", "env:BAD_PIN"),
    exit: 3,
    says: /--hashed-pin.*base64/,
    example: /c2Vj/,
  },
  {
    what: "an expiry date that has passed",
    args: [...note, "--expiry-date", "2020-01-01T00:00:00Z"],
    exit: 3,
    says: /--expiry-date.*has passed/,
    example: /2029-04-30T/,
  },
  {
    what: "no usage at all",
    args: [...note, "--max-usage", "0"],
    exit: 3,
    says: /--max-usage.*at least 1/,
    example: /such as 3/,
  },
  {
    what: "--credentials-out in a folder that is not there at creation",
    args: [...note, "--credentials-out", "no/where.json"],
    exit: 3,
    says: /--credentials-out.*does not exist/,
    example: /pair\.json/,
  },
  {
    what: "info without kind",
    args: ["info", uuid],
    exit: 2,
    says: /--kind is needed/,
    example: /generic\/offline/,
  },
  {
    what: "info without uuid",
    args: ["info"],
    exit: 2,
    says: /a vault is missing/,
    example: /vault info --help/,
  },
  {
    what: "delete without uuid",
    args: ["delete", "--yes"],
    exit: 2,
    says: /a vault is missing/,
    example: /vault delete --help/,
  },
];
