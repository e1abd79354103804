import type { OptionSpec, OptionValues } from "../cli/command.ts";
import { externalRef, label, runName, wholeNumber } from "../cli/values.ts";
import { isCreditCard, kinds, type Kind } from "../protocol/endpoints.ts";

type Flags = Readonly<Record<string, OptionSpec>>;

const group = "Many vaults:";

/** Flags of every command that takes many vaults. */
export const manyFlags = {
  from: {
    flag: "--from <file>",
    group,
    help: "read the vaults from FILE, names on lines or JSON (- is standard input)",
    conflicts: ["vaults", "all"],
  },
  all: {
    flag: "--all",
    group,
    help: "every vault that the state knows at this service",
    conflicts: ["vaults"],
  },
  concurrency: {
    flag: "--concurrency <n>",
    group,
    help: "at most N at once (default: as many as the rate limit allows)",
    parse: wholeNumber,
  },
  maxFailures: {
    flag: "--max-failures <n>",
    group,
    help: "stop starting vaults after N failures",
    parse: wholeNumber,
  },
} as const satisfies Flags;

export const runFlag = {
  run: {
    flag: "--run <name>",
    group,
    help: "name of a run of many vaults; the same command line continues it",
    parse: runName,
  },
} as const satisfies Flags;

/** Where the contents of many vaults go, in place of stdout. */
export const deliveryFlags = {
  outDir: {
    flag: "--out-dir <directory>",
    group,
    help: "write each vault's contents to UUID.json there (0600)",
  },
  exec: {
    flag: "--exec <command>",
    group,
    help: "pass each vault's document to a shell command; acknowledge if it exits with 0",
  },
} as const satisfies Flags;

export type ManyOptions = OptionValues<typeof manyFlags & typeof runFlag & typeof deliveryFlags> & {
  vaults: readonly string[];
};

/** Whether a command line is about many vaults: what is done with one alone has its own output. */
export const isMany = (options: Partial<ManyOptions>): boolean =>
  (options.vaults ?? []).length > 1 ||
  Object.keys({ ...manyFlags, ...runFlag, ...deliveryFlags }).some(
    (name) => options[name as keyof ManyOptions] !== undefined,
  );

export const exchangeFlags = {
  kind: {
    flag: "--kind <kind>",
    help: "required the first time, then remembered; generic/online is extended",
    choices: kinds,
  },
  credentials: {
    flag: "--credentials <secret>",
    help: "credentials as JSON, or a recovery document: @FILE, -, env:NAME",
    conflicts: ["encryptedData", "payload", "generation"],
  },
  encryptedData: {
    flag: "--encrypted-data <secret>",
    help: "first part of the credentials, with --payload: @FILE, -, env:NAME",
    conflicts: ["generation"],
    requires: ["payload"],
  },
  payload: {
    flag: "--payload <secret>",
    help: "second part, with --encrypted-data: @FILE, -, env:NAME",
    conflicts: ["generation"],
    requires: ["encryptedData"],
  },
  hashedPin: {
    flag: "--hashed-pin <secret>",
    help: "hashed PIN of an online vault: @FILE, -, env:NAME",
  },
  externalRef: {
    flag: "--external-ref <text>",
    help: "your reference in the service's audit log, 1 to 64 characters",
    parse: externalRef,
  },
  ack: { flag: "--no-ack", help: "hold the exchange after delivery; vault ack finishes it" },
  discardPending: {
    flag: "--discard-pending",
    help: "drop a held or unacknowledged exchange and start again with the old credentials (a held update: only with --force)",
  },
  credentialsOut: {
    flag: "--credentials-out <file>",
    help: "write a recovery document to FILE before acknowledging, then replace it with the new credentials",
  },
  saveCmd: {
    flag: "--save-cmd <command>",
    help: "pass the recovery document to a shell command before acknowledging",
  },
  dryRun: {
    flag: "--dry-run",
    help: "show what would be sent and how it would count toward lockout; send nothing",
  },
  generation: {
    flag: "--generation <n>",
    help: "start with these stored credentials; with --force, even superseded or refused ones",
    parse: wholeNumber,
  },
  force: { flag: "--force", help: "send a request that the guard would refuse" },
} as const satisfies Flags;

/** Of what receives a read in place of stdout. */
export const passedFlag = {
  withCredentials: {
    flag: "--with-credentials",
    help: "pass the new credentials, too, to the file or program that receives the contents",
  },
} as const satisfies Flags;

/** Of a read. */
export const outFlag = {
  ...passedFlag,
  out: {
    flag: "--out <file>",
    help: "write the contents to FILE (0600) instead of printing them",
  },
} as const satisfies Flags;

export type ExchangeOptions = OptionValues<typeof exchangeFlags> &
  Partial<OptionValues<typeof outFlag>> & { yes?: boolean | undefined };

/** Of a vault that becomes known here: `create` and `import` share them. */
export const newVaultFlags = {
  kind: {
    flag: "--kind <kind>",
    help: "kind of the vault; generic/online is extended",
    choices: kinds,
  },
  label: {
    flag: "--label <text>",
    help: "a label, kept in the state and never sent to the service",
    parse: label,
  },
} as const satisfies Flags;

/** The contents of a vault: `update` and `create` share them. */
export const contentsFlags = {
  card: {
    flag: "--card <value>",
    help: 'card as JSON {"number","name","expiryMonth","expiryYear"}: @FILE, -, env:NAME',
    conflicts: ["cardNumber", "cardName", "expiry"],
  },
  cardNumber: {
    flag: "--card-number <value>",
    help: "card number, 8 to 19 digits: @FILE, -, env:NAME",
  },
  cardName: {
    flag: "--card-name <text>",
    help: "name on the card, at most 30 characters",
  },
  expiry: { flag: "--expiry <MM/YY>", help: "expiry of the card, such as 04/29" },
  content: {
    flag: "--content <value>",
    help: "contents of a generic vault (extended), byte for byte: @FILE, -, env:NAME",
    conflicts: ["card", "cardNumber", "cardName", "expiry"],
  },
} as const satisfies Flags;

export type ContentsOptions = OptionValues<typeof contentsFlags>;

/** Whether a vault of this kind can hold what is given of its contents. */
export const mayHold = (
  kind: Kind,
  { card, cardNumber, cardName, expiry, content }: ContentsOptions,
): boolean =>
  isCreditCard(kind)
    ? content === undefined
    : (card ?? cardNumber ?? cardName ?? expiry) === undefined;

/** What a command line says of an exchange, with one vault or with many. */
export type VaultsOptions = ManyOptions & ExchangeOptions & ContentsOptions;

/** Stands in the description of each operation that is not documented (docs/interface.md, Extended operations). */
export const extended =
  "Extended: not part of the documented interface; your service may not support it.";
