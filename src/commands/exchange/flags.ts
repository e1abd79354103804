import type { OptionSpec, OptionValues } from "../../cli/command.ts";
import { kindList } from "../../protocol/endpoints.ts";

type Flags = Readonly<Record<string, OptionSpec>>;

/** Flags of every exchange. */
export const exchangeFlags = {
  kind: { flag: "--kind <kind>", help: `${kindList}: needed the first time, then remembered`, is: "kind" },
  credentials: { flag: "--credentials <secret>", help: "the pair as JSON, or a recovery document: @FILE, -, env:NAME" },
  encryptedData: { flag: "--encrypted-data <secret>", help: "the pair in two parts: @FILE, -, env:NAME" },
  payload: { flag: "--payload <secret>", help: "its other part: @FILE, -, env:NAME" },
  hashedPin: { flag: "--hashed-pin <secret>", help: "of an online vault: @FILE, -, env:NAME" },
  externalRef: {
    flag: "--external-ref <text>",
    help: "your own reference in the service's audit log, 1 to 64 characters",
    is: "externalRef",
  },
  ack: { flag: "--no-ack", help: "hold the exchange after the delivery; vault ack finishes it" },
  discardPending: { flag: "--discard-pending", help: "drop a held or unacknowledged exchange and start anew with the old pair" },
  credentialsOut: {
    flag: "--credentials-out <file>",
    help: "write the recovery document there before, the new pair after the acknowledgement",
  },
  saveCmd: { flag: "--save-cmd <command>", help: "give the recovery document to a shell command before the acknowledgement" },
  dryRun: { flag: "--dry-run", help: "show what would be sent and what it would count, and send nothing" },
  generation: {
    flag: "--generation <n>",
    help: "start with these stored credentials; with --force also superseded or refused ones",
    is: "wholeNumber",
  },
  force: { flag: "--force", help: "send what the guard would refuse" },
} as const satisfies Flags;

export type ExchangeOptions = OptionValues<typeof exchangeFlags> & { yes?: boolean | undefined };

/** The contents of a vault: `update` and `create` share them. */
export const contentsFlags = {
  card: { flag: "--card <value>", help: 'a card as JSON {"number","name","expiryMonth","expiryYear"}: @FILE, -, env:NAME' },
  cardNumber: { flag: "--card-number <value>", help: "or its parts: 8 to 19 digits: @FILE, -, env:NAME" },
  cardName: { flag: "--card-name <text>", help: "the name on it, at most 30 characters" },
  expiry: { flag: "--expiry <MM/YYYY>", help: "its expiry: 04/2029" },
  content: { flag: "--content <value>", help: "of a generic vault (extended), as it is to the last byte: @FILE, -, env:NAME" },
} as const satisfies Flags;

export type ContentsOptions = OptionValues<typeof contentsFlags>;

/** What `--field` may begin with: of the document, or of the one that --dry-run prints. */
export const exchangeFields = ({ dryRun }: Readonly<Record<string, unknown>>): readonly string[] =>
  dryRun === true
    ? ["dryRun", "uuid", "kind", "operation", "settlesFirst", "request", "counts", "guard"]
    : ["vault", "kind", "exchange", "settled"];

/** Stands in the description of each operation of which the specification shows no shape. */
export const extended = "Extended operation, which the interface document names without showing its shape.";
